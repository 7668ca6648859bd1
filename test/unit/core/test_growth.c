/* SPDX-License-Identifier: MIT */
/*
 * A program that was compiled against the headers of version 0.3.0 goes on with this library: its
 * structs, which are written down here as they were then, are as large as today's, each member has
 * its place, and nothing is read beyond their end.
 */
#include "support.h"

#include <baton/bound.h>
#include <baton/call.h>
#include <baton/fan_out.h>
#include <baton/registry.h>
#include <baton/timer.h>
#include <baton/timers.h>

#include <sys/mman.h>
#include <unistd.h>

struct old_resource_config {
	uint32_t capture_max, quantum;
	uint64_t capture_ns, quantum_ns;
	struct baton_executor *executor;
	void (*cancelled)(struct baton_task *task);
	void (*failed)(struct baton_resource *resource, struct baton_task *task, int status);
	int (*batch_begin)(struct baton_resource *resource);
	int (*batch_end)(struct baton_resource *resource);
	uint64_t batch_ns;
	uint32_t batch_max;
	bool delay_completions;
	void (*enter)(struct baton_resource *resource);
	void (*leave)(struct baton_resource *resource);
	const char *name;
	const char *(*name_of)(const struct baton_resource *resource);
	uint64_t _reserved[4];
};

struct old_pool_options {
	size_t workers;
	const char *name;
	size_t stack_size;
	const int *cpus;
	size_t cpu_count, spares_max;
	uint64_t spare_keep_ns;
	const struct baton_pool_policy *policy;
	bool count_accepted;
	uint64_t waiting_max;
	uint64_t _reserved[4];
};

struct old_pool_policy {
	uint64_t injection_ns;
	uint32_t injection_min, injection_max, smoothing, tick_budget, steal_max;
	enum baton_pool_order order;
	uint32_t hot_from, hot_share;
	uint64_t _reserved[4];
};

struct old_timers_options {
	enum baton_timers_source source;
	enum baton_timers_submit submit;
	uint64_t resolution_ns;
	baton_timer_dropped_fn dropped;
	void (*wake)(void *arg);
	void *arg;
	const char *name;
	uint64_t _reserved[4];
};

struct old_registry_options {
	size_t object_size;
	int (*init)(struct baton_registry_entry *entry, void *arg);
	void (*deinit)(struct baton_registry_entry *entry, void *arg);
	void *arg;
	uint64_t seed;
	const struct baton_resource_config *object_config, *config;
	struct baton_resource_stats *stats;
	uint64_t _reserved[4];
};

struct old_fan_out_options {
	baton_fan_out_fn fn;
	void *arg;
	uint32_t flags;
	const struct baton_label *label;
	uint64_t _reserved[4];
};

struct old_call_options {
	baton_call_fn fn;
	void *arg;
	const struct baton_label *label;
	baton_post_cancelled_fn cancelled;
	uint64_t timeout_ns;
	bool later;
	uint64_t _reserved[4];
};

struct old_bound_config {
	uint32_t tasks_max, tasks_hard;
	uint64_t bytes_max, bytes_hard;
	enum baton_bound_policy policy;
	uint32_t exempt, tasks_high, tasks_low;
	uint64_t bytes_high, bytes_low;
	void (*high)(struct baton_resource *resource, void *arg);
	void (*low)(struct baton_resource *resource, void *arg);
	void *arg;
	uint64_t timeout_ns;
	uint64_t _reserved[4];
};

struct old_lanes_config {
	uint32_t aging_turns;
	uint64_t aging_ns;
	uint64_t _reserved[4];
};

struct old_executor_ops {
	int (*schedule)(struct baton_executor *executor, struct baton_job *job);
	int (*drive)(struct baton_executor *executor);
	int (*returned)(struct baton_executor *executor);
	bool (*withdraw)(struct baton_executor *executor, struct baton_job *job);
	void (*blocked)(struct baton_executor *executor, bool blocked);
	bool (*alone)(struct baton_executor *executor);
	bool (*should_yield)(struct baton_executor *executor);
	bool (*recall)(struct baton_executor *executor, struct baton_job *job);
	int (*offer)(struct baton_executor *executor, struct baton_plain_job *job);
	void (*_reserved[4])(void);
};

