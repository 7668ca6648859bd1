/* SPDX-License-Identifier: MIT */
/*
 * Exclusion and order under threads (L1, L2, L3): a history checker. Every submit carries its
 * submitter and a number that counts up per submitter and resource; a resource's tasks check both
 * with plain variables that only its baton guards, so an overlap, a loss, a double, a wrong order
 * or a missing happens-before shows. And that nothing stuck delays others (L4, L6).
 */
#include "support.h"

enum { RESOURCES = 5, THREADS_MAX = 16, SUBMITTERS = THREADS_MAX + RESOURCES };

struct ledger {
	struct baton_resource resource;
	struct baton_resource_stats stats;
	struct ledger *next;
	int index;
	/* Guarded by the baton alone: */
	volatile int inside;
	unsigned overlaps;
	unsigned disorders;
	unsigned refused;
	uint64_t ran;
	uint32_t last[SUBMITTERS];
	uint32_t passed_on;
};

struct entry {
	struct baton_task task;
	struct baton_future future;
	struct ledger *ledger;
	int submitter;
	uint32_t number;
};

static struct entry *entry_create(struct ledger *ledger, int submitter, uint32_t number);
static void *entry_call_and_free(void *arg);

/* What every task does. Some take long, some pass an entry on to the next resource. */
static void entry_check(const struct entry *entry)
{
	struct ledger *ledger = entry->ledger;

	ledger->overlaps += ledger->inside != 0;
	ledger->inside = 1;
	ledger->disorders += entry->number != ledger->last[entry->submitter] + 1;
	ledger->last[entry->submitter] = entry->number;
	ledger->ran++;
	if (entry->number % 61 == 0)
		sched_yield();
	if (entry->submitter < THREADS_MAX && entry->number % 7 == 0)
		ledger->refused +=
			baton_post(&ledger->next->resource, entry_call_and_free,
		                   entry_create(ledger->next, THREADS_MAX + ledger->index,
		                                ++ledger->passed_on)) != 0;
	ledger->overlaps += ledger->inside != 1;
	ledger->inside = 0;
}

static int entry_run(struct baton_task *task)
{
	entry_check(baton_container_of(task, struct entry, task));
	return 0;
}

static int entry_run_and_free(struct baton_task *task)
{
	struct entry *entry = baton_container_of(task, struct entry, task);

	entry_check(entry);
	free(entry);
	return 0;
}

static void *entry_call(void *arg)
{
	entry_check(arg);
	return arg;
}

static void *entry_call_and_free(void *arg)
{
	entry_check(arg);
	free(arg);
	return NULL;
}

static struct entry *entry_create(struct ledger *ledger, int submitter, uint32_t number)
{
	struct entry *entry = malloc(sizeof(*entry));

	MUST(entry);
	baton_task_init(&entry->task, entry_run_and_free, NULL);
	baton_future_init(&entry->future);
	entry->ledger = ledger;
	entry->submitter = submitter;
	entry->number = number;
	return entry;
}

struct submitter {
	struct ledger *ledgers;
	int index;
	int operations;
	uint64_t rng;
	unsigned errors;
	uint32_t issued[RESOURCES];
	pthread_t thread;
};

static struct entry *issue(struct submitter *submitter, struct ledger *ledger)
{
	return entry_create(ledger, submitter->index, ++submitter->issued[ledger->index]);
}

static void batch(struct submitter *submitter, struct ledger *ledger)
{
	struct baton_task *tasks[6];
	size_t count = 1 + rng_below(&submitter->rng, 6);

	for (size_t i = 0; i < count; i++)
		tasks[i] = &issue(submitter, ledger)->task;
	submitter->errors += baton_submit_batch(&ledger->resource, tasks, count) != 0;
}

static void call(struct submitter *submitter, struct ledger *ledger, bool may_wait)
{
	struct entry *entry = issue(submitter, ledger);
	void *value = NULL;
	int error = may_wait ? baton_call(&ledger->resource, entry_call, entry, &value)
	                     : baton_try_call(&ledger->resource, entry_call, entry, &value);

	if (error == -EAGAIN && !may_wait)
		submitter->issued[ledger->index]--;
	else
		submitter->errors += error != 0 || value != entry;
	free(entry);
}

