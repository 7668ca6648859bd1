/* SPDX-License-Identifier: MIT */
/*
 * A process that has one of everything. At rest (`busy` false) each object exists, and the queues
 * hold a little. Busy, other threads stand inside tasks, callbacks and locks of the library until
 * world_end(). A fork's child of that process inherits all of it, and none of the threads.
 */
#ifndef BATON_TEST_UNIT_FORK_WORLD_H
#define BATON_TEST_UNIT_FORK_WORLD_H

#include "callbacks.h"

#include <baton/blocking.h>
#include <baton/board.h>
#include <baton/bound.h>
#include <baton/detach.h>
#include <baton/error.h>
#include <baton/fan_out.h>
#include <baton/group.h>
#include <baton/hold.h>
#include <baton/hooks.h>
#include <baton/inline.h>
#include <baton/label.h>
#include <baton/lane.h>
#include <baton/loop.h>
#include <baton/manual.h>
#include <baton/parallel.h>
#include <baton/suspend.h>
#include <baton/tag.h>
#include <baton/thread.h>
#include <baton/timers.h>
#include <baton/version.h>
#include <baton/watchdog.h>
#include <baton/window.h>

#include "timer/timer.h"

#include "../parts.h"

enum { WHEELS = 4, POSTS = 8 }; /* a wheel of each source, and the default wheel */

struct world {
	struct baton_pool *pool;
	struct baton_loop *loop;
	struct baton_manual *manual;
	struct baton_resource_config config;       /* the pool's */
	struct baton_resource_config config_later; /* the same, and never captured */
	struct baton_resource_config config_slow;  /* the manual executor's, and never captured */
	struct baton_resource idle;
	struct baton_resource later;
	struct baton_resource closed;
	struct baton_resource slow; /* tasks wait in it */
	struct baton_resource held; /* busy: on another thread; its config is `config` */
	struct baton_resource limited;
	struct baton_lanes lanes;
	struct baton_lane lane[2];
	struct baton_bound_config bound_config;
	struct baton_bound bound;
	struct baton_tag tag;
	struct baton_task task;       /* waits in `slow` */
	struct baton_future queued;   /* its future */
	struct baton_future promise;  /* pending */
	struct baton_future *waiting; /* pending: behind the holder of `held`, or in `slow` */
	void *node;
	struct baton_timers *wheel[WHEELS];
	struct baton_timer timer[WHEELS]; /* armed for a far time; `slow`'s */
	struct baton_timer expired;       /* its run waits in `slow` */
	struct baton_trigger fired;       /* the same */
	struct baton_window window;
	struct windowed windowed;           /* waits in the window */
	struct baton_detached token;        /* of a task of `idle` that is not over */
	struct baton_suspension suspension; /* of `limited` */
	struct baton_group group;           /* one member */
	struct baton_fan_out *fan_out;      /* of `slow` */
	struct baton_registry *registry;
	struct baton_registry_entry *entry; /* "a" */
	struct baton_limbo *limbo;
	struct baton_published published;
	struct baton_admission admission;
	struct baton_admission closing; /* one of its entries is not over */
	struct baton_admission ended;
	struct baton_admitted last; /* of `closing` */
	struct baton_admitted admitted[2];
	struct baton_mainloop mainloop;
	struct baton_source source; /* active */
	struct baton_source_fd readable;
	struct baton_board *board;
	struct baton_watchdog *watchdog;
	struct baton_io io; /* active */
	int ends[2];        /* of a pipe */
	struct baton_rules rules;
	struct baton_rules_entry rule;
	struct baton_undo_log log;
	/* What makes it busy. */
	bool busy;
	struct occupant holder;         /* of `held` */
	struct occupant workers[2];     /* in tasks of the pool */
	struct baton_resource owned[2]; /* by them */
	sem_t leave;                    /* of the threads below */
	atomic_int inside;              /* threads below that have come to where they stay */
	int expected;                   /* so many */
	pthread_t thread[16];
	size_t threads;
};

static struct world world = {
	.promise = BATON_PROMISE_INIT,
	.group = BATON_GROUP_INIT,
	.tag = BATON_TAG_INIT,
	.suspension = BATON_SUSPENSION_INIT,
};

