/* SPDX-License-Identifier: MIT */
/*
 * The scheduler leads: it campaigns for the lease, renews it, reads q:in and q:done, and sends what
 * the rules decide (redis_rules.c) to the server, in calls (admit) after each batch. Moves that the
 * server has refused are kept, and sent by the next call. A scheduler leads over one connection:
 * after another connect it begins anew.
 *
 * No call does much, since the server does one thing at a time. A new leader first reads what runs,
 * then what waits, in pages, in the order of arrival. It decides after each page: the first task
 * that may start is then the same as if all were known. So it leaves q:in unread until all pages
 * are read: a later arrival must not pass a task that waits on a page to come. It reads q:done all
 * the time. Estimates go after all other moves, EACH_NS apart at least.
 *
 * The clock is the queue's, which the server keeps and the leader's sweeps let pass: the server's
 * own may jump. So a candidate judges another's lease by its own clock, too.
 */
#include "companion/redis/redis_scheduler.h"

#include "base/platform.h"
#include "base/refused.h"

#include <baton/timer.h>

#include <hiredis/hiredis.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LEASE_NS (3 * BATON_SECOND)
#define BATCH 256
/* For each estimate the next ones are sent so much later: 10,000 a second. The server takes 13 us
 * for one. */
#define EACH_NS (100 * BATON__REDIS_US)
/* A busy server gets fewer: the pause is so many times as long as the call with estimates took. */
#define PAUSE_FACTOR 20
/* How long a backend takes to hear that it must stop a task, and to stop it. */
#define GRACE_NS BATON_SECOND

/* ---- Leading ---- */

static void step_down(struct baton_redis_scheduler *scheduler)
{
	baton__scheduler_drop_all(scheduler);
	baton__scheduler_drop_moves(scheduler);
	scheduler->tell_at = 0;
	scheduler->epoch[0] = '\0';
}

/* The rules' limits with so many backends. */
static struct baton_rules_config config_for(const struct baton_redis_scheduler *scheduler)
{
	struct baton_rules_config config = scheduler->options.rules;

	for (uint32_t i = 0; scheduler->options.percent && i < config.class_count; i++) {
		config.limit[i] = (uint32_t)(scheduler->backends * config.limit[i] / 100);
		if (config.limit[i] == 0)
			config.limit[i] = 1;
	}
	if (config.reserve >= config.limit[0])
		config.reserve = config.limit[0] - 1;
	return config;
}

/* `now`: when the call was sent that has told the clock. */
static void set_clock(struct baton_redis_scheduler *scheduler, const redisReply *us, uint64_t now)
{
	scheduler->offset_ns = baton__redis_number(us) * BATON__REDIS_US - now;
	scheduler->swept_at = now;
	scheduler->renew_at = baton__redis_clock() + scheduler->options.lease_ns / 3;
}

static void begin_led_call(const struct baton_redis_scheduler *scheduler,
                           struct baton__redis_call *call, const char *function)
{
	baton__redis_call_init(call, function);
	call->connection = scheduler->connection;
	baton__redis_add_text(call, scheduler->epoch);
}

/* Reads all tasks that run: there are as many as backends, about. */
static int read_runs(struct baton_redis_scheduler *scheduler)
{
	char cursor[24] = "0";
	int error;

	/* Ends: the scan comes to its end. */
	do {
		struct baton__redis_call call;
		const redisReply *runs;
		redisReply *reply = NULL;

		begin_led_call(scheduler, &call, "runs");
		baton__redis_add_text(&call, cursor);
		error = baton__redis_do(scheduler->redis, &call, &reply);
		snprintf(cursor, sizeof(cursor), "%s",
		         baton__redis_text(baton__redis_at(reply, 0)));
		runs = baton__redis_at(reply, 1);
		for (size_t i = 0; runs && i + 4 < runs->elements; i += 5)
			baton__scheduler_restore(scheduler, runs, i);
		freeReplyObject(reply);
	} while (!error && strcmp(cursor, "0") != 0);
	return error;
}