static void async(struct submitter *submitter, struct ledger *ledger)
{
	struct baton_future *future = NULL;

	submitter->errors += baton_async(&ledger->resource, entry_call_and_free,
	                                 issue(submitter, ledger), &future) != 0;
	if (rng_below(&submitter->rng, 2)) {
		submitter->errors += baton_future_wait(future) != 0;
		submitter->errors += baton_future_state(future) != BATON_DONE;
	}
	baton_future_unref(future);
}

static void with_future(struct submitter *submitter, struct ledger *ledger)
{
	struct entry *entry = issue(submitter, ledger);

	baton_task_init(&entry->task, entry_run, &entry->future);
	submitter->errors += baton_submit(&ledger->resource, &entry->task) != 0;
	submitter->errors += baton_future_wait(&entry->future) != 0;
	submitter->errors += baton_future_status(&entry->future) != 0;
	free(entry);
}

static void *submitter_main(void *arg)
{
	struct submitter *submitter = arg;

	for (int i = 0; i < submitter->operations; i++) {
		struct ledger *ledger = &submitter->ledgers[rng_below(&submitter->rng, RESOURCES)];
		struct baton_resource *resource = &ledger->resource;

		switch (rng_below(&submitter->rng, 10)) {
		case 0:
			submitter->errors +=
				baton_submit_later(resource, &issue(submitter, ledger)->task) != 0;
			break;
		case 1:
			batch(submitter, ledger);
			break;
		case 2:
			submitter->errors += baton_post(resource, entry_call_and_free,
			                                issue(submitter, ledger)) != 0;
			break;
		case 3:
		case 4:
			call(submitter, ledger, rng_below(&submitter->rng, 2) == 0);
			break;
		case 5:
			async(submitter, ledger);
			break;
		case 6:
			with_future(submitter, ledger);
			break;
		default:
			submitter->errors +=
				baton_submit(resource, &issue(submitter, ledger)->task) != 0;
		}
	}
	return NULL;
}

/* One resource of each temper: default, hands off always, never inline, greedy, by the clock. */
static void ledgers_init(struct ledger *ledgers, struct baton_resource_config *configs,
                         struct baton_pool *pool)
{
	for (int i = 0; i < RESOURCES; i++) {
		configs[i] = (struct baton_resource_config)BATON_RESOURCE_CONFIG_INIT;
		configs[i].executor = baton_pool_executor(pool);
	}
	configs[1].capture_max = 1;
	configs[2].capture_max = BATON_CAPTURE_NONE;
	configs[3].capture_max = 1000000;
	configs[3].quantum = 1;
	configs[4].capture_ns = 1000;
	configs[4].quantum_ns = 1000;
	memset(ledgers, 0, RESOURCES * sizeof(*ledgers));
	for (int i = 0; i < RESOURCES; i++) {
		ledgers[i].index = i;
		ledgers[i].next = &ledgers[(i + 1) % RESOURCES];
		baton_resource_init(&ledgers[i].resource, &configs[i]);
		baton_resource_set_stats(&ledgers[i].resource, &ledgers[i].stats);
	}
}

static void history(int threads, size_t workers)
{
	struct baton_pool *pool = pool_of(workers);
	struct baton_resource_config configs[RESOURCES];
	struct ledger ledgers[RESOURCES];
	struct submitter submitters[THREADS_MAX] = {0};
	uint64_t seed = test_seed();

	ledgers_init(ledgers, configs, pool);
	for (int i = 0; i < threads; i++) {
		submitters[i].ledgers = ledgers;
		submitters[i].index = i;
		submitters[i].operations = scaled(200000) / threads;
		submitters[i].rng = rng_fork(seed, (uint64_t)i);
		submitters[i].thread = thread_start(submitter_main, &submitters[i]);
	}
	for (int i = 0; i < threads; i++) {
		thread_join(submitters[i].thread);
		cr_assert_eq(submitters[i].errors, 0);
	}
	for (int i = 0; i < RESOURCES; i++) /* what is passed on is passed on once */
		cr_assert_eq(baton_resource_await(&ledgers[i].resource), 0);
	for (int i = 0; i < RESOURCES; i++)
		resource_end(&ledgers[i].resource);
	cr_assert_eq(baton_pool_destroy(pool), 0);
	for (int i = 0; i < RESOURCES; i++) {
		struct ledger *ledger = &ledgers[i];
		uint64_t expected = ledgers[(i + RESOURCES - 1) % RESOURCES].passed_on;

		for (int j = 0; j < threads; j++) {
			cr_assert_eq(ledger->last[j], submitters[j].issued[i]);
			expected += submitters[j].issued[i];
		}
		cr_assert_eq(ledger->overlaps, 0);
		cr_assert_eq(ledger->disorders, 0);
		cr_assert_eq(ledger->refused, 0);
		cr_assert_eq(ledger->ran, expected);
		cr_assert_eq(resource_counts(&ledger->stats).executed, expected);
		cr_assert_eq(resource_counts(&ledger->stats).outstanding, 0);
	}
}

