/* SPDX-License-Identifier: MIT */
/*
 * A main loop, which a thread of its own hosts: the thread runs the loop only when poll() or the
 * loop's deadline says so, so that a lost wake stops everything. Sources of all kinds are started,
 * put off and stopped by every thread; others belong to one client, which waits for their run, or
 * ends them by a task of the loop's resource, and spoils their memory.
 *
 * Checked: no two sources run at once, nor on another thread than the host's; a source that is not
 * `again` runs at most once for each start, and, once the clients have left, has run for its last
 * start; a source that the owner has stopped is not entered.
 */
#include "mod.h"

#include <baton/mainloop.h>

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "actor.h"
#include "cell.h"
#include "random.h"
#include "report.h"
#include "sabotage.h"

#define SOURCE_MAGIC 0x50a2ceU
#define SHARED 12
#define POLL_MS 20
/* A run starts 0.25 sources and does 0.03 deeds on average: what sources ask for ends. */
#define STARTS_ONE_IN 4
#define DEEDS_ONE_IN 32

struct shared {
	struct baton_source_fd source;
	uint32_t magic;
	bool private;
	_Atomic uint64_t starts;
	_Atomic uint64_t runs;
	uint64_t answers; /* of a CUSTOM; the owner's */
};

static struct baton_mainloop loop;
static struct shared shared[SHARED];
static pthread_t host;
static atomic_bool host_leaves;
static atomic_bool hosted;
static atomic_int inside;
static bool ended; /* the owner has stopped all */
static int always_ready;
static int sometimes_ready;

static int run(struct baton_source *source);

static uint64_t ready(struct baton_source *source, uint64_t now)
{
	struct shared *self = baton_container_of(source, struct shared, source.source);

	/* Never "no": only another round would ask again. */
	return self->answers++ % 3 ? 0 : 20 * BATON_MICROSECOND;
}

/* By kind; those that are `again` follow those that are not. */
static const struct baton_source_config configs[] = {
	{.fn = run, .kind = BATON_SOURCE_IDLE, .level = 7},
	{.fn = run, .kind = BATON_SOURCE_TIMER, .level = 2, .period_ns = 50 * BATON_MICROSECOND},
	{.fn = run, .kind = BATON_SOURCE_CUSTOM, .level = 3, .ready = ready},
	{.fn = run, .kind = BATON_SOURCE_READABLE, .level = 2},
	{.fn = run, .kind = BATON_SOURCE_WRITABLE, .level = 4},
	{.fn = run, .kind = BATON_SOURCE_IDLE, .level = 7, .again = true},
	{.fn = run,
         .kind = BATON_SOURCE_TIMER,
         .level = 2,
         .period_ns = 50 * BATON_MICROSECOND,
         .again = true},
	{.fn = run, .kind = BATON_SOURCE_READABLE, .level = 2, .again = true},
};
#define KINDS 8
#define KINDS_ONCE 5

static void start(struct shared *one, uint64_t *random)
{
	int error;

	atomic_fetch_add(&one->starts, 1);
	if (random_one_in(random, 3))
		error = baton_source_start_after(&one->source.source,
		                                 random_below(random, 300) * BATON_MICROSECOND);
	else
		error = baton_source_start(&one->source.source);
	if (error)
		report(NULL, NULL, "a source's start: %d", error);
}

/* The owner's calls on two sources that may depend on each other. */
static void depend(uint64_t *random)
{
	struct baton_source *parent = &shared[random_below(random, SHARED)].source.source;
	struct baton_source *child = &shared[random_below(random, SHARED)].source.source;
	int error = random_one_in(random, 2) ? baton_source_depend(parent, child)
	                                     : baton_source_undepend(parent, child);

	if (error && error != -ELOOP && error != -EEXIST && error != -ENOENT)
		report(NULL, NULL, "a dependency of sources: %d", error);
}

static void look_at_run(struct shared *one)
{
	uint64_t runs = atomic_fetch_add(&one->runs, 1) + 1;

	if (one->magic != SOURCE_MAGIC)
		report(NULL, NULL, "a source runs whose memory was given back");
	if (ended)
		report(NULL, NULL, "a source runs that the owner has stopped");
	if (!pthread_equal(pthread_self(), host) && !atomic_load(&host_leaves))
		report(NULL, NULL, "a source runs on a thread that is not the owner");
	if (!one->source.source._config->again && runs > atomic_load(&one->starts))
		report(NULL, NULL, "a source has run more often than it was started");
}

static int run(struct baton_source *source)
{
	struct shared *one = baton_container_of(source, struct shared, source.source);
	uint64_t *random = &actor_self()->random;

	if (atomic_fetch_add(&inside, 1))
		report(NULL, NULL, "two sources run at once");
	look_at_run(one);
	/* A private one is waited for by its client: nobody else stops it. */
	if (source->_config->again && !one->private && random_one_in(random, 2))
		BATON_IGNORE(baton_source_stop(source).met);
	if (!mod_stopping() && !one->private) {
		if (random_one_in(random, STARTS_ONE_IN))
			start(&shared[random_below(random, KINDS_ONCE)], random);
		if (random_one_in(random, STARTS_ONE_IN))
			depend(random);
		if (random_one_in(random, DEEDS_ONE_IN))
			mod_nested(NULL, NULL);
		(void)baton_mainloop_should_yield(&loop);
	}
	if (!sabotage_now(BREAK_MOD_MAINLOOP))
		atomic_fetch_sub(&inside, 1);
	return random_one_in(random, 8) ? -EIO : 0;
}

static void make(struct shared *one, uint32_t kind, bool private)
{
	memset(one, 0, sizeof(*one));
	one->magic = SOURCE_MAGIC;
	one->private = private;
	baton_source_fd_init(&one->source, &loop, &configs[kind], "stress");
	one->source.fd = private || kind != KINDS - 1 ? always_ready : sometimes_ready;
}