/* Reads the next tasks that wait. */
static int read_page(struct baton_redis_scheduler *scheduler)
{
	struct baton__redis_call call;
	const redisReply *page;
	redisReply *reply = NULL;
	int error;

	begin_led_call(scheduler, &call, "waiting");
	baton__redis_add_number(&call, scheduler->page_end);
	error = baton__redis_do(scheduler->redis, &call, &reply);
	page = baton__redis_at(reply, 1);
	for (size_t i = 0; page && i + 3 < page->elements; i += 4) {
		baton__scheduler_waits(scheduler, page, i);
		scheduler->page_end = baton__redis_number(page->element[i + 1]);
	}
	if (!error && baton__redis_number(baton__redis_at(reply, 2)) == 1) {
		scheduler->paging = false;
		snprintf(scheduler->read_in, sizeof(scheduler->read_in), "%s",
		         baton__redis_text(baton__redis_at(reply, 0)));
	}
	freeReplyObject(reply);
	return error;
}

/* The reply of lead: epoch, clock, ends of q:in and q:done, backends. */
static int rebuild(struct baton_redis_scheduler *scheduler, const redisReply *reply)
{
	struct baton_rules_config config;
	int error;

	snprintf(scheduler->epoch, sizeof(scheduler->epoch), "%s",
	         baton__redis_text(baton__redis_at(reply, 0)));
	scheduler->connection = scheduler->redis->connects;
	scheduler->broken = false;
	set_clock(scheduler, baton__redis_at(reply, 1), baton__redis_clock());
	snprintf(scheduler->read_in, sizeof(scheduler->read_in), "%s",
	         baton__redis_text(baton__redis_at(reply, 2)));
	snprintf(scheduler->read_done, sizeof(scheduler->read_done), "%s",
	         baton__redis_text(baton__redis_at(reply, 3)));
	scheduler->backends = baton__redis_number(baton__redis_at(reply, 4));
	scheduler->paging = true;
	scheduler->page_end = 0;
	config = config_for(scheduler);
	error = baton_rules_init(&scheduler->rules, &config, &baton__scheduler_events);
	return error ? error : read_runs(scheduler);
}

/* The reply of lead to a scheduler that may not: 0, the other's lease, and how long it lasts. */
static void watch_lease(struct baton_redis_scheduler *scheduler, const redisReply *reply)
{
	const char *lease = baton__redis_text(baton__redis_at(reply, 1));
	uint64_t now = baton__redis_clock();

	if (strcmp(scheduler->seen, lease) != 0) {
		snprintf(scheduler->seen, sizeof(scheduler->seen), "%s", lease);
		scheduler->takes_at =
			now + baton__redis_number(baton__redis_at(reply, 2)) * BATON__REDIS_MS;
	}
	scheduler->candidate_at = now + scheduler->options.lease_ns / 3;
	if (scheduler->takes_at < scheduler->candidate_at)
		scheduler->candidate_at = scheduler->takes_at;
}

/* Leads if the lease is free. Otherwise waits for it, at most `timeout_ns`. */
static int campaign(struct baton_redis_scheduler *scheduler, uint64_t timeout_ns)
{
	struct baton__redis_call call;
	redisReply *reply = NULL;
	uint64_t now = baton__redis_clock();
	struct timespec wait;
	int error;

	if (now < scheduler->candidate_at) {
		if (timeout_ns > scheduler->candidate_at - now)
			timeout_ns = scheduler->candidate_at - now;
		wait.tv_sec = (time_t)(timeout_ns / BATON_SECOND);
		wait.tv_nsec = (long)(timeout_ns % BATON_SECOND);
		if (nanosleep(&wait, NULL) || baton__redis_clock() < scheduler->candidate_at)
			return 0;
	}
	now = baton__redis_clock();
	baton__redis_call_init(&call, "lead");
	baton__redis_add_text(&call, scheduler->token);
	baton__redis_add_number(&call, scheduler->options.lease_ns / BATON__REDIS_MS);
	baton__redis_add_number(&call, scheduler->options.rules.class_count);
	baton__redis_add_number(&call, scheduler->options.effects_max);
	baton__redis_add_number(&call, scheduler->options.queue_max);
	baton__redis_add_number(&call, scheduler->options.queue_bytes_max);
	baton__redis_add_text(&call, now >= scheduler->takes_at ? scheduler->seen : "");
	error = baton__redis_do(scheduler->redis, &call, &reply);
	if (!error && reply->elements > 3) {
		error = rebuild(scheduler, reply);
		if (error)
			step_down(scheduler);
	} else if (!error) {
		watch_lease(scheduler, reply);
	}
	freeReplyObject(reply);
	return error;
}

