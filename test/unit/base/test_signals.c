/* SPDX-License-Identifier: MIT */
/* The library's threads block all signals but those that a thread's own mistake raises. */
#include "support.h"

#include <baton/blocking.h>
#include <baton/board.h>
#include <baton/io.h>
#include <baton/timer.h>
#include <baton/timers.h>
#include <baton/watchdog.h>

#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

static const struct {
	int number;
	bool blocked;
} signals[] = {
	{SIGSEGV, false}, {SIGBUS, false},  {SIGFPE, false}, {SIGILL, false}, {SIGABRT, false},
	{SIGSYS, false},  {SIGTRAP, false}, {SIGTERM, true}, {SIGINT, true},  {SIGHUP, true},
	{SIGUSR1, true},  {SIGUSR2, true},  {SIGCHLD, true}, {SIGALRM, true}, {SIGPIPE, true},
};

static void expect_mask(const sigset_t *mask, const char *whose)
{
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		cr_expect_eq(sigismember(mask, signals[i].number) == 1, signals[i].blocked,
		             "%s: %s", whose, strsignal(signals[i].number));
}

/* The thread that starts the library's threads blocks what it blocked before. */
static void expect_ours(const sigset_t *own, const char *when)
{
	sigset_t now;

	MUST(pthread_sigmask(SIG_SETMASK, NULL, &now) == 0);
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		cr_assert_eq(sigismember(&now, signals[i].number),
		             sigismember(own, signals[i].number), "%s: %s", when,
		             strsignal(signals[i].number));
}

static void *tell_mask(void *mask)
{
	MUST(pthread_sigmask(SIG_SETMASK, NULL, mask) == 0);
	return NULL;
}

struct blocked {
	struct baton_resource resource;
	sem_t entered;
	sem_t go_on;
};

static void *block(void *arg)
{
	struct blocked *blocked = arg;

	baton_blocking_begin();
	gate_open(&blocked->entered);
	gate_pass(&blocked->go_on);
	baton_blocking_end();
	return NULL;
}

/* The only worker blocks, so this thread's submit starts a spare. */
static void looks_at_spare(const sigset_t *own)
{
	struct baton_pool_options options = BATON_POOL_OPTIONS_INIT;
	struct baton_resource_config config = {.capture_max = BATON_CAPTURE_NONE};
	struct baton_resource on_spare;
	struct baton_pool *pool;
	struct baton_future *call;
	struct baton_pool_stats stats;
	struct blocked blocked;
	sigset_t mask;

	options.workers = 1;
	cr_assert_eq(baton_pool_create(&options, &pool), 0);
	config.executor = baton_pool_executor(pool);
	gate_init(&blocked.entered);
	gate_init(&blocked.go_on);
	baton_resource_init(&blocked.resource, &config);
	baton_resource_init(&on_spare, &config);
	cr_assert_eq(baton_post(&blocked.resource, block, &blocked), 0);
	gate_pass(&blocked.entered);
	cr_assert_eq(baton_async(&on_spare, tell_mask, &mask, &call), 0);
	cr_assert_eq(baton_future_wait(call), 0);
	baton_pool_stats_read(pool, &stats);
	cr_assert_eq(stats.spares_started, 1);
	expect_mask(&mask, "a spare");
	expect_ours(own, "after the start of a spare");
	gate_open(&blocked.go_on);
	baton_future_unref(call);
	resource_end(&blocked.resource);
	resource_end(&on_spare);
	cr_assert_eq(baton_pool_destroy(pool), 0);
}

struct bell {
	struct baton_timer timer;
	sigset_t mask;
	sem_t rung;
};

static int bell_ring(struct baton_timer *timer)
{
	struct bell *bell = baton_container_of(timer, struct bell, timer);

	(void)tell_mask(&bell->mask);
	gate_open(&bell->rung);
	return 0;
}

/* Whatever the thread blocks that starts them. */
static void looks_at_masks(const sigset_t *own)
{
	struct baton_pool *pool;
	struct baton_resource_config config = {.capture_max = BATON_CAPTURE_NONE};
	struct baton_timers_options inside = {.submit = BATON_TIMERS_SUBMIT_INLINE};
	struct baton_timers *timers = NULL;
	struct baton_resource on_pool, idle;
	struct bell bell;
	sigset_t mask;

	MUST(pthread_sigmask(SIG_SETMASK, own, NULL) == 0);
	pool = pool_of(1);
	config.executor = baton_pool_executor(pool);
	baton_resource_init(&on_pool, &config);
	cr_assert_eq(baton_call(&on_pool, tell_mask, &mask, NULL), 0);
	expect_mask(&mask, "a worker");

	cr_assert_eq(baton_timers_create(&inside, &timers), 0);
	baton_resource_init(&idle, NULL);
	gate_init(&bell.rung);
	baton_timer_init(&bell.timer, timers, &idle, bell_ring);
	cr_assert_eq(baton_timer_arm_after(&bell.timer, 1), 0);
	gate_pass(&bell.rung);
	expect_mask(&bell.mask, "a wheel's thread");

	cr_assert_eq(baton_timers_destroy(timers), 0);
	resource_end(&on_pool);
	resource_end(&idle);
	cr_assert_eq(baton_pool_destroy(pool), 0);
}

