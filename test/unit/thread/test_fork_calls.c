/* SPDX-License-Identifier: MIT */
/* fork: every call in the child of a process with a pool says -ECHILD, and changes nothing. */
#include "support.h"

#include <baton/admission.h>
#include <baton/epoch.h>
#include <baton/board.h>
#include <baton/io.h>
#include <baton/mainloop.h>
#include <baton/registry.h>
#include <baton/suspend.h>
#include <baton/thread.h>
#include <baton/timer.h>
#include <baton/watchdog.h>
#include <baton/window.h>

#include <sys/wait.h>

/* Exit codes of a child: 0, or the number of the check that failed. */
#define CHECK(number, condition)                                                                   \
	do {                                                                                       \
		if (!(condition))                                                                  \
			return (number);                                                           \
	} while (0)

struct parent {
	struct baton_pool *pool;
	struct baton_loop *loop; /* nobody's yet */
	struct baton_resource resource;
	struct baton_future queued; /* of a task */
	struct baton_registry *registry;
	struct baton_registry_entry *entry; /* "a" in it */
	struct baton_timers *timers;
	struct baton_timer armed; /* in their wheel */
	struct baton_mainloop mainloop;
	struct baton_board *board;
	struct baton_watchdog *watchdog;
	int status; /* of the child */
};

static void *nothing(void *arg)
{
	return arg;
}

static int task_nothing(struct baton_task *task)
{
	(void)task;
	return 0;
}

static int timer_nothing(struct baton_timer *timer)
{
	(void)timer;
	return 0;
}

static bool visit(struct baton_registry_entry *entry, void *arg)
{
	(void)entry;
	*(bool *)arg = true;
	return true;
}

/* Also where the thread has read the registry before. */
static int check_registry(struct parent *parent)
{
	const struct baton_registry_options options =
		BATON_REGISTRY_OPTIONS_INIT(sizeof(struct baton_registry_entry), NULL, NULL, NULL);
	struct baton_registry_request request = BATON_REGISTRY_REQUEST_INIT;
	struct baton_registry_entry *entry = NULL;
	struct baton_registry *registry = NULL;
	struct baton_limbo *limbo = NULL;
	bool visited = false;

	CHECK(31, baton_epoch_enter() == -ECHILD && !baton_epoch_inside());
	CHECK(32, baton_limbo_create(&limbo) == -ECHILD && !limbo);
	CHECK(33, baton_registry_create(&options, &registry) == -ECHILD && !registry);
	CHECK(34, baton_registry_find(parent->registry, "a", 1, &entry) == -ECHILD && !entry);
	CHECK(35, baton_registry_acquire(parent->registry, "a", 1, &entry) == -ECHILD && !entry);
	CHECK(76, baton_registry_acquire_async(parent->registry, "b", 1, &request) == -ECHILD);
	CHECK(36, baton_registry_walk(parent->registry, visit, &visited) == -ECHILD && !visited);
	CHECK(37, baton_registry_unref(parent->entry) == -ECHILD);
	CHECK(38, baton_registry_destroy(parent->registry) == -ECHILD);
	return 0;
}

static int check_admission(void)
{
	static const uint32_t limits[] = {1, 1, 1};
	static struct baton_admission admission;
	static struct baton_admitted admitted;

	CHECK(51, baton_admission_arrive(&admission, &admitted) == -ECHILD);
	CHECK(52, baton_admitted_withdraw(&admitted) == -ECHILD);
	CHECK(53, baton_admission_set_limits(&admission, limits, 0) == -ECHILD);
	CHECK(54, baton_admission_close(&admission, BATON_ADMISSION_DROP) == -ECHILD);
	return 0;
}

/* What serves the whole process. */
static int check_process(struct parent *parent)
{
	const struct baton_watchdog_options options = {.board = parent->board};
	struct baton_watchdog *watchdog = NULL;

	CHECK(61, baton_pool_default_destroy() == -ECHILD);
	CHECK(62, baton_timers_default_destroy() == -ECHILD);
	CHECK(63, baton_io_destroy() == -ECHILD);
	CHECK(64, baton_watchdog_start(&options, &watchdog) == -ECHILD && !watchdog);
	CHECK(65, baton_watchdog_trace(parent->watchdog, 1, "/dev/null") == -ECHILD);
	CHECK(66, baton_mainloop_run(&parent->mainloop, 1) == -ECHILD);
	CHECK(67, baton_mainloop_drain(&parent->mainloop, 0) == -ECHILD);
	return check_admission();
}