/* Renews the lease; tasks of lost backends wait again, as q:done will tell. */
static int sweep(struct baton_redis_scheduler *scheduler)
{
	struct baton__redis_call call;
	struct baton_rules_config config;
	uint64_t backends = scheduler->backends;
	uint64_t now = baton__redis_clock();
	redisReply *reply = NULL;
	int error;

	begin_led_call(scheduler, &call, "sweep");
	baton__redis_add_text(&call, scheduler->read_in);
	baton__redis_add_text(&call, scheduler->read_done);
	baton__redis_add_text(&call, scheduler->token);
	baton__redis_add_number(&call, scheduler->options.lease_ns / BATON__REDIS_MS);
	baton__redis_add_number(&call, (now - scheduler->swept_at) / BATON__REDIS_US);
	error = baton__redis_do(scheduler->redis, &call, &reply);
	if (!error) {
		set_clock(scheduler, baton__redis_at(reply, 0), now);
		scheduler->backends = baton__redis_number(baton__redis_at(reply, 1));
		/* One call looks after some of the lost backends. */
		if (baton__redis_number(baton__redis_at(reply, 2)) > 0)
			scheduler->renew_at = baton__redis_clock();
		config = config_for(scheduler);
		if (scheduler->options.percent && scheduler->backends != backends)
			error = baton_rules_set_limits(&scheduler->rules, config.limit,
			                               config.reserve,
			                               baton__scheduler_now(scheduler));
	}
	freeReplyObject(reply);
	return error;
}

/* Sends `moves`. Tasks that should have started, and are gone, end here: others may start. */
static int send_admit(struct baton_redis_scheduler *scheduler,
                      const struct baton__redis_call *moves)
{
	struct baton__redis_call call;
	redisReply *reply = NULL;
	int error;

	begin_led_call(scheduler, &call, "admit");
	baton__redis_add_text(&call, scheduler->read_in);
	baton__redis_add_text(&call, scheduler->read_done);
	baton__redis_add_all(&call, moves);
	error = baton__redis_do(scheduler->redis, &call, &reply);
	for (size_t i = 0; !error && i < reply->elements; i++) {
		struct baton__redis_item *gone =
			baton__scheduler_find(scheduler, baton__redis_text(reply->element[i]));

		if (gone)
			baton__scheduler_end(scheduler, gone);
	}
	freeReplyObject(reply);
	return error;
}

static int send_moves(struct baton_redis_scheduler *scheduler)
{
	/* Ends: each round but the last ends tasks. */
	while (scheduler->moves) {
		struct baton__redis_moves *first = scheduler->moves;
		struct baton__redis_moves *next;
		int error;

		/* What the answer leads to is not for the call that was sent. */
		first->count = BATON__REDIS_MOVES_MAX;
		error = send_admit(scheduler, &first->call);
		if (error)
			return error;
		next = first->next;
		if (!next)
			scheduler->moves_end = &scheduler->moves;
		scheduler->moves = next;
		free(first->call.text);
		free(first);
	}
	return 0;
}

