/* SPDX-License-Identifier: MIT */
/* The same arrivals, ends and withdrawals start the same tasks through Redis as through the rules
 * alone, in the same order; and the estimates that are told are the same. Seeded: SEED=n. */
#include "server.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EVENTS 120
#define BACKENDS 4
#define LINES 1024
#define WAITS 8

static const struct baton_rules_config config = {
	.class_count = 3,
	.duration_ns = {1000 * BATON_SECOND, 2000 * BATON_SECOND, 3000 * BATON_SECOND},
	.limit = {BACKENDS, 3, 1},
	.policy = BATON_RULES_OLDEST,
};

/* What was decided: lines such as "start 7". */
struct log {
	char lines[LINES][32];
	size_t count;
};

static void note_line(struct log *log, const char *what, int id)
{
	cr_assert(log->count < LINES);
	snprintf(log->lines[log->count++], sizeof(log->lines[0]), "%s %d", what, id);
}

/* ---- The rules alone ---- */

static struct baton_rules rules;
static struct baton_rules_entry entries[EVENTS];
static bool alive[EVENTS];
static bool runs[EVENTS];
static bool stopped[EVENTS]; /* told to stop */
static struct log expected;

static int id_of(const struct baton_rules_entry *entry)
{
	return (int)(entry - entries);
}

static void on_start(struct baton_rules *r, struct baton_rules_entry *entry, uint64_t may_run)
{
	(void)r, (void)may_run;
	runs[id_of(entry)] = true;
	note_line(&expected, "start", id_of(entry));
}

static void on_shorten(struct baton_rules *r, struct baton_rules_entry *entry, uint64_t may_run)
{
	(void)r, (void)may_run;
	note_line(&expected, "shorten", id_of(entry));
}

static void on_halt(struct baton_rules *r, struct baton_rules_entry *entry)
{
	stopped[id_of(entry)] = true;
	note_line(&expected, "halt", id_of(entry));
}

static const struct baton_rules_events events = {
	.start = on_start, .shorten = on_shorten, .halt = on_halt};

/* ---- Through Redis ---- */

static struct server server;
static struct log seen;
static char ids[EVENTS][8];
static struct baton_redis *client;
static struct baton_redis_scheduler *scheduler;
static struct baton_redis_backend *backends[BACKENDS];
static int running_on[BACKENDS]; /* which task; -1: none */

static void decided(void *arg, const struct baton_redis_decision *decision)
{
	if (strcmp(decision->what, "start") == 0 || strcmp(decision->what, "shorten") == 0 ||
	    strcmp(decision->what, "halt") == 0)
		note_line(&seen, decision->what, atoi(decision->id));
	if (strcmp(decision->what, "deny") == 0)
		note_line(&seen, "deny", atoi(decision->id));
}

static void start_all(struct baton_redis *connections[BACKENDS + 2])
{
	struct baton_redis_scheduler_options options = {.rules = config, .decided = decided};

	server_start(&server, NULL);
	for (int i = 0; i < BACKENDS + 2; i++)
		connections[i] = server_connect(&server);
	client = connections[BACKENDS];
	cr_assert_eq(baton_redis_scheduler_create(connections[BACKENDS + 1], &options, &scheduler),
	             0);
	for (int i = 0; i < BACKENDS; i++) {
		char name[8];

		snprintf(name, sizeof(name), "b%d", i);
		backends[i] = backend_on(connections[i], name);
		running_on[i] = -1;
	}
}

/* Backends take what is theirs, until `wanted` tasks run on them. */
static void take_all(int wanted)
{
	int taken = 0;

	for (int round = 0; round < 5000 && taken < wanted; round++) {
		taken = 0;
		for (int i = 0; i < BACKENDS; i++) {
			struct baton_redis_order order;

			cr_assert_eq(baton_redis_backend_next(backends[i], &order), 0);
			if (order.what == BATON_REDIS_RUN)
				running_on[i] = atoi(order.id);
			taken += running_on[i] >= 0;
		}
	}
	cr_assert_eq(taken, wanted);
}

static int backend_of(int id)
{
	for (int i = 0; i < BACKENDS; i++)
		if (running_on[i] == id)
			return i;
	cr_assert_fail("task %d runs on no backend", id);
	return -1;
}

/* ---- The same events for both ---- */

static uint64_t now;

static void arrive(int id, uint32_t kind)
{
	struct baton_redis_task task;

	snprintf(ids[id], sizeof(ids[0]), "%d", id);
	task = task_named(ids[id], kind);
	baton_rules_entry_init(&entries[id], kind);
	alive[id] = baton_rules_arrive(&rules, &entries[id], now) == 0;
	if (!alive[id]) {
		/* The rules decide, then say so. */
		note_line(&expected, "deny", id);
	}
	cr_assert_eq(baton_redis_submit(client, &task), 0);
	settle(scheduler);
}

