/* SPDX-License-Identifier: MIT */
/* Fan-outs and groups: a client's, over several grounds. */
#include "mod.h"

#include <errno.h>
#include <string.h>

#include "actor.h"
#include "cell.h"
#include "deed.h"
#include "random.h"
#include "report.h"

#define ITEMS_MAX 12

struct many {
	_Atomic uint32_t ran; /* bit n: item n has */
	_Atomic uint32_t failed;
	bool may_fail;
};

static int item(struct baton_resource *resource, void *arg, size_t index)
{
	struct ground *ground = ground_of(resource);
	struct many *many = arg;
	int status = 0;

	ground_enter(ground);
	if (atomic_fetch_or_explicit(&many->ran, 1U << index, memory_order_relaxed) >> index & 1)
		report(NULL, NULL, "L3: a fan-out's item %zu runs twice", index);
	if (many->may_fail && random_one_in(&actor_self()->random, 8)) {
		status = MOD_TASK_FAILS;
		atomic_fetch_add_explicit(&many->failed, 1, memory_order_relaxed);
	}
	ground_leave(ground);
	return status;
}

static void check(struct baton_fan_out *fan_out, struct many *many, size_t count)
{
	struct baton_fan_out_stats counts;
	uint32_t ran = (uint32_t)__builtin_popcount(atomic_load(&many->ran));
	uint32_t failed = atomic_load(&many->failed);
	size_t refused = 0;

	baton_fan_out_stats_read(fan_out, &counts);
	for (size_t i = 0; i < count; i++) {
		int status = baton_fan_out_item_status(fan_out, i);
		bool it_ran = atomic_load(&many->ran) >> i & 1;

		refused += !it_ran && status != -ECANCELED;
		/* Where it has not run -EAGAIN is what a bound says. */
		if (it_ran ? status == -ECANCELED || status == -EAGAIN || status == -EPIPE
		           : status == 0)
			report(NULL, NULL, "a fan-out's item %zu: %s, but its status is %d", i,
			       it_ran ? "ran" : "has not run", status);
	}
	if (counts.left || counts.count != count || counts.failed < failed ||
	    ran + refused + counts.cancelled != count)
		report(NULL, NULL,
		       "L3: of a fan-out's %zu items %u ran (%u failed), %zu were refused, %zu "
		       "cancelled; it says %zu failed, %zu left",
		       count, ran, failed, refused, counts.cancelled, counts.failed, counts.left);
}

void many_fan_out(uint64_t *random)
{
	struct baton_resource *resources[ITEMS_MAX];
	struct many *many = cell_take();
	struct baton_fan_out_options options = {
		.fn = item, .arg = many, .flags = random_below(random, 4)};
	uint64_t deadline = deed_deadline();
	size_t count = random_below(random, ITEMS_MAX + 1);
	struct baton_fan_out *fan_out;
	int error;

	memset(many, 0, sizeof(*many));
	many->may_fail = random_one_in(random, 2);
	for (size_t i = 0; i < count; i++)
		resources[i] = &ground_pick(random)->resource;
	MUST(baton_fan_out_submit(resources, count, &options, &fan_out) == 0);
	if (random_one_in(random, 4))
		(void)baton_fan_out_cancel(fan_out);
	actor_busy("a fan-out's wait", 0);
	error = baton_fan_out_wait_until(fan_out,
	                                 random_one_in(random, 2) ? deadline : BATON_FOREVER);
	if (error == -ETIMEDOUT)
		error = baton_fan_out_wait(fan_out);
	actor_idle();
	if (error || !baton_future_is_complete(baton_fan_out_future(fan_out)))
		report(NULL, NULL, "fan_out_wait: %d", error);
	check(fan_out, many, count);
	cell_give(many);
	baton_fan_out_unref(fan_out);
}

struct told {
	struct baton_plain_job job;
	struct baton_future future;
};

static void tell(struct baton_plain_job *job)
{
	struct told *told = baton_container_of(job, struct told, job);

	MUST(baton_future_complete(&told->future, 0, NULL) == 0);
}

/* Each item leaves the group when it runs, is cancelled or refused. */
void many_group(uint64_t *random)
{
	struct baton_group *group = cell_take();
	struct baton_continuation continuation;
	struct baton_continuation fires;
	struct told told = {BATON_PLAIN_JOB_INIT(tell, tell), BATON_PROMISE_INIT};
	bool notify = random_one_in(random, 2);
	struct baton_pool *pool;

	MUST(baton_pool_default(&pool) == 0);
	baton_group_init(group);
	baton_group_enter(group);
	for (uint32_t left = random_below(random, ITEMS_MAX); left > 0; left--) {
		baton_group_enter(group);
		item_post_for(ground_pick(random), group);
	}
	/* Several fire in the order of their registration: this one's memory lasts long enough. */
	if (notify && random_one_in(random, 2))
		firing_notify(ground_pick(random), group, &fires);
	if (notify) {
		baton_continuation_job(&continuation, baton_pool_executor(pool), &told.job.job);
		baton_group_then(group, &continuation);
	}
	baton_group_leave_with(group, MOD_TASK_FAILS);
	actor_busy("a group's wait", 0);
	if (notify)
		MUST(baton_future_wait(&told.future) == 0);
	else
		MUST(baton_group_wait(group) == 0);
	actor_idle();
	if (baton_group_status(group) != MOD_TASK_FAILS)
		report(NULL, NULL, "a group has forgotten a status");
	cell_give(group);
}
