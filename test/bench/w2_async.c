/* SPDX-License-Identifier: MIT */
/*
 * W2, asynchronous: threads that all submit to one resource and do not wait for each task, but have
 * at most HOT_RING of them under way.
 */
#include "harness.h"
#include "hot.h"
#include "peers/peer.h"
#include "team.h"

#define CASES_MAX 32

static void add(struct bench_group *group, struct bench_case *cases, const char *contender,
                void (*run)(const void *, double *), const void *setup)
{
	cases[group->case_count++] = (struct bench_case){contender, run, setup};
}

static void add_peers(struct bench_group *group, struct bench_case *cases,
                      const struct hot_async *load, struct hot_peer *setups)
{
	for (size_t i = 0; peers[i] && group->case_count < CASES_MAX; i++) {
		setups[i] = (struct hot_peer){*load, peers[i]};
		if (peers[i]->present)
			add(group, cases, peers[i]->name, hot_peer_run, &setups[i]);
	}
}

static void run_group(unsigned threads, unsigned body_ns)
{
	const struct hot_async single = {threads, 1, body_ns, 0};
	const struct hot_async patient = {threads, 1, body_ns, 1000};
	const struct hot_async batch = {threads, 16, body_ns, 0};
	const struct hot_async patient_batch = {threads, 16, body_ns, 1000};
	const struct hot_lock mutex = {single, HOT_MUTEX};
	const struct hot_lock mutex_batch = {batch, HOT_MUTEX_BATCH};
	const struct hot_lock ticket = {single, HOT_TICKET};
	const struct hot_lock mcs = {single, HOT_MCS};
	const struct hot_lock cc = {single, HOT_CC_SYNCH};
	const struct hot_lock flat = {single, HOT_FLAT};
	const struct hot_lock oyama = {single, HOT_OYAMA};
	struct hot_peer setups[CASES_MAX];
	struct bench_case cases[CASES_MAX];
	char name[96];
	struct bench_group group = {
		.name = name,
		.metrics = hot_metrics,
		.cases = cases,
		.note = "times: of each 64th task, from its submit to the end of its body; CPU and "
			"switches: the whole process's; pool wakes: baton's workers",
	};

	(void)snprintf(name, sizeof(name), "W2: asynchronous, one resource, %u threads, %s body",
	               threads, body_ns ? "200 ns" : "empty");
	add(&group, cases, "pthread_mutex", hot_lock_run, &mutex);
	add(&group, cases, "baton submit, waits on a future", hot_future_run, &single);
	add(&group, cases, "baton submit, polls a counter", hot_polling_run, &single);
	add(&group, cases, "baton post, waits on a future", hot_post_run, &single);
	add(&group, cases, "baton post, polls a counter", hot_polling_post_run, &single);
	add(&group, cases, "baton async and unref, waits on a future", hot_unref_run, &single);
	add(&group, cases, "baton async and unref, polls a counter", hot_polling_unref_run,
	    &single);
	add(&group, cases, "baton submit, limit 1000, waits on a future", hot_future_run, &patient);
	add(&group, cases, "baton submit, limit 1000, polls a counter", hot_polling_run, &patient);
	add(&group, cases, "baton post, limit 1000, waits on a future", hot_post_run, &patient);
	add(&group, cases, "baton async and unref, limit 1000, waits on a future", hot_unref_run,
	    &patient);
	add(&group, cases, "baton batch of 16, waits on a future", hot_future_run, &batch);
	add(&group, cases, "baton batch of 16, polls a counter", hot_polling_run, &batch);
	add(&group, cases, "baton batch of 16, limit 1000, waits on a future", hot_future_run,
	    &patient_batch);
	add(&group, cases, "baton batch of 16, limit 1000, polls a counter", hot_polling_run,
	    &patient_batch);
	add(&group, cases, "two CASes alone, batch of 16", hot_two_cases_run, &batch);
	add(&group, cases, "pthread_mutex, held for 16", hot_lock_run, &mutex_batch);
	add(&group, cases, "CC-Synch", hot_lock_run, &cc);
	add(&group, cases, "flat combining", hot_lock_run, &flat);
	add(&group, cases, "Oyama's lock", hot_lock_run, &oyama);
	/* Queue locks stand still when their next holder has no CPU. */
	if (threads <= team_cpus()) {
		add(&group, cases, "CK ticket lock", hot_lock_run, &ticket);
		add(&group, cases, "CK MCS lock", hot_lock_run, &mcs);
	}
	add_peers(&group, cases, &single, setups);
	bench_group(&group);
}

void bench_w2_async(void)
{
	static const unsigned threads[] = {2, 4, 16, 64};

	for (unsigned body_ns = 0; body_ns <= 200; body_ns += 200)
		for (unsigned i = 0; i < sizeof(threads) / sizeof(threads[0]); i++)
			run_group(threads[i], body_ns);
}