#define SAME(name, member)                                                                         \
	_Static_assert(sizeof(struct old_##name) == sizeof(struct baton_##name), #name);           \
	_Static_assert(offsetof(struct old_##name, member) ==                                      \
	                       offsetof(struct baton_##name, member),                              \
	               #name " " #member)

SAME(resource_config, quantum);
SAME(resource_config, capture_ns);
SAME(resource_config, quantum_ns);
SAME(resource_config, executor);
SAME(resource_config, cancelled);
SAME(resource_config, failed);
SAME(resource_config, batch_begin);
SAME(resource_config, batch_end);
SAME(resource_config, batch_ns);
SAME(resource_config, batch_max);
SAME(resource_config, delay_completions);
SAME(resource_config, enter);
SAME(resource_config, leave);
SAME(resource_config, name);
SAME(resource_config, name_of);
SAME(lanes_config, aging_turns);
SAME(lanes_config, aging_ns);
SAME(pool_options, workers);
SAME(pool_options, name);
SAME(pool_options, stack_size);
SAME(pool_options, cpus);
SAME(pool_options, cpu_count);
SAME(pool_options, spares_max);
SAME(pool_options, spare_keep_ns);
SAME(pool_options, policy);
SAME(pool_options, count_accepted);
SAME(pool_options, waiting_max);
SAME(pool_policy, injection_min);
SAME(pool_policy, injection_max);
SAME(pool_policy, smoothing);
SAME(pool_policy, tick_budget);
SAME(pool_policy, steal_max);
SAME(pool_policy, order);
SAME(pool_policy, hot_from);
SAME(pool_policy, hot_share);
SAME(timers_options, submit);
SAME(timers_options, resolution_ns);
SAME(timers_options, dropped);
SAME(timers_options, wake);
SAME(timers_options, arg);
SAME(timers_options, name);
SAME(registry_options, init);
SAME(registry_options, deinit);
SAME(registry_options, arg);
SAME(registry_options, seed);
SAME(registry_options, object_config);
SAME(registry_options, config);
SAME(registry_options, stats);
SAME(fan_out_options, arg);
SAME(fan_out_options, flags);
SAME(fan_out_options, label);
SAME(call_options, arg);
SAME(call_options, label);
SAME(call_options, cancelled);
SAME(call_options, timeout_ns);
SAME(call_options, later);
SAME(bound_config, tasks_hard);
SAME(bound_config, bytes_max);
SAME(bound_config, bytes_hard);
SAME(bound_config, policy);
SAME(bound_config, exempt);
SAME(bound_config, tasks_high);
SAME(bound_config, tasks_low);
SAME(bound_config, bytes_high);
SAME(bound_config, bytes_low);
SAME(bound_config, high);
SAME(bound_config, low);
SAME(bound_config, arg);
SAME(bound_config, timeout_ns);
SAME(executor_ops, drive);
SAME(executor_ops, returned);
SAME(executor_ops, withdraw);
SAME(executor_ops, blocked);
SAME(executor_ops, alone);
SAME(executor_ops, should_yield);
SAME(executor_ops, recall);

/* The program's struct, as the last bytes before a page that nobody may read. */
static void *at_the_edge(const void *old, size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *pages =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	MUST(pages != MAP_FAILED);
	MUST(mprotect(pages + page, page, PROT_NONE) == 0);
	return memcpy(pages + page - size, old, size);
}

#define AT_THE_EDGE(old) at_the_edge(&(old), sizeof(old))

static int visit(struct baton_resource *resource, void *arg, size_t index)
{
	++*(int *)arg;
	return 0;
}

Test(growth, the_structs_of_an_older_program_are_read_to_their_end, .timeout = 10)
{
	const struct old_pool_options pool_options = {.workers = 1};
	const struct old_pool_policy pool_policy = {.injection_max = 16};
	const struct baton_pool_options with_policy = {.workers = 1,
	                                               .policy = AT_THE_EDGE(pool_policy)};
	const struct old_timers_options timers_options = {.source = BATON_TIMERS_VIRTUAL};
	const struct old_registry_options registry_options = {
		.object_size = sizeof(struct baton_registry_entry)};
	struct baton_registry *registry = NULL;
	struct baton_timers *timers = NULL;
	struct baton_pool *pool = NULL;

	cr_assert_eq(baton_pool_create(AT_THE_EDGE(pool_options), &pool), 0);
	cr_assert_eq(baton_pool_destroy(pool), 0);
	cr_assert_eq(baton_pool_create(&with_policy, &pool), 0);
	cr_assert_eq(baton_timers_create(AT_THE_EDGE(timers_options), &timers), 0);
	cr_assert_eq(baton_registry_create(AT_THE_EDGE(registry_options), &registry), 0);
	cr_assert_eq(baton_registry_destroy(registry), 0);
	cr_assert_eq(baton_timers_destroy(timers), 0);
	cr_assert_eq(baton_pool_destroy(pool), 0);
}

Test(growth, so_are_those_that_a_resource_keeps, .timeout = 10)
{
	const struct old_resource_config config = {.capture_max = 10};
	const struct old_bound_config limits = {.tasks_max = 1};
	const struct old_lanes_config aging = {.aging_turns = 1};
	struct baton_bound bound = BATON_BOUND_INIT(AT_THE_EDGE(limits));
	struct baton_lane array[1];
	struct baton_lanes lanes;
	struct baton_resource resource;
	struct baton_resource *set[] = {&resource, &resource};
	struct journal journal = {0};
	struct occupant occupant;
	struct step steps[2];
	int visits = 0;
	const struct old_fan_out_options fan_out = {.fn = visit, .arg = &visits};

	baton_resource_init(&resource, AT_THE_EDGE(config));
	baton_resource_set_bound(&resource, &bound);
	baton_lanes_init(&lanes, array, 1, AT_THE_EDGE(aging));
	baton_resource_set_lanes(&resource, &lanes);
	cr_assert_eq(baton_fan_out_submit(set, 2, AT_THE_EDGE(fan_out), NULL), 0);
	cr_assert_eq(visits, 2);
	steps_init(steps, 2, &journal, 0);
	occupy(&occupant, &resource);
	cr_assert_eq(baton_submit(&resource, &steps[0].task), 0);
	cr_assert_eq(baton_submit(&resource, &steps[1].task), -EAGAIN);
	release(&occupant);
	cr_assert(journal_counts_up(&journal, 0, 1));
	resource_end(&resource);
}
