/* SPDX-License-Identifier: MIT */
/* Creating pools: names, stacks, CPUs, the default one; and what happens when it fails. */
#include "pool_support.h"

#include <baton/blocking.h>
#include <baton/board.h>
#include <baton/io.h>
#include <baton/timer.h>
#include <baton/timers.h>
#include <baton/watchdog.h>

#include "pool/pool.h"

#include <dlfcn.h>
#include <sys/wait.h>

/* Thread creation that can be made to fail: the library's calls come here too. */
static atomic_int creations_left = -1; /* < 0: any number */

typedef int (*create_fn)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attributes,
                   void *(*start)(void *), void *restrict arg)
{
	union {
		void *symbol;
		create_fn function;
	} real = {dlsym(RTLD_NEXT, "pthread_create")};

	if (atomic_load(&creations_left) == 0)
		return EAGAIN;
	if (atomic_load(&creations_left) > 0)
		atomic_fetch_sub(&creations_left, 1);
	return real.function(thread, attributes, start, arg);
}

static void work_note_thread(struct baton_plain_job *job)
{
	struct work *work = work_of(job);

	work->thread = pthread_self();
	MUST(pthread_getname_np(pthread_self(), work->name, sizeof(work->name)) == 0);
	work->result = baton_pool_await(work->pool);
	MUST(baton_pool_destroy(work->pool) == work->result);
	work_finish(work);
}

static struct work run_once(const struct baton_pool_options *options, baton_job_fn run)
{
	struct baton_pool *pool;
	struct work work;
	atomic_int done = 0;

	cr_assert_eq(baton_pool_create(options, &pool), 0);
	work_init(&work, run, pool, &done);
	cr_assert_eq(baton_pool_submit(pool, &work.job), 0);
	until_at_least(&done, 1);
	cr_assert_eq(baton_pool_destroy(pool), 0);
	return work;
}

Test(pool_options, names_its_threads, .timeout = 10)
{
	struct baton_pool_options options = {.workers = 1};

	cr_assert_str_eq(run_once(&options, work_note_thread).name, "baton-0");
	options.name = "a-very-long-name";
	cr_assert_str_eq(run_once(&options, work_note_thread).name, "a-very-lon-0");
}

Test(pool_options, answers_edeadlk_to_its_own_workers, .timeout = 10)
{
	struct baton_pool_options options = {.workers = 1};

	cr_assert_eq(run_once(&options, work_note_thread).result, -EDEADLK);
}

Test(pool_options, works_with_stacks_of_64_kib_and_affinity, .timeout = 10)
{
	cpu_set_t set;
	int cpu = 0;

	MUST(sched_getaffinity(0, sizeof(set), &set) == 0);
	while (!CPU_ISSET((size_t)cpu, &set))
		cpu++;

	struct baton_pool_options options = {
		.workers = 2, .stack_size = small_stack(), .cpus = &cpu, .cpu_count = 1};

	cr_assert_str_neq(run_once(&options, work_note_thread).name, "");
}

static void work_note_cpus(struct baton_plain_job *job)
{
	struct work *work = work_of(job);
	cpu_set_t set;

	MUST(sched_getaffinity(0, sizeof(set), &set) == 0);
	work->result = CPU_COUNT(&set);
	work_finish(work);
}

static int pinned_to; /* the last CPU that this process may use */

/* Stays until both workers are in such a job. Its result: is the worker on its CPU alone? */
static void work_on_cpu(struct baton_plain_job *job)
{
	static atomic_int here;
	struct work *work = work_of(job);
	cpu_set_t set;

	(void)atomic_fetch_add(&here, 1);
	until_at_least(&here, 2);
	MUST(sched_getaffinity(0, sizeof(set), &set) == 0);
	work->result = CPU_COUNT(&set) == 1 && CPU_ISSET((size_t)pinned_to, &set);
	work_finish(work);
}

Test(pool_options, more_workers_than_cpus_share_them, .timeout = 10)
{
	struct baton_pool_options options = {.workers = 2, .cpus = &pinned_to, .cpu_count = 1};
	struct baton_pool *pool;
	struct work works[2];
	atomic_int done = 0;
	cpu_set_t set;

	MUST(sched_getaffinity(0, sizeof(set), &set) == 0);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET((size_t)cpu, &set))
			pinned_to = cpu;
	cr_assert_eq(baton_pool_create(&options, &pool), 0);
	for (int i = 0; i < 2; i++) {
		work_init(&works[i], work_on_cpu, pool, &done);
		cr_assert_eq(baton_pool_submit(pool, &works[i].job), 0);
	}
	until_at_least(&done, 2);
	cr_assert_eq(baton_pool_destroy(pool), 0);
	cr_assert(works[0].result && works[1].result);
}

