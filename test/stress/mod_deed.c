/* SPDX-License-Identifier: MIT */
/* Which deed is next in a round of the modules: by a client, or by what must not wait. */
#include "mod.h"

#include <errno.h>
#include <unistd.h>

#include "actor.h"
#include "deed.h"
#include "random.h"
#include "report.h"

/* So many tasks may wait in a ground before the clients look on for a while. */
#define BACKLOG_MAX 3000

enum mod_deed {
	/* By anybody. */
	MOD_POST,
	MOD_POST_LABELLED,
	MOD_WINDOW,
	MOD_WINDOW_CHANGE,
	MOD_ALARM,
	MOD_ALARM_ONCE,
	MOD_FIRE,
	MOD_TAG_CANCEL,
	MOD_CANCEL_PENDING,
	MOD_ANSWER,
	MOD_FIND,
	MOD_READ,
	MOD_ADMISSION,
	MOD_SOURCE,
	MOD_WATCH,
	MOD_CALM_COUNT,
	/* By a client, outside of tasks. */
	MOD_OPEN = MOD_CALM_COUNT,
	MOD_OPEN_CANCEL,
	MOD_OPEN_FINISH,
	MOD_BATCH,
	MOD_HOLD_TAG,
	MOD_CALL,
	MOD_AWAIT,
	MOD_ALARM_PRIVATE,
	MOD_WHEEL,
	MOD_FIRE_PRIVATE,
	MOD_FAN_OUT,
	MOD_GROUP,
	MOD_LOOP,
	MOD_SUSPEND,
	MOD_QUIESCE,
	MOD_HOLD,
	MOD_HOLD_MANY,
	MOD_ACQUIRE,
	MOD_SOURCE_PRIVATE,
	MOD_WATCH_PRIVATE,
	MOD_WALK,
	MOD_COUNT,
};

static uint32_t weights[MOD_COUNT];

void mod_deeds_weigh(uint64_t *random)
{
	static const uint32_t factors[] = {0, 1, 4, 16};

	for (int i = 0; i < MOD_COUNT; i++)
		weights[i] = factors[random_below(random, 4)];
	/* These undo what others do, or cost much. */
	weights[MOD_CANCEL_PENDING] &= 1;
	weights[MOD_WHEEL] &= 1;
	weights[MOD_QUIESCE] &= 5;
	weights[MOD_SUSPEND] &= 5;
	weights[MOD_POST] += 8;
	weights[MOD_ANSWER] += 2;
	weights[MOD_OPEN_FINISH] += 2;
}

static enum mod_deed draw(uint64_t *random, int count)
{
	uint32_t sum = 0;
	uint32_t left;

	for (int i = 0; i < count; i++)
		sum += weights[i];
	left = random_below(random, sum);
	for (int i = 0; i < count; i++) {
		if (left < weights[i])
			return (enum mod_deed)i;
		left -= weights[i];
	}
	return MOD_POST;
}

static void cancel_pending(struct ground *ground)
{
	int error;

	atomic_fetch_add_explicit(&ground->cancel_begun, 1, memory_order_relaxed);
	error = baton_resource_cancel_pending(&ground->resource);
	atomic_fetch_add_explicit(&ground->cancel_done, 1, memory_order_relaxed);
	if (error)
		report(NULL, NULL, "ground %u: cancel_pending: %d", ground->number, error);
}

static void look(struct ground *ground)
{
	struct baton_bound_stats counts;
	struct baton_resource_stats stats;

	baton_resource_stats_read(&ground->stats, &stats);
	if (ground->bounded)
		baton_bound_stats_read(&ground->bound, &counts);
	if (ground->lane_count)
		(void)baton_lanes_waiting(&ground->lanes, 0);
	(void)baton_trigger_is_pending(&ground->firings[0].trigger);
	(void)baton_timer_state(&ground->alarms[0].timer);
}

static void calm(enum mod_deed deed, struct ground *ground, const struct alarm *within, bool inside)
{
	switch (deed) {
	case MOD_POST_LABELLED:
		item_post_stamped(ground);
		break;
	case MOD_WINDOW:
		window_post(ground);
		break;
	case MOD_WINDOW_CHANGE:
		window_change(ground, inside);
		break;
	case MOD_ALARM:
		alarm_shared(ground, within, inside);
		break;
	case MOD_ALARM_ONCE:
		alarm_once(ground);
		break;
	case MOD_FIRE:
		firing_fire(ground);
		break;
	case MOD_TAG_CANCEL:
		item_tag_cancel(&actor_self()->random);
		break;
	case MOD_CANCEL_PENDING:
		cancel_pending(ground);
		break;
	case MOD_ANSWER:
		(void)stash_complete(ground, false);
		break;
	case MOD_FIND:
		names_use(false);
		break;
	case MOD_READ:
		look(ground);
		break;
	case MOD_ADMISSION:
		admission_guest();
		break;
	case MOD_SOURCE:
		source_shared();
		break;
	case MOD_WATCH:
		watch_shared();
		break;
	default:
		item_post(ground);
		break;
	}
}