/* Sends some estimates, if it is time. A refusal loses them: the tasks know an earlier one. */
static int send_estimates(struct baton_redis_scheduler *scheduler)
{
	struct baton__redis_call estimates;
	uint64_t begin = baton__redis_clock();
	uint64_t pause;
	uint32_t count;
	int error = 0;

	if (!scheduler->tell || begin < scheduler->tell_at)
		return 0;
	baton__redis_call_init(&estimates, NULL);
	count = baton__scheduler_add_estimates(scheduler, &estimates);
	scheduler->broken |= estimates.error != 0;
	if (count > 0 && !scheduler->broken)
		error = send_admit(scheduler, &estimates);
	free(estimates.text);
	pause = (baton__redis_clock() - begin) * PAUSE_FACTOR;
	scheduler->tell_at = begin + (pause > count * EACH_NS ? pause : count * EACH_NS);
	return error;
}

/* Waits for arrivals and ends; while the waiting tasks are still to be read, for ends alone. */
static int read_streams(struct baton_redis_scheduler *scheduler, uint64_t timeout_ns)
{
	struct baton__redis_call call;
	const redisReply *entries;
	redisReply *reply = NULL;
	int error;

	baton__redis_call_init(&call, NULL);
	call.connection = scheduler->connection;
	baton__redis_add_text(&call, "XREAD");
	baton__redis_add_text(&call, "COUNT");
	baton__redis_add_number(&call, BATCH);
	if (timeout_ns >= BATON__REDIS_MS) {
		baton__redis_add_text(&call, "BLOCK");
		baton__redis_add_number(&call, timeout_ns / BATON__REDIS_MS);
		call.wait_ns = timeout_ns;
	}
	baton__redis_add_text(&call, "STREAMS");
	if (!scheduler->paging)
		baton__redis_add_key(&call, scheduler->redis, ":in", NULL);
	baton__redis_add_key(&call, scheduler->redis, ":done", NULL);
	if (!scheduler->paging)
		baton__redis_add_text(&call, scheduler->read_in);
	baton__redis_add_text(&call, scheduler->read_done);
	error = baton__redis_do(scheduler->redis, &call, &reply);
	if (error)
		return error;
	entries = baton__redis_stream(scheduler->redis, reply, ":in", NULL);
	for (size_t i = 0; entries && i < entries->elements; i++) {
		const redisReply *entry = entries->element[i];

		baton__scheduler_arrived(
			scheduler, baton__redis_field(entry, "id"),
			strtoull(baton__redis_field(entry, "number"), NULL, 10),
			(uint32_t)strtoul(baton__redis_field(entry, "kind"), NULL, 10));
		snprintf(scheduler->read_in, sizeof(scheduler->read_in), "%s",
		         baton__redis_text(baton__redis_at(entry, 0)));
	}
	entries = baton__redis_stream(scheduler->redis, reply, ":done", NULL);
	for (size_t i = 0; entries && i < entries->elements; i++) {
		baton__scheduler_ended(scheduler, entries->element[i]);
		snprintf(scheduler->read_done, sizeof(scheduler->read_done), "%s",
		         baton__redis_text(baton__redis_at(entries->element[i], 0)));
	}
	freeReplyObject(reply);
	return 0;
}

static uint64_t until(uint64_t at, uint64_t now)
{
	return at > now ? at - now : 0;
}

static int lead(struct baton_redis_scheduler *scheduler, uint64_t timeout_ns)
{
	uint64_t wait = until(scheduler->renew_at, baton__redis_clock());
	uint64_t tick = until(baton_rules_next(&scheduler->rules), baton__scheduler_now(scheduler));
	uint64_t half = scheduler->redis->options.timeout_ns / 2;
	int error = 0;

	/* A leader that was stopped for a lease begins anew: the queue's time has stood still. */
	if (baton__redis_clock() - scheduler->swept_at > scheduler->options.lease_ns)
		return -ESTALE;
	if (wait == 0)
		error = sweep(scheduler);
	/* A tick that is due within a millisecond is waited for: BLOCK knows no less. */
	if (tick > 0 && tick < BATON__REDIS_MS)
		tick = BATON__REDIS_MS;
	wait = timeout_ns < wait ? timeout_ns : wait;
	wait = tick < wait ? tick : wait;
	wait = half < wait ? half : wait;
	if (scheduler->tell) {
		uint64_t tell = until(scheduler->tell_at, baton__redis_clock());

		if (tell > 0 && tell < BATON__REDIS_MS)
			tell = BATON__REDIS_MS;
		wait = tell < wait ? tell : wait;
	}
	if (!error && scheduler->paging) {
		wait = 0;
		error = read_page(scheduler);
	}
	if (!error && !scheduler->moves)
		error = read_streams(scheduler, wait);
	if (!error && baton_rules_next(&scheduler->rules) <= baton__scheduler_now(scheduler))
		baton_rules_tick(&scheduler->rules, baton__scheduler_now(scheduler));
	if (!error && !scheduler->broken)
		error = send_moves(scheduler);
	if (!error && !scheduler->broken)
		error = send_estimates(scheduler);
	if (!error && scheduler->broken)
		error = baton__redis_fail(scheduler->redis, -ENOMEM, "no memory");
	return error;
}

