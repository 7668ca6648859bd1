/* SPDX-License-Identifier: MIT */
/*
 * What a header limits, at the limit and one beyond. test/limits.txt says which test has which
 * limit; many are in the test of their own module.
 */
#include "child.h"
#include "fixture.h"

#include <baton/board.h>
#include <baton/call.h>
#include <baton/fan_out.h>
#include <baton/group.h>
#include <baton/label.h>
#include <baton/lane.h>

#include "inspect/board.h"

#include <signal.h>
#include <sys/wait.h>

struct limited {
	const char *name;
	uint64_t most;
	int at; /* what the attempt with `most` returns */
	int beyond;
	int (*attempt)(uint64_t count);
	bool aborts; /* the attempt beyond is an assertion; a child process makes it */
};

#define LIMIT(limit, ...)                                                                          \
	{                                                                                          \
		.name = #limit, .most = (limit), __VA_ARGS__                                       \
	}

static bool dies(const struct limited *limited)
{
	int status;
	pid_t child = fork();

	MUST(child >= 0);
	if (child == 0) {
		MUST(dup2(open("/dev/null", O_WRONLY), STDERR_FILENO) >= 0);
		signal(SIGABRT, SIG_DFL); /* a sanitizer's, or the test's */
		child_begins();
		(void)limited->attempt(limited->most + 1);
		_exit(0);
	}
	MUST(waitpid(child, &status, 0) == child);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void *nothing(void *arg)
{
	return arg;
}

static int wait_any(uint64_t count)
{
	static struct baton_future promises[BATON_WAIT_ANY_MAX + 1];
	struct baton_future *futures[BATON_WAIT_ANY_MAX + 1];
	size_t index = SIZE_MAX;
	int status;

	for (size_t i = 0; i < count; i++) {
		baton_promise_init(&promises[i]);
		futures[i] = &promises[i];
	}
	MUST(baton_future_complete(&promises[count - 1], 0, NULL) == 0);
	status = baton_future_wait_any(futures, count, &index);
	return !status && index != count - 1 ? -EDOM : status;
}

static int call_in_lane(uint64_t lane)
{
	const struct baton_label label = {.lane = (uint8_t)lane};
	const struct baton_call_options options = {.fn = nothing, .label = &label};

	return baton_call_with(&fix.resource, &options, NULL);
}

static int post_in_lane(uint64_t lane)
{
	const struct baton_label label = {.lane = (uint8_t)lane};
	const struct baton_call_options options = {.fn = nothing, .label = &label};

	return baton_post_with(&fix.resource, &options);
}

static int async_in_lane(uint64_t lane)
{
	const struct baton_label label = {.lane = (uint8_t)lane};
	const struct baton_call_options options = {.fn = nothing, .label = &label};
	struct baton_future *future;
	int error = baton_async_with(&fix.resource, &options, &future);

	if (!error)
		baton_future_unref(future);
	return error;
}

static int item_runs(struct baton_resource *resource, void *arg, size_t index)
{
	return 0;
}

static int fan_out_in_lane(uint64_t lane)
{
	const struct baton_label label = {.lane = (uint8_t)lane};
	const struct baton_fan_out_options options = {.fn = item_runs, .label = &label};
	struct baton_resource *resources[] = {&fix.resource};

	return baton_fan_out_submit(resources, 1, &options, NULL);
}

static int stamp_lane(uint64_t lane)
{
	struct baton_stamp stamp = {0};

	baton_stamp_set_lane(&stamp, (uint8_t)lane);
	return 0;
}

static int lanes(uint64_t count)
{
	static struct baton_lane array[BATON_LANES_MAX + 1];
	struct baton_lanes all;

	baton_lanes_init(&all, array, (uint32_t)count, NULL);
	return (int)baton_lanes_waiting(&all, (unsigned)count - 1);
}

static int group_at_once(uint64_t count)
{
	struct baton_group group = BATON_GROUP_INIT;

	baton_group_enter_many(&group, (uint32_t)count);
	return 0;
}

static int group_one_more(uint64_t count)
{
	struct baton_group group = BATON_GROUP_INIT;

	baton_group_enter_many(&group, (uint32_t)count - 1);
	baton_group_enter(&group);
	return 0;
}

/* How much of a name is shown. */
static int board_name(uint64_t length)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
	char name[BATON_BOARD_NAME_MAX + 2];
	struct baton_board *board;
	int shown;

	memset(name, 'n', length);
	name[length] = '\0';
	MUST(baton_board_create(NULL, &board) == 0);
	MUST(baton_board_join(board, &resource, name, NULL) == 0);
	shown = (int)strlen(board->file->line[0].name);
	resource_end(&resource);
	baton_board_leave(board, &resource);
	baton_board_destroy(board);
	return shown;
}

