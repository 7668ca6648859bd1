/* SPDX-License-Identifier: MIT */
/*
 * W22: holds. One resource: hold and release beside a mutex, a call, and one hold among ten calls.
 * Two accounts of 2, 100 and 10,000: baton_hold_many beside two mutexes in the order of their
 * addresses, and nested calls.
 */
#include "harness.h"
#include "machine.h"
#include "team.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <baton.h>
#include <baton/hold.h>

#define WINDOW_MS 100
#define ACCOUNTS_MAX 10000
#define CALLS 10 /* for each hold, in the mix */

struct account {
	struct baton_resource resource;
	pthread_mutex_t mutex;
	int64_t balance;
} __attribute__((aligned(128)));

static struct account accounts[ACCOUNTS_MAX];
static uint32_t account_count;

static inline void note(struct team_member *member, uint64_t *last)
{
	uint64_t now = machine_ticks();

	histogram_add(member->latency, now - *last);
	*last = now;
	team_count(member, 1);
}

static void must(int status)
{
	if (status)
		abort();
}

/* ---- One resource ---- */

static void lock_one(void)
{
	(void)pthread_mutex_lock(&accounts[0].mutex);
	accounts[0].balance++;
	(void)pthread_mutex_unlock(&accounts[0].mutex);
}

static void hold_one(void)
{
	struct baton_hold hold = BATON_HOLD_INIT;

	must(baton_hold(&accounts[0].resource, &hold));
	accounts[0].balance++;
	must(baton_release(&hold));
}

static void *add_one(void *arg)
{
	((struct account *)arg)->balance++;
	return NULL;
}

static void call_one(void)
{
	must(baton_call(&accounts[0].resource, add_one, &accounts[0], NULL));
}

#define ONE_BODY(name, step)                                                                       \
	static void name(struct team_member *member)                                               \
	{                                                                                          \
		uint64_t last = machine_ticks();                                                   \
		unsigned turn = member->index;                                                     \
                                                                                                   \
		while (!team_stopped(member)) {                                                    \
			turn++;                                                                    \
			step;                                                                      \
			note(member, &last);                                                       \
		}                                                                                  \
	}

ONE_BODY(locks_one, lock_one())
ONE_BODY(holds_one, hold_one())
ONE_BODY(calls_one, call_one())
ONE_BODY(mixes_one, turn % (CALLS + 1) ? call_one() : hold_one())

/* ---- Two accounts ---- */

static void draw(uint64_t *random, struct account **from, struct account **to)
{
	uint32_t first;

	*random ^= *random << 13;
	*random ^= *random >> 7;
	*random ^= *random << 17;
	first = (uint32_t)(*random >> 32) % account_count;
	*from = &accounts[first];
	*to = &accounts[(first + 1 + (uint32_t)*random % (account_count - 1)) % account_count];
}

static void lock_two(struct account *from, struct account *to)
{
	struct account *low = from < to ? from : to;
	struct account *high = from < to ? to : from;

	(void)pthread_mutex_lock(&low->mutex);
	(void)pthread_mutex_lock(&high->mutex);
	from->balance--;
	to->balance++;
	(void)pthread_mutex_unlock(&high->mutex);
	(void)pthread_mutex_unlock(&low->mutex);
}

static void hold_two(struct account *from, struct account *to)
{
	struct baton_resource *const both[] = {&from->resource, &to->resource};
	struct baton_hold holds[2] = {BATON_HOLD_INIT, BATON_HOLD_INIT};

	must(baton_hold_many(both, 2, holds));
	from->balance--;
	to->balance++;
	must(baton_release(&holds[0]));
	must(baton_release(&holds[1]));
}

struct transfer {
	struct account *from, *to, *high;
};

static void *inner(void *arg)
{
	struct transfer *transfer = arg;

	transfer->from->balance--;
	transfer->to->balance++;
	return NULL;
}

static void *outer(void *arg)
{
	struct transfer *transfer = arg;

	must(baton_call(&transfer->high->resource, inner, transfer, NULL));
	return NULL;
}