static void finish(int id)
{
	int on = backend_of(id);

	cr_assert_eq(baton_rules_finish(&rules, &entries[id], now), 0);
	alive[id] = runs[id] = false;
	cr_assert_eq(baton_redis_backend_finish(backends[on], 0, ""), 0);
	running_on[on] = -1;
	settle(scheduler);
}

static void withdraw(int id)
{
	struct baton_redis_task task = task_named(ids[id], 0);

	cr_assert_eq(baton_rules_withdraw(&rules, &entries[id], now), 0);
	alive[id] = false;
	cr_assert_eq(baton_redis_withdraw(client, &task), 0);
	settle(scheduler);
}

static int count_running(void)
{
	int count = 0;

	for (int i = 0; i < EVENTS; i++)
		count += runs[i] && !stopped[i];
	return count;
}

/* Halted tasks finish at once, which frees the backends that the started ones wait for. */
static void finish_halted(void)
{
	for (int i = 0; i < EVENTS; i++)
		if (alive[i] && stopped[i] && runs[i])
			finish(i);
}

static int random_task(bool running)
{
	int found = -1;
	int count = 0;

	for (int i = 0; i < EVENTS; i++)
		if (alive[i] && runs[i] == running && rand() % ++count == 0)
			found = i;
	return found;
}

static void compare(int event, unsigned seed)
{
	for (size_t i = 0; i < expected.count && i < seen.count; i++)
		cr_assert_str_eq(seen.lines[i], expected.lines[i], "event %d, seed %u: %s, not %s",
		                 event, seed, seen.lines[i], expected.lines[i]);
	cr_assert_eq(seen.count, expected.count,
	             "event %d, seed %u: %zu decisions, not %zu; the first more: %s", event, seed,
	             seen.count, expected.count,
	             seen.count > expected.count ? seen.lines[expected.count]
	                                         : expected.lines[seen.count]);
}

Test(same, arrivals_through_redis_start_as_through_the_rules_alone, .timeout = 30)
{
	static const uint32_t kinds[] = {0,
	                                 0,
	                                 1,
	                                 1,
	                                 2,
	                                 2,
	                                 BATON_RULES_DEFAULT,
	                                 BATON_RULES_DEFAULT,
	                                 BATON_RULES_INTERACTIVE};
	struct baton_redis *connections[BACKENDS + 2];
	unsigned seed = getenv("SEED") ? (unsigned)atoi(getenv("SEED")) : 1;

	srand(seed);
	start_all(connections);
	cr_assert_eq(baton_rules_init(&rules, &config, &events), 0);
	settle(scheduler);
	for (int event = 0; event < EVENTS; event++) {
		int which = rand() % 10;
		int running = random_task(true);
		int waiting = random_task(false);

		now += BATON_SECOND;
		if (which < 4 && running >= 0)
			finish(running);
		else if (which < 5 && waiting >= 0)
			withdraw(waiting);
		else
			arrive(event, kinds[(size_t)rand() % (sizeof(kinds) / sizeof(kinds[0]))]);
		finish_halted();
		compare(event, seed);
		take_all(count_running());
	}
	cr_assert(expected.count > EVENTS / 3);
	for (int i = 0; i < BACKENDS; i++)
		baton_redis_backend_destroy(backends[i]);
	baton_redis_scheduler_destroy(scheduler);
	for (int i = 0; i < BACKENDS + 2; i++)
		baton_redis_destroy(connections[i]);
	server_stop(&server);
}

/* A task that waits behind one that runs is told at most how long: what is left of that one's time,
 * and the second that it takes to stop. */
Test(same, the_estimate_that_is_told_is_the_rules_estimate, .timeout = 15)
{
	struct baton_redis *connections[BACKENDS + 2];
	struct baton_redis_task first = task_named("first", 2);
	struct baton_redis_task next = task_named("next", 2);
	struct baton_redis_note note = {0};

	start_all(connections);
	cr_assert_eq(baton_redis_submit(client, &first), 0);
	settle(scheduler);
	cr_assert_eq(baton_redis_submit(client, &next), 0);
	settle(scheduler);
	do
		await_note(client, &next, &note, BATON_REDIS_WAITING);
	while (note.ns == BATON_NEVER);
	cr_assert(note.ns <= 3001 * BATON_SECOND && note.ns > 2990 * BATON_SECOND);
	for (int i = 0; i < BACKENDS; i++)
		baton_redis_backend_destroy(backends[i]);
	baton_redis_scheduler_destroy(scheduler);
	for (int i = 0; i < BACKENDS + 2; i++)
		baton_redis_destroy(connections[i]);
	server_stop(&server);
}