/* Of a wheel that has no thread, too. */
static int check_timer(struct parent *parent)
{
	struct baton_timer *timer = &parent->armed;

	CHECK(71, baton_timer_arm_at(timer, 2 * BATON_SECOND) == -ECHILD);
	CHECK(72, baton_timer_arm_after(timer, 1) == -ECHILD);
	CHECK(73, baton_timer_arm_again_after(timer, 1) == -ECHILD);
	CHECK(74, baton_timer_arm_every(timer, 1, 1, BATON_TIMER_SKIP) == -ECHILD);
	CHECK(75, baton_timer_state(timer) == BATON_TIMER_PENDING);
	return 0;
}

static int check(struct parent *parent)
{
	struct baton_task *const *none = NULL;
	struct baton_task task = BATON_TASK_INIT(task_nothing, NULL);
	struct baton_task *tasks[1] = {&task};
	struct baton_manual *manual = NULL;
	struct baton_job *jobs = NULL;
	struct baton_job job = {NULL, 0, 0};
	struct baton_timer timer = BATON_TIMER_INIT(NULL, &parent->resource, timer_nothing);
	struct baton_suspension suspension = BATON_SUSPENSION_INIT;
	struct baton_window window = BATON_WINDOW_INIT(&parent->resource, 0);
	struct baton_timers_options polled = BATON_TIMERS_OPTIONS_INIT;
	struct baton_timers *timers = NULL;
	int status;

	polled.source = BATON_TIMERS_POLL;
	CHECK(39, baton_timers_create(&polled, &timers) == -ECHILD && !timers);
	CHECK(1, baton_try_call(&parent->resource, nothing, NULL, NULL) == -ECHILD);
	CHECK(2, baton_future_cancel(&parent->queued) == -ECHILD);
	CHECK(3, baton_resource_cancel_pending(&parent->resource) == -ECHILD);
	CHECK(4, baton_submit_batch(&parent->resource, tasks, 1) == -ECHILD);
	CHECK(5, baton_submit_batch(&parent->resource, none, 0) == 0);
	CHECK(6, baton_pool_shutdown(parent->pool) == -ECHILD);
	CHECK(7, baton_pool_shutdown_now(parent->pool, &jobs) == -ECHILD && !jobs);
	CHECK(8, baton_manual_create(&manual) == -ECHILD && !manual);
	CHECK(9, baton_loop_adopt(parent->loop) == -ECHILD);
	CHECK(10, baton_loop_run(parent->loop, 0) == 0);
	CHECK(11, baton_executor_schedule(baton_loop_executor(parent->loop), &job) == -ECHILD);
	CHECK(12, baton_future_state(&parent->queued) == BATON_PENDING);
	CHECK(13, baton_timers_create(NULL, &timers) == -ECHILD && !timers);
	CHECK(14, baton_timers_default(&timers) == -ECHILD && !timers);
	CHECK(15, baton_timer_arm_after(&timer, 0) == -ECHILD);
	CHECK(16, baton_timer_arm_at(&timer, 0) == -ECHILD);
	CHECK(17, baton_timer_arm_again_after(&timer, 0) == -ECHILD);
	CHECK(18, baton_timer_state(&timer) == BATON_TIMER_IDLE);
	CHECK(19, baton_resource_suspend(&parent->resource, &suspension) == -ECHILD);
	CHECK(20, baton_resource_resume(&suspension) == -ECHILD);
	CHECK(21, baton_quiesce(NULL, 0, NULL, NULL) == -ECHILD);
	CHECK(22, baton_window_set_limit(&window, 1) == -ECHILD);
	CHECK(23, baton_window_cancel(&window) == -ECHILD);
	CHECK(24, baton_thread_attach() == -ECHILD);
	status = check_process(parent);
	if (!status)
		status = check_timer(parent);
	return status ? status : check_registry(parent);
}

