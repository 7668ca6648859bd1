/* SPDX-License-Identifier: MIT */
/*
 * Calls to which a header promises -EINVAL. They are no misuses: the checked library returns the
 * error, too, and has the call and the text of baton_refused() in its list.
 */
#include "misuses.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

/* The ordinary library has no such function. */
extern size_t baton_checked_refusals(int fd) __attribute__((weak));

static size_t calls;
static char list[65536];

/* Is the call in the list, as the last call that returned -EINVAL? */
static bool is_listed(const char *function)
{
	const char *text = strstr(baton_refused(), ": ");
	char start[80];
	char *line;
	FILE *file = tmpfile();
	size_t length;

	if (!file || !baton_checked_refusals || !text)
		return false;
	(void)baton_checked_refusals(fileno(file));
	rewind(file);
	length = fread(list, 1, sizeof(list) - 1, file);
	list[length] = '\0';
	(void)fclose(file);
	(void)snprintf(start, sizeof(start), "refused: %s: ", function);
	for (line = strtok(list, "\n"); line; line = strtok(NULL, "\n"))
		if (strncmp(line, start, strlen(start)) == 0 && strstr(line, text))
			return true;
	return false;
}

static void refused(const char *function, int64_t answer)
{
	calls++;
	if (answer == -EINVAL && is_listed(function))
		return;
	(void)dprintf(STDERR_FILENO, "%s: answer %d, or not in the list\n", function, (int)answer);
	_exit(1);
}

#define REFUSED(function, ...) refused(#function, (function)(__VA_ARGS__))

static int timer_nothing(struct baton_timer *timer)
{
	(void)timer;
	return 0;
}

static int trigger_nothing(struct baton_trigger *trigger, uint64_t fires)
{
	(void)trigger;
	(void)fires;
	return 0;
}

static int io_nothing(struct baton_io *io)
{
	(void)io;
	return 0;
}

static int fan_out_nothing(struct baton_resource *resource, void *arg, size_t index)
{
	(void)resource;
	(void)arg;
	(void)index;
	return 0;
}

static struct baton_detached token = BATON_DETACHED_INIT;

static int detaches(struct baton_task *task)
{
	struct baton_deadline deadline = BATON_DEADLINE_INIT(NULL);

	(void)task;
	REFUSED(baton_detach, &token, ~0U);
	REFUSED(baton_detach_within, &token, ~0U, 1, &deadline);
	return 0;
}

/* A future that is not fresh: it has served a task before. */
static void of_tasks(void)
{
	struct baton_future future = BATON_FUTURE_INIT;
	struct baton_task task = BATON_TASK_INIT(detaches, &future);
	struct baton_task *const batch[] = {&task};
	struct baton_future fresh = BATON_FUTURE_INIT;
	struct baton_task unsubmitted = BATON_TASK_INIT(nothing, &fresh);

	if ((baton_submit)(&topic, &task))
		abort();
	REFUSED(baton_submit, &topic, &task);
	REFUSED(baton_submit_later, &topic, &task);
	REFUSED(baton_try_submit_later, &topic, &task);
	REFUSED(baton_submit_batch, &topic, batch, 1);
	REFUSED(baton_future_complete, &future, 0, NULL);
	REFUSED(baton_future_cancel, &fresh);
	REFUSED(baton_future_wait_any_until, (struct baton_future *const[]){&future}, 0, 0, NULL);
	REFUSED(baton_window_cancel_task, &unsubmitted);
	REFUSED(baton_detached_complete, &token, 0, NULL);
}

static void of_calls(void)
{
	static const struct baton_label nowhere = {.lane = BATON_LANES_MAX};
	static const struct baton_call_options no_fn = {.fn = NULL};
	static const struct baton_call_options no_lane = {.fn = call_nothing, .label = &nowhere};
	static const struct baton_fan_out_options fan_no_fn = {.fn = NULL};
	static const struct baton_fan_out_options fan_flags = {fan_out_nothing, .flags = ~0U};
	struct baton_resource *const resources[] = {&topic};
	struct baton_future *future;

	REFUSED(baton_call_with, &topic, &no_fn, NULL);
	REFUSED(baton_call_with, &topic, &no_lane, NULL);
	REFUSED(baton_post_with, &topic, &no_fn);
	REFUSED(baton_async_with, &topic, &no_fn, &future);
	REFUSED(baton_fan_out_submit, resources, 1, &fan_no_fn, NULL);
	REFUSED(baton_fan_out_submit, resources, 1, &fan_flags, NULL);
}