/* How many CPUs a worker may use, of a pool that a thread creates that is pinned itself. */
static void *create_pinned(void *arg)
{
	struct baton_pool_options options = {.workers = 1};
	struct baton_pool *pool;
	struct work work;
	atomic_int done = 0;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)sched_getcpu(), &set);
	MUST(sched_setaffinity(0, sizeof(set), &set) == 0);
	MUST(baton_pool_create(&options, &pool) == 0);
	work_init(&work, work_note_cpus, pool, &done);
	MUST(baton_pool_submit(pool, &work.job) == 0);
	until_at_least(&done, 1);
	MUST(baton_pool_destroy(pool) == 0);
	*(int *)arg = work.result;
	return NULL;
}

Test(pool_options, workers_are_not_pinned_as_their_creator_is, .timeout = 10)
{
	pthread_t creator;
	cpu_set_t set;
	int count = 0;

	MUST(sched_getaffinity(0, sizeof(set), &set) == 0);
	MUST(pthread_create(&creator, NULL, create_pinned, &count) == 0);
	MUST(pthread_join(creator, NULL) == 0);
	cr_assert_eq(count, CPU_COUNT(&set));
}

Test(pool_options, leaves_nothing_behind_when_a_thread_cannot_be_created, .timeout = 30)
{
	for (int possible = 0; possible < 8; possible++) {
		struct baton_pool_options options = {.workers = 8};
		struct baton_pool *pool = NULL;

		atomic_store(&creations_left, possible);
		cr_assert_eq(baton_pool_create(&options, &pool), -EAGAIN);
		atomic_store(&creations_left, -1);
		cr_assert_null(pool);
	}
}

/* One block holds it all: nothing overlaps, and each part is as long as the options say. */
Test(pool_options, its_block_has_room_for_what_was_asked_for, .timeout = 10)
{
	static const int cpus[] = {0, 0, 0};
	static const struct baton_pool_policy yields = {.order = BATON_POOL_YIELDS};
	static const struct {
		struct baton_pool_options options;
		size_t mates, threads_max, cpus;
	} rows[] = {
		{{.workers = 1, .spares_max = BATON_POOL_NO_SPARES}, 1, 1, 0},
		{{.workers = 3, .spares_max = BATON_POOL_NO_SPARES, .policy = &yields}, 3, 3, 0},
		{{.workers = 3, .spares_max = 1, .stack_size = 1 << 18}, 5, 4, 0},
		{{.workers = 2, .spares_max = 2, .policy = &yields, .cpus = cpus, .cpu_count = 3},
	         5,
	         4,
	         3},
		{{.workers = 1, .name = "a", .spare_keep_ns = 7},
	         BATON_POOL_SPARES + 2,
	         BATON_POOL_SPARES + 1,
	         0},
		{{.workers = 1, .spares_max = 1}, 3, 2, 0},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct baton_pool_options *options = &rows[i].options;
		struct baton_pool *pool;
		char *at;

		cr_assert_eq(baton_pool_create(options, &pool), 0, "%zu", i);
		cr_assert_eq(pool->worker_count, options->workers, "%zu", i);
		cr_assert_eq(pool->mate_count, rows[i].mates, "%zu", i);
		cr_assert_eq(pool->threads_max, rows[i].threads_max, "%zu", i);
		cr_assert_eq(pool->spare_keep_ns,
		             options->spare_keep_ns ? 7 : UINT64_C(10000000000));
		cr_assert_eq(pool->stack_size, options->stack_size);
		cr_assert_str_eq(pool->name, options->name ? "a" : "baton");
		at = (char *)(pool + 1);
		cr_assert_eq((char *)pool->workers, at);
		at += options->workers * sizeof(struct baton__worker);
		for (size_t w = 0; w < options->workers; w++) {
			cr_assert_eq(pool->workers[w].index, w);
			cr_assert_eq((char *)pool->workers[w].order.hot,
			             options->policy ? at : NULL);
			at += options->policy ? sizeof(struct baton__runqueue) : 0;
		}
		cr_assert_eq((char *)pool->idle.sleepers, at);
		at += options->workers * sizeof(struct baton__sleeper);
		cr_assert_eq((char *)pool->mates, at);
		at += rows[i].mates * sizeof(struct baton__mate);
		cr_assert_eq((char *)pool->cpus, rows[i].cpus ? at : NULL);
		cr_assert_eq(pool->cpu_count, rows[i].cpus);
		cr_assert_eq(baton_pool_destroy(pool), 0);
	}
}