/* Returns in the parent. -n: the child was ended by signal n. */
static void *forks(void *arg)
{
	struct parent *parent = arg;
	pid_t child;
	int status = 0;

	fflush(NULL);
	child = fork();
	MUST(child >= 0);
	if (child == 0) {
		alarm(5 * BATON_TEST_SCALE);
		_exit(check(parent));
	}
	while (waitpid(child, &status, 0) < 0)
		MUST(errno == EINTR);
	parent->status = WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
	return NULL;
}

static void parent_init(struct parent *parent, struct step *step, struct journal *journal,
                        struct baton_manual *manual, struct baton_resource_config *config)
{
	const struct baton_registry_options options =
		BATON_REGISTRY_OPTIONS_INIT(sizeof(struct baton_registry_entry), NULL, NULL, NULL);
	struct baton_timers_options virtual_wheel = BATON_TIMERS_OPTIONS_INIT;
	struct baton_watchdog_options watching = {.limit_ns = BATON_SECOND};

	virtual_wheel.source = BATON_TIMERS_VIRTUAL;
	memset(parent, 0, sizeof(*parent));
	MUST(baton_registry_create(&options, &parent->registry) == 0);
	MUST(baton_registry_acquire(parent->registry, "a", 1, &parent->entry) == 0);
	parent->pool = pool_of(1);
	parent->status = -1;
	MUST(baton_loop_create(&parent->loop) == 0);
	*config = (struct baton_resource_config)BATON_RESOURCE_CONFIG_INIT;
	config->executor = baton_manual_executor(manual);
	baton_resource_init(&parent->resource, config);
	baton_future_init(&parent->queued);
	step_init(step, journal, 0, &parent->queued);
	MUST(baton_submit_later(&parent->resource, &step->task) == 0);
	MUST(baton_timers_create(&virtual_wheel, &parent->timers) == 0);
	baton_timer_init(&parent->armed, parent->timers, &parent->resource, timer_nothing);
	MUST(baton_timer_arm_at(&parent->armed, BATON_SECOND) == 0);
	MUST(baton_mainloop_create(&parent->mainloop, NULL) == 0);
	MUST(baton_board_create(NULL, &parent->board) == 0);
	watching.board = parent->board;
	MUST(baton_watchdog_start(&watching, &parent->watchdog) == 0);
}

static void parent_end(struct parent *parent, struct baton_manual *manual)
{
	cr_assert_eq(baton_timer_disarm(&parent->armed), BATON_TIMER_PENDING);
	cr_assert_eq(baton_timers_destroy(parent->timers), 0);
	baton_watchdog_stop(parent->watchdog);
	baton_board_destroy(parent->board);
	cr_assert_eq(baton_mainloop_destroy(&parent->mainloop), 0);
	(void)baton_manual_run_until_idle(manual);
	cr_assert_eq(baton_future_state(&parent->queued), BATON_DONE, "the parent goes on");
	resource_end(&parent->resource);
	cr_assert_eq(baton_registry_unref(parent->entry), 0);
	cr_assert_eq(baton_registry_destroy(parent->registry), 0);
	baton_loop_destroy(parent->loop);
	cr_assert_eq(baton_pool_destroy(parent->pool), 0);
	baton_manual_destroy(manual);
}

static void forked_by(void *(*caller)(void *parent))
{
	struct baton_resource_config config;
	struct baton_manual *manual = NULL;
	struct journal journal = {0};
	struct parent parent;
	struct step step;

	cr_assert_eq(baton_manual_create(&manual), 0);
	parent_init(&parent, &step, &journal, manual, &config);
	(void)caller(&parent);
	cr_assert_eq(parent.status, 0);
	parent_end(&parent, manual);
}

Test(fork_calls, are_refused_in_the_child_of_a_thread_that_has_used_baton, .timeout = 10)
{
	forked_by(forks);
}

static void *forks_on_a_new_thread(void *parent)
{
	return thread_join(thread_start(forks, parent));
}

Test(fork_calls, are_refused_in_the_child_of_a_thread_that_has_not, .timeout = 10)
{
	forked_by(forks_on_a_new_thread);
}