static void call_two(struct account *from, struct account *to)
{
	struct transfer transfer = {from, to, from < to ? to : from};

	must(baton_call(&(from < to ? from : to)->resource, outer, &transfer, NULL));
}

#define TWO_BODY(name, step)                                                                       \
	static void name(struct team_member *member)                                               \
	{                                                                                          \
		uint64_t last = machine_ticks();                                                   \
		uint64_t random = 88172645463325252U + member->index * 1000003U;                   \
                                                                                                   \
		while (!team_stopped(member)) {                                                    \
			struct account *from, *to;                                                 \
                                                                                                   \
			draw(&random, &from, &to);                                                 \
			step(from, to);                                                            \
			note(member, &last);                                                       \
		}                                                                                  \
	}

TWO_BODY(locks_two, lock_two)
TWO_BODY(holds_two, hold_two)
TWO_BODY(calls_two, call_two)

/* ---- The tables ---- */

struct setup {
	unsigned threads;
	uint32_t accounts;
	team_body body;
};

static void run(const void *argument, double *values)
{
	const struct setup *setup = argument;
	struct team_result result;
	int64_t sum = 0;

	account_count = setup->accounts;
	for (uint32_t i = 0; i < account_count; i++) {
		baton_resource_init(&accounts[i].resource, NULL);
		(void)pthread_mutex_init(&accounts[i].mutex, NULL);
		accounts[i].balance = 0;
	}
	result = team_run(setup->threads, setup->body, NULL,
	                  bench_sample_ms(setup->threads > 4 ? 3 * WINDOW_MS : WINDOW_MS), true);
	for (uint32_t i = 0; i < account_count; i++) {
		must(baton_resource_close(&accounts[i].resource));
		must(baton_resource_await(&accounts[i].resource));
		sum += accounts[i].balance;
	}
	if (sum != (account_count == 1 ? (int64_t)result.done : 0))
		abort();
	values[0] = result.per_second / 1e6;
	values[1] = result.fairness;
	values[2] = result.p50_ns / 1e3;
	values[3] = result.p999_ns / 1e3;
	values[4] = result.max_ns / 1e6;
	values[5] = result.cpu_ns;
}

static void run_group(unsigned threads, uint32_t count)
{
	static const char *const metrics[] = {"M/s",     "slowest/fastest", "p50, us", "p99.9, us",
	                                      "max, ms", "CPU ns",          NULL};
	const struct setup setups[] = {{threads, count, count == 1 ? locks_one : locks_two},
	                               {threads, count, count == 1 ? holds_one : holds_two},
	                               {threads, count, count == 1 ? calls_one : calls_two},
	                               {threads, count, mixes_one}};
	const struct bench_case cases[] = {
		{count == 1 ? "pthread_mutex" : "two pthread_mutexes in order", run, &setups[0]},
		{count == 1 ? "baton hold" : "baton hold_many", run, &setups[1]},
		{count == 1 ? "baton call" : "nested baton calls", run, &setups[2]},
		{"one hold among ten calls", run, &setups[3]},
	};
	char name[96];
	const struct bench_group group = {
		.name = name,
		.metrics = metrics,
		.cases = cases,
		.case_count = count == 1 ? 4 : 3,
	};

	if (count == 1)
		(void)snprintf(name, sizeof(name), "W22: holds of one resource, %u threads",
		               threads);
	else
		(void)snprintf(name, sizeof(name), "W22: two accounts of %u, %u threads", count,
		               threads);
	bench_group(&group);
}

void bench_w22_holds(void)
{
	static const unsigned threads[] = {1, 2, 4, 16, 64};

	for (unsigned i = 0; i < sizeof(threads) / sizeof(threads[0]); i++)
		run_group(threads[i], 1);
	for (uint32_t count = 2; count <= ACCOUNTS_MAX; count = count == 2 ? 100 : count * 100)
		for (unsigned many = 2; many <= 16; many *= 8)
			run_group(many, count);
}