static void work_end_other(struct baton_plain_job *job)
{
	struct work *work = work_of(job);

	MUST(baton_pool_shutdown(work->pool) == 0);
	work->result = baton_pool_await(work->pool);
	MUST(baton_pool_destroy(work->pool) == 0);
	work_finish(work);
}

Test(pool_options, a_worker_of_one_pool_may_end_another, .timeout = 10)
{
	struct baton_pool *other = pool_of(1), *pool = pool_of(1);
	struct work work;
	atomic_int done = 0;

	work_init(&work, work_end_other, other, &done);
	cr_assert_eq(baton_pool_submit(pool, &work.job), 0);
	until_at_least(&done, 1);
	cr_assert_eq(work.result, 0);
	cr_assert_eq(baton_pool_destroy(pool), 0);
}

Test(pool_options, refuses_options_that_cannot_be, .timeout = 10)
{
	struct baton_pool *pool = NULL;
	int negative = -1;
	int absent = 60000, wide = 64 * 1023; /* the first of a word of the set */
	int second_absent[] = {sched_getcpu(), 60000};
	struct baton_pool_options options[] = {
		{.workers = BATON_POOL_WORKERS_MAX + 1},
		{.workers = 1, .stack_size = 1}, /* a page is too small as well */
		{.workers = 1, .stack_size = SIZE_MAX},
		{.workers = 1, .cpus = &negative, .cpu_count = 1},
		{.workers = 1, .cpus = &absent, .cpu_count = 1},
		{.workers = 1, .cpus = &wide, .cpu_count = 1},
		{.workers = 2, .cpus = second_absent, .cpu_count = 2},
		{.workers = 1, .spares_max = BATON_POOL_SPARES_MAX + 1},
	};

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		cr_assert_eq(baton_pool_create(&options[i], &pool), -EINVAL, "%zu", i);
	cr_assert_null(pool);
}

/* What the library answers in the child of a fork. */
static int attached_in_child(void)
{
	const pid_t child = fork();
	int status;

	if (!child)
		_exit(-baton__thread_attach());
	MUST(waitpid(child, &status, 0) == child && WIFEXITED(status));
	return -WEXITSTATUS(status);
}

/* No thread is started: what comes to the first creation has been accepted. */
Test(pool_options, takes_as_many_threads_as_there_may_be, .timeout = 10)
{
	static const struct baton_pool_options most[] = {
		{.workers = BATON_POOL_WORKERS_MAX},
		{.workers = 1, .spares_max = BATON_POOL_SPARES_MAX},
		{.workers = 1, .spares_max = BATON_POOL_NO_SPARES},
	};
	struct baton_pool *pool = NULL;

	atomic_store(&creations_left, 0);
	for (size_t i = 0; i < sizeof(most) / sizeof(most[0]); i++)
		cr_assert_eq(baton_pool_create(&most[i], &pool), -EAGAIN, "%zu", i);
	cr_assert_null(pool);
	/* A fork loses no thread of a pool that does not exist. */
	cr_assert_eq(attached_in_child(), 0);
}

Test(pool_options, has_one_default_for_the_process, .timeout = 10)
{
	struct baton_pool *pool = NULL;
	struct baton_pool *again = NULL;

	atomic_store(&creations_left, 0);
	cr_assert_eq(baton_pool_default(&pool), -EAGAIN);
	atomic_store(&creations_left, -1);
	cr_assert_eq(baton_pool_default(&pool), 0); /* it is tried again */
	cr_assert_eq(baton_pool_default(&again), 0);
	cr_assert_eq(pool, again);
	cr_assert_geq(baton_pool_workers(pool), 1);
}

static void work_note_stack(struct baton_plain_job *job)
{
	struct work *work = work_of(job);
	pthread_attr_t attributes;
	size_t size;

	MUST(pthread_getattr_np(pthread_self(), &attributes) == 0);
	MUST(pthread_attr_getstacksize(&attributes, &size) == 0);
	MUST(pthread_attr_destroy(&attributes) == 0);
	work->result = (int)(size / 1024);
	work_finish(work);
}