static int detaches(struct baton_task *task)
{
	return baton_detach(&world.token, 0);
}

/* ---- Threads that stay inside the library ---- */

static void stay(void)
{
	atomic_fetch_add(&world.inside, 1);
	gate_pass(&world.leave);
}

/* A callback of the library's; only the first call stays. */
static void stay_once(atomic_int *stays)
{
	if (atomic_exchange(stays, 0))
		stay();
}

static atomic_int object_stays, report_stays, dropped_stays, io_stays, source_stays;

static int object_init(struct baton_registry_entry *entry, void *arg)
{
	stay_once(&object_stays);
	return 0;
}

static void report(const struct baton_stuck *stuck, void *arg)
{
	stay_once(&report_stays);
}

static void dropped(struct baton_timer *timer, int error)
{
	stay_once(&dropped_stays);
}

static void io_dropped(struct baton_io *io, int error)
{
	stay_once(&io_stays);
}

static int source_run(struct baton_source *source)
{
	stay_once(&source_stays);
	return 0;
}

static void stays_in(void *(*main)(void *), void *arg)
{
	world.thread[world.threads++] = thread_start(main, arg);
	until_at_least(&world.inside, ++world.expected);
}

/* The thread holds the wheel, as in the middle of an arm. */
static void *holds_wheel(void *timers)
{
	MUST(baton_thread_attach() == 0);
	baton__timers_hold(timers);
	stay();
	baton__timers_release(timers, 0);
	return NULL;
}

static void *acquires(void *name)
{
	struct baton_registry_entry *entry = NULL;

	MUST(baton_registry_acquire(world.registry, name, 1, &entry) == 0);
	MUST(baton_registry_unref(entry) == 0);
	return NULL;
}

/* A run of a timer is refused, and `dropped` stays. */
static void *drops(void *arg)
{
	struct baton_timers_options options = {.source = BATON_TIMERS_VIRTUAL, .dropped = dropped};
	struct baton_resource closing = BATON_RESOURCE_INIT(NULL);
	struct baton_timers *timers = NULL;
	struct baton_timer timer;

	MUST(baton_timers_create(&options, &timers) == 0);
	baton_timer_init(&timer, timers, &closing, timer_nothing);
	MUST(baton_timer_arm_after(&timer, 1) == 0);
	resource_end(&closing);
	MUST(baton_timers_advance(timers, 2) == 1);
	MUST(baton_timers_destroy(timers) == 0);
	return NULL;
}

/* A run of a watch is refused, and `dropped` stays. */
static void drops_a_watch(void)
{
	static struct baton_resource closing = BATON_RESOURCE_INIT(NULL);
	static struct baton_io io;
	static int ends[2];

	atomic_store(&io_stays, 1);
	MUST(pipe(ends) == 0);
	baton_io_init(&io, &closing, io_nothing);
	baton_io_set_dropped(&io, io_dropped);
	MUST(baton_io_start(&io, ends[0], BATON_IO_READ) == 0);
	resource_end(&closing);
	MUST(write(ends[1], "x", 1) == 1);
	until_at_least(&world.inside, ++world.expected);
}

static void *runs_the_loop(void *arg)
{
	MUST(baton_mainloop_adopt(&world.mainloop) == 0);
	MUST(baton_mainloop_run(&world.mainloop, 1) >= 0);
	return NULL;
}

static void *waits(void *arg)
{
	MUST(baton_future_wait(world.waiting) == 0);
	return NULL;
}

static void make_busy(void)
{
	atomic_store(&object_stays, 1);
	atomic_store(&source_stays, 1);
	atomic_store(&dropped_stays, 1);
	for (size_t i = 0; i < 2; i++) {
		baton_resource_init(&world.owned[i], &world.config_later);
		occupy_later(&world.workers[i], &world.owned[i]);
	}
	/* On `held`'s line the watchdog finds a task that lasts, and reports it once. Its report
	 * holds the board. */
	atomic_store(&report_stays, 1);
	occupy(&world.holder, &world.held);
	MUST(baton_async(&world.held, nothing, NULL, &world.waiting) == 0);
	world.thread[world.threads++] = thread_start(waits, NULL);
	stays_in(acquires, "b");
	stays_in(drops, NULL);
	stays_in(runs_the_loop, NULL);
	until_at_least(&world.inside, ++world.expected);
	drops_a_watch();
	for (size_t i = 0; i < WHEELS; i++)
		stays_in(holds_wheel, world.wheel[i]);
}