void mod_nested(struct ground *ground, const struct alarm *within)
{
	uint64_t *random = &actor_self()->random;
	bool inside = ground && random_one_in(random, 2);

	if ((ground && !random_one_in(random, 3)) || !mod_deed_begin())
		return;
	calm(draw(random, MOD_CALM_COUNT), inside ? ground : ground_pick(random), within, inside);
	mod_deed_end();
}

static void *called(void *arg)
{
	struct ground *ground = arg;

	ground_enter(ground);
	mod_nested(ground, NULL);
	ground_leave(ground);
	return ground;
}

static void call(struct ground *ground)
{
	uint64_t *random = &actor_self()->random;
	void *value = NULL;
	int error;

	actor_busy("a call", ground->number);
	error = random_one_in(random, 2)
	                ? baton_call(&ground->resource, called, ground, &value)
	                : baton_try_call(&ground->resource, called, ground, &value);
	actor_idle();
	if (error == 0 ? value != ground : value != NULL)
		report(NULL, NULL, "ground %u: a call's value, after %d", ground->number, error);
	/* What the others cancel, or the hooks say; and a try_call finds it busy. */
	if (error != -ECANCELED && error != -EAGAIN && !(error > 0 && ground->hooks_fail))
		mod_expect(ground, error, "call");
}

static void await(struct ground *ground)
{
	uint64_t deadline = deed_deadline();
	bool for_ever = random_one_in(&actor_self()->random, 4);
	int error;

	if (!ground_pin(ground))
		return;
	actor_busy("await", ground->number);
	error = baton_resource_await_until(&ground->resource, for_ever ? BATON_FOREVER : deadline);
	actor_idle();
	if (error && (for_ever || error != -ETIMEDOUT))
		report(NULL, NULL, "ground %u: await: %d", ground->number, error);
	ground_unpin(ground);
}

static void restless(enum mod_deed deed, struct ground *ground, uint64_t *random)
{
	switch (deed) {
	case MOD_OPEN:
		open_submit(ground);
		break;
	case MOD_OPEN_CANCEL:
		open_cancel();
		break;
	case MOD_OPEN_FINISH:
		open_finish(false);
		break;
	case MOD_BATCH:
		item_batch(ground);
		break;
	case MOD_HOLD_TAG:
		item_hold_tag(ground);
		break;
	case MOD_CALL:
		call(ground);
		break;
	case MOD_AWAIT:
		await(ground);
		break;
	case MOD_ALARM_PRIVATE:
		alarm_private(ground);
		break;
	case MOD_WHEEL:
		alarm_wheel();
		break;
	case MOD_FIRE_PRIVATE:
		firing_private(ground);
		break;
	case MOD_FAN_OUT:
		many_fan_out(random);
		break;
	case MOD_GROUP:
		many_group(random);
		break;
	case MOD_LOOP:
		loop_run(random);
		break;
	case MOD_SUSPEND:
		suspend_one(ground);
		break;
	case MOD_QUIESCE:
		suspend_many(random);
		break;
	case MOD_HOLD:
		hold_one(ground);
		break;
	case MOD_HOLD_MANY:
		hold_many(random);
		break;
	case MOD_ACQUIRE:
		names_use(true);
		break;
	case MOD_SOURCE_PRIVATE:
		source_private();
		break;
	case MOD_WATCH_PRIVATE:
		watch_private();
		break;
	default:
		names_walk();
		break;
	}
}

void mod_deed(void)
{
	struct actor *self = actor_self();
	struct ground *ground = ground_pick(&self->random);
	enum mod_deed deed = draw(&self->random, MOD_COUNT);

	if (atomic_load(&ground->accepted) > atomic_load(&ground->over) + BACKLOG_MAX)
		usleep(200);
	else if (deed < MOD_CALM_COUNT)
		calm(deed, ground, NULL, false);
	else
		restless(deed, ground, &self->random);
	atomic_fetch_add_explicit(&self->deeds, 1, memory_order_relaxed);
}