Test(pool_options, its_stacks_are_the_systems_unless_asked_for, .timeout = 10)
{
	struct baton_pool_options options = {.workers = 1};
	pthread_attr_t attributes;
	size_t size;

	cr_assert_eq(pthread_getattr_default_np(&attributes), 0);
	cr_assert_eq(pthread_attr_getstacksize(&attributes, &size), 0);
	cr_assert_eq(pthread_attr_destroy(&attributes), 0);
	cr_assert_geq(run_once(&options, work_note_stack).result, (int)(size / 1024));
	options.stack_size = 256 * 1024;
	cr_assert(BATON_TEST_SANITIZED || run_once(&options, work_note_stack).result <= 512);
}

Test(pool_options, a_stack_is_rounded_up_to_whole_pages, .timeout = 10)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	const struct {
		size_t more;
		size_t pages;
	} rows[] = {{1, 1}, {page - 1, 1}, {page, 1}, {page + 1, 2}};
	struct baton_pool_options options = {.workers = 1, .stack_size = 256 * 1024};
	int result;
	int least = run_once(&options, work_note_stack).result;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		options.stack_size = 256 * 1024 + rows[i].more;
		result = run_once(&options, work_note_stack).result;
		cr_assert(BATON_TEST_SANITIZED ||
		                  result == least + (int)(rows[i].pages * page / 1024),
		          "%zu more", rows[i].more);
	}
}

static void work_block(struct baton_plain_job *job)
{
	struct work *work = work_of(job);

	baton_blocking_begin();
	gate_open(work->entered);
	gate_pass(work->leave);
	baton_blocking_end();
	work_finish(work);
}

static void work_let_go(struct baton_plain_job *job)
{
	gate_open(work_of(job)->leave);
	work_finish(work_of(job));
}

/* Or it would be taken to be on its way for ever, and no other would be called. */
Test(pool_options, a_spare_that_could_not_be_created_is_tried_again, .timeout = 20)
{
	struct baton_pool_options options = {.workers = 1};
	struct baton_pool_stats stats;
	struct baton_pool *pool;
	struct work works[3];
	atomic_int done = 0;
	sem_t entered;
	sem_t leave[2];

	cr_assert_eq(baton_pool_create(&options, &pool), 0);
	gate_init(&entered);
	for (int i = 0; i < 3; i++) {
		work_init(&works[i], i < 2 ? work_block : work_let_go, pool, &done);
		works[i].entered = &entered;
		works[i].leave = &leave[i > 0];
	}
	gate_init(&leave[0]);
	gate_init(&leave[1]);
	atomic_store(&creations_left, 0);
	cr_assert_eq(baton_pool_submit(pool, &works[0].job), 0);
	gate_pass(&entered);
	cr_assert_eq(baton_pool_submit(pool, &works[1].job), 0);
	do
		baton_pool_stats_read(pool, &stats);
	while (!stats.spares_failed);
	atomic_store(&creations_left, -1);
	gate_open(&leave[0]);
	gate_pass(&entered);
	cr_assert_eq(baton_pool_submit(pool, &works[2].job), 0);
	until_at_least(&done, 3);
	cr_assert_eq(baton_pool_destroy(pool), 0);
}

static int never(struct baton_io *io)
{
	MUST(!io);
	return 0;
}

/* A fork's child has lost no thread where none could be created. */
Test(pool_options, no_thread_that_could_not_be_created_is_missed, .timeout = 10)
{
	struct baton_watchdog_options options = {0};
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
	struct baton_io io = BATON_IO_INIT(&resource, never);
	struct baton_watchdog *watchdog;
	struct baton_timers *timers;

	cr_assert_eq(baton_board_create(NULL, &options.board), 0);
	atomic_store(&creations_left, 0);
	cr_assert_eq(baton_io_start(&io, 0, BATON_IO_READ), -EAGAIN);
	cr_assert_eq(baton_watchdog_create(&options, &watchdog), -EAGAIN);
	cr_assert_eq(baton_timers_create(NULL, &timers), -EAGAIN);
	cr_assert_eq(attached_in_child(), 0);
	atomic_store(&creations_left, -1);
	baton_board_destroy(options.board);
}