Test(laws, two_threads_history_is_serial_and_in_order, .timeout = 20)
{
	history(2, 1);
}

Test(laws, four_threads_history_is_serial_and_in_order, .timeout = 20)
{
	history(4, 2);
}

Test(laws, sixteen_threads_history_is_serial_and_in_order, .timeout = 20)
{
	history(16, 4);
}

Test(laws, a_stuck_runner_delays_no_submit_to_its_resource, .timeout = 10)
{
	struct baton_pool *pool = pool_of(1);
	struct baton_resource_config configs[RESOURCES];
	struct ledger ledgers[RESOURCES];
	struct submitter submitter = {.ledgers = ledgers, .rng = 1};
	struct baton_future *future = NULL;
	struct occupant occupant;

	ledgers_init(ledgers, configs, pool);
	occupy(&occupant, &ledgers[0].resource);
	for (int i = 0; i < 100; i++) {
		struct baton_resource *resource = &ledgers[0].resource;

		cr_assert_eq(baton_submit(resource, &issue(&submitter, ledgers)->task), 0);
		cr_assert_eq(baton_submit_later(resource, &issue(&submitter, ledgers)->task), 0);
		cr_assert_eq(baton_post(resource, entry_call_and_free, issue(&submitter, ledgers)),
		             0);
		cr_assert_eq(baton_async(resource, entry_call_and_free, issue(&submitter, ledgers),
		                         &future),
		             0);
		baton_future_unref(future);
		batch(&submitter, ledgers);
	}
	cr_assert_eq(ledgers[0].ran, 0);
	release(&occupant);
	for (int i = 0; i < RESOURCES; i++)
		cr_assert_eq(baton_resource_await(&ledgers[i].resource), 0);
	for (int i = 0; i < RESOURCES; i++)
		resource_end(&ledgers[i].resource);
	cr_assert_eq(submitter.errors + ledgers[0].disorders, 0);
	cr_assert_eq(ledgers[0].last[0], submitter.issued[0]);
	cr_assert_eq(baton_pool_destroy(pool), 0);
}

static sem_t others_gate;

static int opens_the_gate(struct baton_task *task)
{
	gate_open(&others_gate);
	return 0;
}

Test(laws, a_stuck_runner_delays_no_other_resource, .timeout = 10)
{
	struct baton_pool *pool = pool_of(2);
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_resource stuck, others[50];
	struct occupant occupant;

	gate_init(&others_gate);
	config.executor = baton_pool_executor(pool);
	baton_resource_init(&stuck, &config);
	occupy_later(&occupant, &stuck); /* on one of the two workers */
	for (int i = 0; i < 50; i++) {
		struct baton_task tasks[2] = {BATON_TASK_INIT(opens_the_gate, NULL),
		                              BATON_TASK_INIT(opens_the_gate, NULL)};

		baton_resource_init(&others[i], &config);
		cr_assert_eq(baton_submit_later(&others[i], &tasks[0]), 0);
		gate_pass(&others_gate); /* it ran on the other one */
		cr_assert_eq(baton_submit(&others[i], &tasks[1]), 0);
		gate_pass(&others_gate);
		resource_end(&others[i]);
	}
	gate_open(&occupant.leave);
	resource_end(&stuck);
	cr_assert_eq(baton_pool_destroy(pool), 0);
}
