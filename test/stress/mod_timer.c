/* SPDX-License-Identifier: MIT */
/*
 * Timers of three sorts: a ground's, which everybody arms and stops; such as run once and free
 * themselves, whose run must not be lost; and such as a client ends, to free them at once.
 */
#include "mod.h"

#include <errno.h>
#include <string.h>

#include "actor.h"
#include "cell.h"
#include "deed.h"
#include "random.h"
#include "report.h"
#include "sabotage.h"

#define ALARM_MAGIC 0xa1a53a1aU
#define MANY 12

enum alarm_kind { ALARM_SHARED, ALARM_ONCE, ALARM_PRIVATE };

/* The default one, one with a thread, one that is polled; this many. */
#define WHEELS 3
static struct baton_timers *wheels[WHEELS];

static void over(struct alarm *alarm)
{
	struct ground *ground = alarm->ground;

	alarm->magic = 0;
	cell_give(alarm);
	if (!sabotage_now(BREAK_MOD_STUCK))
		atomic_fetch_sub(&ground->alarms_out, 1);
}

static uint64_t delay(uint64_t *random)
{
	static const uint32_t most_us[] = {1, 100, 1000, 5000};

	return (uint64_t)random_below(random, most_us[random_below(random, 4)]) * 1000;
}

static int arm(struct alarm *alarm, bool may_repeat)
{
	uint64_t *random = &actor_self()->random;
	uint64_t after = delay(random);

	atomic_fetch_add_explicit(&alarm->arms, 1, memory_order_relaxed);
	if (may_repeat && random_one_in(random, 8)) {
		atomic_store_explicit(&alarm->repeats, true, memory_order_relaxed);
		if (random_one_in(random, 2))
			return baton_timer_arm_again_after(&alarm->timer, after + 50000);
		return baton_timer_arm_every(&alarm->timer, now_ns() + after, after + 50000,
		                             random_one_in(random, 2) ? BATON_TIMER_SKIP
		                                                      : BATON_TIMER_CATCH_UP);
	}
	if (random_one_in(random, 2))
		return baton_timer_arm_at(&alarm->timer, now_ns() + after);
	return baton_timer_arm_after(&alarm->timer, after);
}

static int alarm_run(struct baton_timer *timer)
{
	struct alarm *alarm = baton_container_of(timer, struct alarm, timer);
	struct ground *ground = alarm->ground;
	uint64_t runs;

	if (alarm->magic != ALARM_MAGIC)
		report(NULL, NULL, "a timer runs whose memory was given back");
	ground_enter(ground);
	runs = atomic_fetch_add_explicit(&alarm->runs, 1, memory_order_relaxed) + 1;
	if (!atomic_load_explicit(&alarm->repeats, memory_order_relaxed) &&
	    runs > atomic_load_explicit(&alarm->arms, memory_order_relaxed))
		report(NULL, NULL, "ground %u: a timer has run %llu times, more than armed",
		       ground->number, (unsigned long long)runs);
	if (alarm->kind == ALARM_ONCE) {
		uint64_t now = now_ns() - (sabotage_now(BREAK_MOD_TIMER) ? BATON_SECOND : 0);

		if (now < alarm->deadline_ns)
			report(NULL, NULL, "ground %u: a timer runs %llu ns early", ground->number,
			       (unsigned long long)(alarm->deadline_ns - now));
		over(alarm);
		mod_nested(ground, NULL);
		ground_leave(ground);
		return BATON_GONE;
	}
	/* Due again beside itself, while others fill the ground. */
	if (alarm->kind == ALARM_SHARED && random_one_in(&actor_self()->random, 8)) {
		uint64_t until = now_ns() + random_below(&actor_self()->random, 300000);

		(void)arm(alarm, true);
		while (now_ns() < until)
			;
	}
	/* Beside the stop that is to give back the memory: it is the last. */
	if (alarm->kind == ALARM_PRIVATE && random_one_in(&actor_self()->random, 2)) {
		int error = arm(alarm, false);

		if (error != -EBUSY)
			mod_expect(ground, error, "arm");
	}
	mod_nested(ground, alarm);
	ground_leave(ground);
	return 0;
}