/* ---- Beginning and end ---- */

static void resources_begin(void)
{
	struct baton_resource_config *config = &world.config;

	world.pool = pool_of(2);
	MUST(baton_manual_create(&world.manual) == 0);
	MUST(baton_loop_create(&world.loop) == 0);
	*config = (struct baton_resource_config)BATON_RESOURCE_CONFIG_INIT;
	config->executor = baton_pool_executor(world.pool);
	world.config_later = *config;
	world.config_later.capture_max = BATON_CAPTURE_NONE;
	world.config_slow = world.config_later;
	world.config_slow.executor = baton_manual_executor(world.manual);
	baton_resource_init(&world.idle, config);
	baton_resource_init(&world.held, config);
	baton_resource_init(&world.limited, config);
	baton_resource_init(&world.later, &world.config_later);
	baton_resource_init(&world.closed, config);
	MUST(baton_resource_close(&world.closed) == 0);
	MUST(baton_resource_await(&world.closed) == 0);
	baton_resource_init(&world.slow, &world.config_slow);
	baton_lanes_init(&world.lanes, world.lane, 2, NULL);
	baton_resource_set_lanes(&world.limited, &world.lanes);
	world.bound_config = (struct baton_bound_config)BATON_BOUND_CONFIG_INIT;
	world.bound_config.tasks_max = 4;
	baton_bound_init(&world.bound, &world.bound_config);
	baton_resource_set_bound(&world.limited, &world.bound);
	MUST(baton_resource_suspend(&world.limited, &world.suspension) == 0);
}

/* Something of each sort that is not over. */
static void tasks_begin(void)
{
	static struct baton_resource *targets[1] = {&world.slow};
	const struct baton_fan_out_options options = {.fn = item_nothing};
	static struct baton_future detached = BATON_FUTURE_INIT;
	static struct baton_task task = BATON_TASK_INIT(detaches, &detached);

	baton_future_init(&world.queued);
	baton_task_init(&world.task, task_nothing, &world.queued);
	MUST(baton_submit(&world.slow, &world.task) == 0);
	MUST(baton_fan_out_submit(targets, 1, &options, &world.fan_out) == 0);
	baton_trigger_init(&world.fired, &world.slow, trigger_nothing);
	MUST(baton_trigger_fire(&world.fired) == 0);
	MUST(baton_submit(&world.idle, &task) == 0);
	baton_window_init(&world.window, &world.slow, 1);
	windowed_init(&world.windowed, &world.window, task_nothing, NULL);
	MUST(baton_submit(&world.slow, &world.windowed.task) == 0);
	baton_group_enter(&world.group);
}

static void timers_begin(void)
{
	struct baton_timers_options options = BATON_TIMERS_OPTIONS_INIT;

	for (size_t i = 0; i + 1 < WHEELS; i++) {
		options.source = (enum baton_timers_source)i;
		MUST(baton_timers_create(&options, &world.wheel[i]) == 0);
	}
	MUST(baton_timers_default(&world.wheel[WHEELS - 1]) == 0);
	for (size_t i = 0; i < WHEELS; i++) {
		baton_timer_init(&world.timer[i], world.wheel[i], &world.slow, timer_nothing);
		MUST(baton_timer_arm_after(&world.timer[i], 1000 * BATON_SECOND) == 0);
	}
	baton_timer_init(&world.expired, world.wheel[BATON_TIMERS_VIRTUAL], &world.slow,
	                 timer_nothing);
	MUST(baton_timer_arm_after(&world.expired, 1) == 0);
	MUST(baton_timers_advance(world.wheel[BATON_TIMERS_VIRTUAL], 2) == 1);
}