static void of_what_lacks_a_part(void)
{
	struct baton_timer no_fn = BATON_TIMER_INIT(NULL, &topic, NULL);
	struct baton_timer no_resource = BATON_TIMER_INIT(NULL, NULL, timer_nothing);
	struct baton_timer timer = BATON_TIMER_INIT(NULL, &topic, timer_nothing);
	struct baton_trigger trigger_no_fn = BATON_TRIGGER_INIT(&topic, NULL);
	struct baton_trigger trigger_no_resource = BATON_TRIGGER_INIT(NULL, trigger_nothing);
	struct baton_io io_no_fn = BATON_IO_INIT(&topic, NULL);
	struct baton_io io = BATON_IO_INIT(&topic, io_nothing);
	struct baton_suspension suspension = BATON_SUSPENSION_INIT;

	REFUSED(baton_timer_arm_after, &no_fn, 1);
	REFUSED(baton_timer_arm_after, &no_resource, 1);
	REFUSED(baton_timer_arm_at, &no_fn, 1);
	REFUSED(baton_timer_arm_again_after, &no_resource, 1);
	REFUSED(baton_timer_arm_every, &timer, 0, 0, BATON_TIMER_SKIP);
	REFUSED(baton_trigger_fire, &trigger_no_fn);
	REFUSED(baton_trigger_fire, &trigger_no_resource);
	REFUSED(baton_io_start, &io_no_fn, 0, BATON_IO_READ);
	REFUSED(baton_io_start, &io, 0, 0);
	REFUSED(baton_suspension_wait_until, &suspension, 0);
	REFUSED(baton_resource_resume, &suspension);
	REFUSED(baton_resource_resume_later, &suspension);
}

static void of_what_is_created(void)
{
	static const struct baton_timers_options source = {.source = (enum baton_timers_source)9};
	static const struct baton_timers_options polled = {.source = BATON_TIMERS_POLL};
	static const struct baton_pool_options workers = {.workers = UINT32_MAX};
	static const struct baton_pool_options two = {.workers = 2};
	static const struct baton_board_options lines = {.resources = UINT32_MAX};
	static const struct baton_watchdog_options no_board = {.board = NULL};
	static const struct baton_registry_options no_size = {.object_size = 0};
	struct baton_pool_stats stats;
	struct baton_timers *timers;
	struct baton_pool *pool;
	struct baton_board *board;
	struct baton_watchdog *watchdog;
	struct baton_registry *registry;

	REFUSED(baton_timers_create, &source, &timers);
	REFUSED(baton_pool_create, &workers, &pool);
	REFUSED(baton_board_create, &lines, &board);
	REFUSED(baton_watchdog_create, &no_board, &watchdog);
	REFUSED(baton_registry_create, &no_size, &registry);
	if (baton_timers_create(&polled, &timers) || baton_pool_create(&two, &pool))
		abort();
	REFUSED(baton_timers_close, timers, (enum baton_timers_pending)9);
	REFUSED(baton_timers_advance_to, timers, 1);
	REFUSED(baton_pool_await_until, pool, 0);
	REFUSED(baton_pool_worker_stats_read, pool, 2, &stats);
	BATON_IGNORE(baton_pool_destroy(pool));
	BATON_IGNORE(baton_timers_destroy(timers));
}

static int not_valid(struct baton_resource *resource)
{
	(void)resource;
	return -EINVAL;
}

/* -EINVAL of the program's own has a text of its own: not that of an earlier call. */
static void of_a_hook(void)
{
	static const struct baton_resource_config hooked = {.batch_begin = not_valid};
	static const struct baton_call_options options = {.fn = call_nothing};
	struct baton_resource resource;

	baton_resource_init(&resource, &hooked);
	REFUSED(baton_call_with, &resource, &options, NULL);
	if (!strstr(baton_refused(), "hook"))
		abort();
	REFUSED(baton_call, &resource, call_nothing, NULL, NULL);
	REFUSED(baton_try_call, &resource, call_nothing, NULL, NULL);
	if (baton_resource_close(&resource) || baton_resource_await(&resource))
		abort();
	baton_resource_deinit(&resource);
}

void refused_as_promised(void)
{
	of_tasks();
	of_calls();
	of_what_lacks_a_part();
	of_what_is_created();
	of_a_hook();
	(void)dprintf(STDERR_FILENO, "%zu calls refused\n", calls);
	_exit(0);
}