static void dropped(struct baton_timer *timer, int error)
{
	struct alarm *alarm = baton_container_of(timer, struct alarm, timer);
	struct ground *ground = alarm->ground;

	if (error != -ESHUTDOWN && error != -ECANCELED && error != -EPIPE && error != -EAGAIN)
		report(NULL, NULL, "ground %u: a timer is dropped: %d", ground->number, error);
	if (error == -EPIPE || error == -EAGAIN)
		mod_expect(ground, error, "a timer's run");
	if (alarm->kind == ALARM_ONCE)
		over(alarm);
}

static const struct baton_timers_options thread_config = {
	.source = BATON_TIMERS_THREAD, .resolution_ns = 1 << 16, .dropped = dropped};
static const struct baton_timers_options poll_config = {
	.source = BATON_TIMERS_POLL, .resolution_ns = 1 << 14, .dropped = dropped};

void alarms_start(void)
{
	MUST(baton_timers_create(&thread_config, &wheels[1]) == 0);
	MUST(baton_timers_create(&poll_config, &wheels[2]) == 0);
}

void alarms_end(void)
{
	for (int i = 1; i < WHEELS; i++) {
		struct baton_timers_stats stats;

		baton_timers_stats_read(wheels[i], &stats);
		if (stats.pending > stats.armed)
			report(NULL, NULL, "a wheel's counters: %llu pending",
			       (unsigned long long)stats.pending);
		actor_busy("a wheel's end", 0);
		MUST(baton_timers_destroy(wheels[i]) == 0);
		actor_idle();
	}
}

void alarms_poll(void)
{
	if (baton_timers_next(wheels[2]) <= now_ns() || random_one_in(&actor_self()->random, 64)) {
		int64_t count = baton_timers_poll(wheels[2]);

		if (count < 0 && count != -EBUSY)
			report(NULL, NULL, "timers_poll: %lld", (long long)count);
	}
}

struct baton_timers *alarms_wheel(uint64_t *random)
{
	return wheels[random_below(random, WHEELS)];
}

static void make(struct alarm *alarm, struct ground *ground, enum alarm_kind kind, int wheel)
{
	memset(alarm, 0, sizeof(*alarm));
	alarm->magic = ALARM_MAGIC;
	alarm->ground = ground;
	alarm->kind = kind;
	baton_timer_init(&alarm->timer, wheels[wheel], &ground->resource, alarm_run);
	/* The default wheel has none. */
	if (!wheels[wheel])
		baton_timer_set_dropped(&alarm->timer, dropped);
}

void alarms_init(struct ground *ground)
{
	for (int i = 0; i < MOD_ALARMS; i++)
		make(&ground->alarms[i], ground, ALARM_SHARED, i % WHEELS);
}

void alarms_stop(struct ground *ground)
{
	for (int i = 0; i < MOD_ALARMS; i++) {
		struct alarm *alarm = &ground->alarms[i];

		MUST(baton_timer_stop_wait(&alarm->timer) == 0);
		if (baton_timer_state(&alarm->timer) > BATON_TIMER_DONE)
			report(NULL, NULL, "ground %u: a stopped timer is in state %d",
			       ground->number, baton_timer_state(&alarm->timer));
	}
}

void alarm_shared(struct ground *ground, const struct alarm *within, bool inside)
{
	uint64_t *random = &actor_self()->random;
	struct alarm *alarm = &ground->alarms[random_below(random, MOD_ALARMS)];
	enum baton_stop met;

	switch (random_below(random, 4)) {
	case 0:
		baton_timer_disarm(&alarm->timer);
		break;
	case 1:
		met = baton_timer_stop(&alarm->timer).met;
		/* Nothing of the resource runs beside its tasks; but what a bound drops. */
		if (inside && alarm != within && !ground->bounded && met == BATON_STOP_RUNNING)
			report(NULL, NULL, "ground %u: a timer runs beside a task", ground->number);
		break;
	default:
		mod_expect(ground, arm(alarm, true), "arm");
		break;
	}
}

static void begin_once(struct alarm *alarm)
{
	alarm->arms = 1;
	atomic_fetch_add(&alarm->ground->alarms_out, 1);
}

/* Checks the answer of the arm. After an arm that succeeded the alarm may be gone. */
static void armed_once(const struct ground *ground, struct alarm *alarm, int error)
{
	mod_expect(ground, error, "arm");
	if (error)
		over(alarm);
}

