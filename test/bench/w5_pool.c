/* SPDX-License-Identifier: MIT */
/* W5: the pools that are measured, and the CPUs on which submitter and workers run. */
#include "w5_pool.h"

#include "baton_pool.h"
#include "machine.h"
#include "team.h"

#include <dirent.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

static struct baton_pool *baton_pool;
static struct queue_pool *queue_pool;

size_t w5_pools(struct w5_pool pools[W5_POOLS_MAX])
{
	size_t count = 2;

	pools[0] = (struct w5_pool){.kind = W5_QUEUE, .name = "mutex, condition, list"};
	pools[1] = (struct w5_pool){.kind = W5_BATON, .name = "baton pool"};
	for (size_t i = 0; peers[i] && count < W5_POOLS_MAX; i++) {
		if (!peers[i]->present || !peers[i]->job_submit)
			continue;
		pools[count] = (struct w5_pool){.kind = W5_PEER, .peer = peers[i]};
		pool_name(pools[count].name, sizeof(pools[count].name), peers[i]);
		count++;
	}
	return count;
}

unsigned w5_workers(enum w5_place place)
{
	if (place == W5_SHARED)
		return 1;
	return place == W5_APART && team_cpus() > 1 ? team_cpus() - 1 : team_cpus();
}

void w5_start(const struct w5_pool *pool, enum w5_place place)
{
	unsigned workers = w5_workers(place);

	if (pool->kind == W5_QUEUE)
		queue_pool = queue_pool_create(workers, place != W5_FREE);
	else if (pool->kind == W5_BATON)
		baton_pool = bench_pool_create(workers, place != W5_FREE);
	else
		pool->peer->start(workers);
}

void w5_stop(const struct w5_pool *pool)
{
	if (pool->kind == W5_QUEUE)
		queue_pool_destroy(queue_pool);
	else if (pool->kind == W5_BATON)
		BATON_IGNORE(baton_pool_destroy(baton_pool));
	else
		pool->peer->stop();
}

/* Peers pin their workers themselves. */
static void unpin_all(void)
{
	DIR *tasks = opendir("/proc/self/task");
	cpu_set_t usable;
	struct dirent *entry;

	team_unpin();
	if (!tasks || sched_getaffinity(0, sizeof(usable), &usable))
		abort();
	while ((entry = readdir(tasks))) {
		long id = strtol(entry->d_name, NULL, 10);

		if (id > 0)
			(void)sched_setaffinity((pid_t)id, sizeof(usable), &usable);
	}
	(void)closedir(tasks);
}

void w5_take_place(enum w5_place place)
{
	if (place == W5_FREE)
		unpin_all();
	else
		team_pin(place == W5_SHARED ? 0 : team_cpus() - 1);
}

void w5_leave_place(void)
{
	team_unpin();
}

static void plain_run(struct baton_plain_job *plain)
{
	struct w5_job *job = baton_container_of(plain, struct w5_job, plain);

	job->run(job);
}

static void queued_run(struct queue_job *queued)
{
	struct w5_job *job = baton_container_of(queued, struct w5_job, queued);

	job->run(job);
}

static void peer_run(void *argument)
{
	struct w5_job *job = argument;

	job->run(job);
}

void w5_submit(const struct w5_pool *pool, struct w5_job *job)
{
	if (pool->kind == W5_QUEUE) {
		job->queued.run = queued_run;
		queue_pool_submit(queue_pool, &job->queued);
	} else if (pool->kind == W5_BATON) {
		baton_plain_job_init(&job->plain, plain_run, NULL);
		if (baton_pool_submit(baton_pool, &job->plain))
			abort();
	} else {
		pool->peer->job_submit(peer_run, job);
	}
}

void w5_probe_run(struct w5_job *job)
{
	struct w5_probe *probe = baton_container_of(job, struct w5_probe, job);

	__atomic_store_n(&probe->started, machine_ticks(), __ATOMIC_RELEASE);
}