/* A watch whose resource is closed when the event comes. */
struct dropped {
	struct baton_io io;
	sigset_t mask;
	sem_t told;
};

static int never_run(struct baton_io *io)
{
	MUST(!io);
	return 0;
}

static void note_dropped(struct baton_io *io, int error)
{
	struct dropped *dropped = baton_container_of(io, struct dropped, io);

	MUST(error == -EPIPE);
	(void)tell_mask(&dropped->mask);
	gate_open(&dropped->told);
}

static void looks_at_poller(void)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
	struct dropped dropped = {.io = BATON_IO_INIT(&resource, never_run)};
	int fd = eventfd(0, EFD_CLOEXEC);

	MUST(fd >= 0);
	gate_init(&dropped.told);
	baton_io_set_dropped(&dropped.io, note_dropped);
	cr_assert_eq(baton_io_start(&dropped.io, fd, BATON_IO_READ), 0);
	cr_assert_eq(baton_resource_close(&resource), 0);
	MUST(eventfd_write(fd, 1) == 0);
	gate_pass(&dropped.told);
	expect_mask(&dropped.mask, "the poller");
	cr_assert_eq(baton_io_destroy(), 0);
	resource_end(&resource);
	(void)close(fd);
}

struct reported {
	sigset_t mask;
	sem_t told;
};

static void note_stuck(const struct baton_stuck *stuck, void *arg)
{
	struct reported *reported = arg;

	MUST(stuck->kind == BATON_STUCK_RUNS);
	(void)tell_mask(&reported->mask);
	gate_open(&reported->told);
}

static void looks_at_watchdog(void)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
	struct reported reported;
	struct baton_watchdog_options options = {
		.limit_ns = 1000000, .report = note_stuck, .arg = &reported};
	struct baton_watchdog *watchdog;
	struct occupant occupant;

	gate_init(&reported.told);
	cr_assert_eq(baton_board_create(NULL, &options.board), 0);
	cr_assert_eq(baton_board_join(options.board, &resource, NULL, NULL), 0);
	cr_assert_eq(baton_watchdog_create(&options, &watchdog), 0);
	occupy(&occupant, &resource);
	gate_pass(&reported.told);
	expect_mask(&reported.mask, "the watchdog");
	release(&occupant);
	baton_watchdog_destroy(watchdog);
	baton_board_leave(options.board, &resource);
	baton_board_destroy(options.board);
	resource_end(&resource);
}

Test(signals, of_a_crash_are_open_in_the_librarys_threads, .timeout = 10)
{
	sigset_t own;

	for (int all = 0; all < 2; all++) {
		MUST((all ? sigfillset(&own) : sigemptyset(&own)) == 0);
		looks_at_masks(&own);
		expect_ours(&own, "after a pool and a wheel");
		looks_at_spare(&own);
		looks_at_poller();
		expect_ours(&own, "after the poller");
		looks_at_watchdog();
		expect_ours(&own, "after the watchdog");
	}
}

static atomic_int handled;

static void handle(int number)
{
	atomic_store(&handled, number);
}

static void *bring(void *number)
{
	MUST(raise(*(int *)number) == 0);
	return NULL;
}

Test(signals, of_a_crash_reach_the_programs_handler, .timeout = 10)
{
	struct baton_pool *pool = pool_of(1);
	struct baton_resource_config config = {.capture_max = BATON_CAPTURE_NONE,
	                                       .executor = baton_pool_executor(pool)};
	struct baton_resource resource = BATON_RESOURCE_INIT(&config);

	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++) {
		struct sigaction action = {.sa_handler = handle};
		int number = signals[i].number;

		if (signals[i].blocked)
			continue;
		MUST(sigaction(number, &action, NULL) == 0);
		atomic_store(&handled, 0);
		cr_assert_eq(baton_call(&resource, bring, &number, NULL), 0);
		cr_expect_eq(atomic_load(&handled), number, "%s", strsignal(number));
	}
	resource_end(&resource);
	cr_assert_eq(baton_pool_destroy(pool), 0);
}