BATON_EXPORT int baton_redis_scheduler_run(struct baton_redis_scheduler *scheduler,
                                           uint64_t timeout_ns)
{
	int error = 0;

	if (!scheduler->epoch[0]) {
		error = campaign(scheduler, timeout_ns);
		timeout_ns = 0;
	}
	if (!error && scheduler->epoch[0])
		error = lead(scheduler, timeout_ns);
	/* What the server knows after a lost connection is not what the rules know: a server that
	 * was killed may have lost its last second. */
	if (error == -ESTALE || error == -ECONNRESET || scheduler->broken) {
		step_down(scheduler);
		error = scheduler->broken ? error : 0;
	}
	return error;
}

BATON_EXPORT uint64_t baton_redis_scheduler_epoch(const struct baton_redis_scheduler *scheduler)
{
	return strtoull(scheduler->epoch, NULL, 10);
}

/* ---- Create, destroy ---- */

BATON_EXPORT int baton_redis_scheduler_create(struct baton_redis *redis,
                                              const struct baton_redis_scheduler_options *options,
                                              struct baton_redis_scheduler **scheduler)
{
	struct baton_redis_scheduler *new;
	struct baton_rules_config *config;
	int error;

	if (options->lease_ns && !baton__redis_is_lease(options->lease_ns))
		return baton__redis_fail(redis, -EINVAL, BATON__REDIS_NO_LEASE);
	if (BATON__UNKNOWN(options))
		return baton__redis_fail(redis, -EINVAL, BATON__REDIS_UNKNOWN);
	new = calloc(1, sizeof(*new));
	if (!new)
		return baton__redis_fail(redis, -ENOMEM, "no memory");
	new->redis = redis;
	new->options = *options;
	new->tell_end = &new->tell;
	config = &new->options.rules;
	if (config->class_count == 0)
		config->class_count = 3;
	if (config->grace_ns == 0)
		config->grace_ns = GRACE_NS;
	if (new->options.lease_ns == 0)
		new->options.lease_ns = LEASE_NS;
	if (config->limit[0] == 0) {
		new->options.percent = true;
		for (uint32_t i = 0; i < BATON_RULES_CLASSES_MAX; i++)
			config->limit[i] = 100;
	}
	error = baton_redis_token(new->token);
	if (!error)
		error = baton_rules_init(&new->rules, config, &baton__scheduler_events);
	if (!error && new->options.percent && config->limit[0] > 100)
		error = -EINVAL;
	if (error) {
		free(new);
		return baton__redis_fail(redis, error,
		                         "these classes, durations and limits are no rules: "
		                         "durations rise, limits nest, none is 0");
	}
	*scheduler = new;
	return 0;
}

BATON_EXPORT void baton_redis_scheduler_destroy(struct baton_redis_scheduler *scheduler)
{
	struct baton__redis_call call;

	if (scheduler->epoch[0]) {
		baton__redis_call_init(&call, "resign");
		baton__redis_add_text(&call, scheduler->epoch);
		baton__redis_add_text(&call, scheduler->token);
		baton__redis_do_once(scheduler->redis, &call, NULL);
	}
	step_down(scheduler);
	free(scheduler);
}