/* ---- The host ---- */

/* Sleeps until the loop is to be run, as a host does. */
static bool due(void)
{
	struct pollfd entry = {baton_mainloop_fd(&loop), POLLIN, 0};
	uint64_t next = baton_mainloop_next(&loop);
	uint64_t now = now_ns();
	int wait_ms = POLL_MS;

	if (next && next < now + POLL_MS * BATON_MILLISECOND)
		wait_ms = next > now ? (int)((next - now) / BATON_MILLISECOND) : 0;
	if (poll(&entry, 1, wait_ms) > 0)
		return true;
	/* 0: the descriptor is readable, or soon will be. */
	next = baton_mainloop_next(&loop);
	return next && next <= now_ns();
}

static void run_loop(uint64_t *random)
{
	int64_t count =
		random_one_in(random, 2)
			? baton_mainloop_run(&loop, 1 + random_below(random, 8))
			: baton_mainloop_drain_until(&loop, now_ns() + 200 * BATON_MICROSECOND);

	if (count < 0)
		report(NULL, NULL, "a main loop's run: %lld", (long long)count);
}

static void *host_main(void *arg)
{
	struct actor *self = actor_self();

	MUST(baton_mainloop_adopt(&loop) == 0);
	host = pthread_self();
	atomic_store(&hosted, true);
	while (!atomic_load(&host_leaves))
		if (due())
			run_loop(&self->random);
	return NULL;
}

static pthread_t host_thread;

struct baton_executor *sources_start(uint64_t *random)
{
	struct baton_mainloop_options options = {.name = "stress's",
	                                         .aging = random_below(random, 3),
	                                         .slice_ns = 100 * BATON_MICROSECOND};

	ended = false;
	atomic_store(&inside, 0);
	atomic_store(&hosted, false);
	atomic_store(&host_leaves, false);
	MUST((always_ready = eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC)) >= 0);
	MUST((sometimes_ready = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) >= 0);
	MUST(baton_mainloop_init(&loop, &options) == 0);
	for (uint32_t i = 0; i < SHARED; i++)
		make(&shared[i], i % KINDS, false);
	MUST(pthread_create(&host_thread, NULL, host_main, NULL) == 0);
	while (!atomic_load(&hosted))
		usleep(50);
	return baton_mainloop_executor(&loop);
}

/* No other thread uses the loop any more. */
void sources_end(void)
{
	uint64_t *random = &actor_self()->random;

	atomic_store(&host_leaves, true);
	MUST(pthread_join(host_thread, NULL) == 0);
	MUST(baton_mainloop_adopt(&loop) == 0);
	for (uint32_t i = 0; i < SHARED; i++)
		if (shared[i].source.source._config->again &&
		    baton_source_stop(&shared[i].source.source).met < 0)
			report(NULL, NULL, "a source's stop fails");
	actor_busy("a main loop's last sources", 0);
	for (uint32_t i = 0; i < SHARED; i++)
		while (baton_source_is_active(&shared[i].source.source))
			if (due())
				run_loop(random);
	actor_idle();
	for (uint32_t i = 0; i < SHARED; i++)
		if (baton_source_stop(&shared[i].source.source).met != BATON_STOP_NOTHING ||
		    baton_source_undepend_all(&shared[i].source.source))
			report(NULL, NULL, "a source is active that was to have run");
	ended = true;
	while (due())
		run_loop(random);
	if (baton_mainloop_deinit(&loop) != 0)
		report(NULL, NULL, "a main loop ends with active sources");
	MUST(close(always_ready) == 0);
	MUST(close(sometimes_ready) == 0);
}

/* ---- Deeds ---- */

static void toggle(uint64_t *random)
{
	uint64_t value = 1;

	if (random_one_in(random, 2))
		(void)!write(sometimes_ready, &value, sizeof(value));
	else
		(void)!read(sometimes_ready, &value, sizeof(value));
}

/* Anybody's. */
void source_shared(void)
{
	uint64_t *random = &actor_self()->random;
	struct shared *one = &shared[random_below(random, SHARED)];
	int error = 0;

	switch (random_below(random, 6)) {
	case 0:
		error = (int)baton_source_stop(&one->source.source).met;
		break;
	case 1:
		error = baton_source_set_level(&one->source.source,
		                               1 + random_below(random, BATON_PRIORITIES));
		break;
	case 2:
		toggle(random);
		break;
	default:
		start(one, random);
		break;
	}
	if (error < 0)
		report(NULL, NULL, "a source's stop or set_level: %d", error);
}

/* The owner's stop is final. */
static void *end_private(void *arg)
{
	struct shared *one = arg;

	if (baton_source_stop(&one->source.source).met == BATON_STOP_RUNNING)
		report(NULL, NULL, "a source runs beside a task of the loop's resource");
	one->magic = 0;
	return NULL;
}

/* A client's, outside of tasks. */
void source_private(void)
{
	uint64_t *random = &actor_self()->random;
	uint32_t kind = random_below(random, KINDS);
	struct shared *one = cell_take();
	uint64_t runs;

	make(one, kind, true);
	for (uint32_t left = 1 + random_below(random, 4); left > 0; left--) {
		start(one, random);
		if (random_one_in(random, 4) && baton_source_stop(&one->source.source).met >= 0) {
			runs = atomic_load(&one->runs);
			start(one, random);
			actor_busy("a source's run", 0);
			while (atomic_load(&one->runs) == runs)
				usleep(20);
			actor_idle();
		}
	}
	actor_busy("a call on the loop", 0);
	MUST(baton_call(baton_mainloop_resource(&loop), end_private, one, NULL) == 0);
	actor_idle();
	cell_give(one);
}