static void modules_begin(void)
{
	const struct baton_registry_options options = BATON_REGISTRY_OPTIONS_INIT(
		sizeof(struct baton_registry_entry), object_init, NULL, NULL);
	static const struct baton_source_config source_config = {.fn = source_run, .again = true};
	struct baton_rules_config rules = BATON_RULES_CONFIG_INIT;
	struct baton_admission_config admission = BATON_ADMISSION_CONFIG_INIT;

	MUST(baton_registry_create(&options, &world.registry) == 0);
	MUST(baton_registry_acquire(world.registry, "a", 1, &world.entry) == 0);
	MUST(baton_limbo_create(&world.limbo) == 0);
	MUST(baton_published_init(&world.published, NULL, retired_nothing) == 0);
	for (size_t i = 0; i < 3; i++) {
		rules.limit[i] = 1;
		rules.duration_ns[i] = (i + 1) * BATON_SECOND;
	}
	MUST(baton_rules_init(&world.rules, &rules, &rules_events) == 0);
	baton_rules_entry_init(&world.rule, 0);
	MUST(baton_rules_arrive(&world.rules, &world.rule, 1) == 0);
	admission.rules = rules;
	admission.executor = baton_manual_executor(world.manual);
	admission.timers = world.wheel[BATON_TIMERS_VIRTUAL];
	admission.gone = admission_nothing;
	MUST(baton_admission_init(&world.admission, &admission) == 0);
	for (size_t i = 0; i < 2; i++) {
		baton_admitted_init(&world.admitted[i], 0, task_nothing);
		MUST(baton_admission_arrive(&world.admission, &world.admitted[i]) == 0);
	}
	MUST(baton_admission_init(&world.closing, &admission) == 0);
	baton_admitted_init(&world.last, 0, task_nothing);
	MUST(baton_admission_arrive(&world.closing, &world.last) == 0);
	MUST(baton_admission_close(&world.closing, BATON_ADMISSION_RUN) == 0);
	MUST(baton_admission_init(&world.ended, &admission) == 0);
	MUST(baton_admission_close(&world.ended, BATON_ADMISSION_RUN) == 0);
	MUST(baton_admission_await(&world.ended) == 0);
	MUST(baton_mainloop_init(&world.mainloop, NULL) == 0);
	baton_source_init(&world.source, &world.mainloop, &source_config, "source");
	MUST(baton_source_start(&world.source) == 0);
	baton_source_fd_init(&world.readable, &world.mainloop, &source_config, "readable");
}

static void watches_begin(void)
{
	struct baton_watchdog_options watching = {
		.limit_ns = BATON_MILLISECOND, .every_ns = BATON_MILLISECOND, .report = report};

	MUST(baton_board_create(NULL, &world.board) == 0);
	MUST(baton_board_join(world.board, &world.held, "held", NULL) == 0);
	MUST(baton_board_pool_join(world.board, world.pool, "pool") == 0);
	watching.board = world.board;
	MUST(baton_watchdog_create(&watching, &world.watchdog) == 0);
	MUST(pipe(world.ends) == 0);
	baton_io_init(&world.io, &world.idle, io_nothing);
	MUST(baton_io_start(&world.io, world.ends[0], BATON_IO_READ) == 0);
}

static void world_begin(bool busy)
{
	world.busy = busy;
	gate_init(&world.leave);
	resources_begin();
	timers_begin();
	modules_begin();
	tasks_begin();
	watches_begin();
	MUST(baton_node_alloc(1, &world.node) == 0);
	if (busy)
		make_busy();
	else
		MUST(baton_async(&world.slow, nothing, NULL, &world.waiting) == 0);
}

/* The parent goes on: its threads leave, and the objects end as they do without a fork. */
static void world_end(void)
{
	for (int i = 0; i < world.expected; i++)
		gate_open(&world.leave);
	if (world.busy) {
		for (size_t i = 0; i < 2; i++)
			gate_open(&world.workers[i].leave);
		release(&world.holder);
	}
	for (size_t i = 0; i < 2 && world.busy; i++)
		resource_end(&world.owned[i]);
	while (world.threads)
		thread_join(world.thread[--world.threads]);
	(void)baton_manual_run(world.manual, 0);
	cr_assert_eq(baton_future_wait(world.waiting), 0);
	baton_node_free(world.node);
	cr_assert_eq(baton_future_state(&world.queued), BATON_DONE, "the parent goes on");
}

#endif