struct nest {
	struct baton_task task;
	struct baton_resource resource;
	struct nest *inner; /* NULL: none */
	bool ran;
};

static int nest_run(struct baton_task *task)
{
	struct nest *nest = baton_container_of(task, struct nest, task);

	nest->ran = true;
	if (nest->inner)
		MUST(baton_submit(&nest->inner->resource, &nest->inner->task) == 0);
	return nest->inner ? nest->inner->ran : 0;
}

/* Does the innermost of so many tasks, each of which submits the next, run within the others? */
static int nested(uint64_t count)
{
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct nest nests[BATON_NESTING_MAX + 1];
	struct baton_future outer = BATON_FUTURE_INIT;
	struct baton_manual *manual;
	int within;

	MUST(baton_manual_create(&manual) == 0);
	config.executor = baton_manual_executor(manual);
	for (size_t i = 0; i < count; i++) {
		nests[i] = (struct nest){.inner = i + 1 < count ? &nests[i + 1] : NULL};
		baton_task_init(&nests[i].task, nest_run, i ? NULL : &outer);
		baton_resource_init(&nests[i].resource, &config);
	}
	MUST(baton_submit(&nests[0].resource, &nests[0].task) == 0);
	within = nests[count - 1].ran;
	(void)baton_manual_run(manual, 0);
	MUST(nests[count - 1].ran);
	for (size_t i = 0; i < count; i++)
		resource_end(&nests[i].resource);
	baton_manual_destroy(manual);
	return within;
}

Test(limits, each_is_taken_at_its_value_and_refused_beyond, .timeout = 20)
{
	static const struct limited rows[] = {
		LIMIT(BATON_WAIT_ANY_MAX, .attempt = wait_any, .beyond = -EINVAL),
		LIMIT(BATON_LANES_MAX - 1, .attempt = call_in_lane, .beyond = -EINVAL),
		LIMIT(BATON_LANES_MAX - 1, .attempt = post_in_lane, .beyond = -EINVAL),
		LIMIT(BATON_LANES_MAX - 1, .attempt = async_in_lane, .beyond = -EINVAL),
		LIMIT(BATON_LANES_MAX - 1, .attempt = fan_out_in_lane, .beyond = -EINVAL),
		LIMIT(BATON_LANES_MAX - 1, .attempt = stamp_lane, .aborts = true),
		LIMIT(BATON_LANES_MAX, .attempt = lanes, .aborts = true),
		LIMIT(BATON_GROUP_MAX, .attempt = group_at_once, .aborts = true),
		LIMIT(BATON_GROUP_MAX, .attempt = group_one_more, .aborts = true),
		LIMIT(BATON_BOARD_NAME_MAX, .attempt = board_name, .at = BATON_BOARD_NAME_MAX,
	              .beyond = BATON_BOARD_NAME_MAX),
		LIMIT(BATON_NESTING_MAX, .attempt = nested, .at = 1, .beyond = 0),
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct limited *row = &rows[i];

		cr_expect_eq(row->attempt(row->most), row->at, "row %zu: at %s", i, row->name);
		if (row->aborts)
			cr_expect(dies(row), "row %zu: beyond %s", i, row->name);
		else
			cr_expect_eq(row->attempt(row->most + 1), row->beyond, "row %zu: beyond %s",
			             i, row->name);
	}
	fixture_end();
}