void alarm_once(struct ground *ground)
{
	uint64_t *random = &actor_self()->random;
	struct alarm *alarm = cell_take();
	uint64_t after = delay(random);

	make(alarm, ground, ALARM_ONCE, (int)random_below(random, WHEELS));
	alarm->deadline_ns = now_ns() + after;
	begin_once(alarm);
	armed_once(ground, alarm, baton_timer_arm_at(&alarm->timer, alarm->deadline_ns));
}

static void end_private(struct alarm *alarm, uint64_t *random)
{
	struct ground *ground = alarm->ground;
	enum baton_stop met;
	struct baton_future *gone;

	if (random_one_in(random, 3)) {
		MUST(baton_timer_stop_wait(&alarm->timer) == 0);
		return;
	}
	if (random_one_in(random, 2)) {
		met = baton_timer_stop(&alarm->timer).met;
		if (met >= BATON_STOP_QUEUED)
			MUST(baton_timer_stop_wait(&alarm->timer) == 0);
		return;
	}
	gone = cell_take();
	baton_promise_init(gone);
	met = baton_timer_stop_then(&alarm->timer, baton_stopped_complete, gone).met;
	if (met < BATON_STOP_QUEUED && !baton_future_is_complete(gone))
		report(NULL, NULL, "ground %u: stop_then: %d, but not at once", ground->number,
		       met);
	MUST(baton_future_wait(gone) == 0);
	cell_give(gone);
}

/* Mostly the stop is to meet the run. */
static void await_run(const struct alarm *alarm, uint64_t *random)
{
	uint64_t until = now_ns() + random_below(random, 2000000);

	while (atomic_load_explicit(&alarm->runs, memory_order_relaxed) == 0 && now_ns() < until)
		;
}

/* A client, outside of tasks. */
void alarm_private(struct ground *ground)
{
	uint64_t *random = &actor_self()->random;
	struct alarm *alarm = cell_take();

	make(alarm, ground, ALARM_PRIVATE, (int)random_below(random, WHEELS));
	for (uint32_t left = 1 + random_below(random, 4); left > 0; left--) {
		mod_expect(ground, arm(alarm, true), "arm");
		if (random_one_in(random, 4))
			baton_timer_disarm(&alarm->timer);
		if (random_one_in(random, 2))
			item_post(ground);
		if (random_one_in(random, 4))
			alarms_poll();
	}
	if (!random_one_in(random, 4))
		await_run(alarm, random);
	actor_busy("a timer's stop", ground->number);
	end_private(alarm, random);
	actor_idle();
	alarm->magic = 0;
	cell_give(alarm);
}

/* A wheel that comes and goes, with timers pending. */
void alarm_wheel(void)
{
	uint64_t *random = &actor_self()->random;
	struct baton_timers_options config = random_one_in(random, 4) ? thread_config : poll_config;
	struct baton_timers *wheel;

	config.submit = (enum baton_timers_submit)random_below(random, 3);
	if (random_one_in(random, 4))
		config.source = BATON_TIMERS_VIRTUAL;
	MUST(baton_timers_create(&config, &wheel) == 0);
	for (uint32_t left = random_below(random, MANY); left > 0; left--) {
		struct alarm *alarm = cell_take();
		struct ground *ground = ground_pick(random);

		make(alarm, ground, ALARM_ONCE, 0);
		baton_timer_init(&alarm->timer, wheel, &ground->resource, alarm_run);
		begin_once(alarm);
		armed_once(ground, alarm, baton_timer_arm_after(&alarm->timer, delay(random)));
		if (config.source == BATON_TIMERS_POLL && random_one_in(random, 3))
			MUST(baton_timers_poll(wheel) >= 0);
		if (config.source == BATON_TIMERS_VIRTUAL && random_one_in(random, 3))
			MUST(baton_timers_advance(wheel, delay(random)) >= 0);
	}
	actor_busy("a wheel's end", 0);
	if (random_one_in(random, 2))
		MUST(baton_timers_close(wheel,
		                        (enum baton_timers_pending)random_below(random, 2)) == 0);
	MUST(baton_timers_destroy(wheel) == 0);
	actor_idle();
}
