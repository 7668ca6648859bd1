/* SPDX-License-Identifier: MIT */
/*
 * A run whose trace must tell what has happened: history TRACE HISTORY. Three threads submit tasks
 * to three resources, a pool's workers continue where these are handed off, and a thread waits for
 * a promise. The tasks note who ran them and when. Writes the trace, and beside it the history, as
 * lines:
 *
 *	run RESOURCE THREAD BEGIN_NS END_NS	in the order in which they ran
 *	counts RESOURCE SUBMITTED CAPTURES HANDOFFS
 *	pool STEALS WOKEN
 *	wait THREAD
 */
#include <baton/all.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define RESOURCES 3U
#define THREADS 3U
#define TASKS 600U /* of each thread: all events of a thread fit into its ring */

static struct topic {
	struct baton_resource resource;
	struct baton_resource_stats *stats;
	char name[16];
	unsigned runs; /* touched by the resource's tasks alone */
	struct run {
		long thread;
		unsigned long long begin_ns, end_ns;
	} run[THREADS * TASKS];
} topics[RESOURCES];

static struct message {
	struct baton_task task;
	struct topic *topic;
} messages[THREADS][TASKS];

static struct baton_future promise;
static pthread_barrier_t together;
static long waiter;

static unsigned long long now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (unsigned long long)now.tv_sec * 1000000000 + (unsigned long long)now.tv_nsec;
}

static void must(int status)
{
	if (status)
		exit(1);
}

static int message_run(struct baton_task *task)
{
	struct topic *topic = baton_container_of(task, struct message, task)->topic;
	struct run *run = &topic->run[topic->runs++];

	run->thread = gettid();
	run->begin_ns = now_ns();
	/* Long enough to be in the trace, and now and then for the others to queue. */
	while (now_ns() < run->begin_ns + (topic->runs % 16 ? 1500 : 50000))
		continue;
	run->end_ns = now_ns();
	return 0;
}

static void *publish(void *arg)
{
	struct message *mine = arg;

	(void)pthread_barrier_wait(&together);
	for (unsigned i = 0; i < TASKS; i++) {
		mine[i].topic = &topics[i % RESOURCES];
		baton_task_init(&mine[i].task, message_run, NULL);
		must(baton_submit(&mine[i].topic->resource, &mine[i].task));
	}
	return NULL;
}

static void *wait(void *arg)
{
	waiter = gettid();
	(void)pthread_barrier_wait(&together);
	must(baton_future_wait(&promise));
	return arg;
}

static void print_history(const char *path, const struct baton_pool *pool)
{
	FILE *out = fopen(path, "w");
	struct baton_pool_stats pool_stats;

	if (!out)
		exit(1);
	for (unsigned i = 0; i < RESOURCES; i++) {
		const struct topic *topic = &topics[i];
		struct baton_resource_stats stats;

		for (unsigned r = 0; r < topic->runs; r++)
			(void)fprintf(out, "run %s %ld %llu %llu\n", topic->name,
			              topic->run[r].thread, topic->run[r].begin_ns,
			              topic->run[r].end_ns);
		baton_resource_stats_read(topic->stats, &stats);
		(void)fprintf(out, "counts %s %llu %llu %llu\n", topic->name,
		              (unsigned long long)stats.submitted,
		              (unsigned long long)stats.captures,
		              (unsigned long long)stats.handoffs);
	}
	baton_pool_stats_read(pool, &pool_stats);
	(void)fprintf(out, "pool %llu %llu\nwait %ld\n", (unsigned long long)pool_stats.steals,
	              (unsigned long long)pool_stats.woken, waiter);
	must(fclose(out));
}

int main(int argc, char **argv)
{
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	const struct baton_pool_options options = {.workers = 2, .name = "worker"};
	struct baton_board *board;
	struct baton_pool *pool;
	pthread_t threads[THREADS + 1];

	if (argc != 3)
		return 2;
	must(baton_board_create(NULL, &board));
	/* The pool starts inside the trace: each of its steals and parks is in there. */
	must(baton_board_trace_start(board));
	must(baton_pool_create(&options, &pool));
	config.executor = baton_pool_executor(pool);
	for (unsigned i = 0; i < RESOURCES; i++) {
		struct topic *topic = &topics[i];

		(void)snprintf(topic->name, sizeof(topic->name), "topic/%u", i);
		baton_resource_init(&topic->resource, &config);
		must(baton_board_join(board, &topic->resource, topic->name, &topic->stats));
	}
	baton_promise_init(&promise);
	must(pthread_barrier_init(&together, NULL, THREADS + 1));
	for (unsigned i = 0; i < THREADS; i++)
		must(pthread_create(&threads[i], NULL, publish, messages[i]));
	must(pthread_create(&threads[THREADS], NULL, wait, NULL));
	for (unsigned i = 0; i < THREADS; i++)
		must(pthread_join(threads[i], NULL));
	for (unsigned i = 0; i < RESOURCES; i++) {
		must(baton_resource_close(&topics[i].resource));
		must(baton_resource_await(&topics[i].resource));
	}
	/* The waiter sleeps by now, or has not come there: then its wait is not in the trace. */
	for (;;) {
		char text[4096] = "";
		int pipes[2];

		must(pipe(pipes));
		must(baton_board_dump(board, pipes[1]));
		must(read(pipes[0], text, sizeof(text) - 1) <= 0);
		must(close(pipes[0]) || close(pipes[1]));
		if (strstr(text, "promise"))
			break;
	}
	must(baton_future_complete(&promise, 0, NULL));
	must(pthread_join(threads[THREADS], NULL));
	print_history(argv[2], pool);
	must(baton_board_trace_stop(board, argv[1]));
	must(baton_pool_destroy(pool));
	for (unsigned i = 0; i < RESOURCES; i++)
		baton_board_leave(board, &topics[i].resource);
	baton_board_destroy(board);
	return 0;
}
