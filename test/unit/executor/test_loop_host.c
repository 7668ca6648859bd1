/* SPDX-License-Identifier: MIT */
/* The loop executor in an event loop that has other work, too. */
#include "support.h"

#include <poll.h>

static bool readable(const struct baton_loop *loop)
{
	struct pollfd entry = {baton_loop_fd(loop), POLLIN, 0};
	int ready = poll(&entry, 1, 0);

	MUST(ready >= 0);
	return ready == 1 && (entry.revents & POLLIN) != 0;
}

static struct baton_loop *loop_create(void)
{
	struct baton_loop *loop = NULL;

	MUST(baton_loop_create(&loop) == 0);
	MUST(baton_loop_adopt(loop) == 0);
	return loop;
}

static void *wake_other(void *arg)
{
	struct baton_loop *loop = arg;

	MUST(!baton_loop_is_owner(loop));
	baton_loop_wake(loop);
	return NULL;
}

Test(loop_host, a_wake_makes_the_descriptor_readable_until_the_next_run, .timeout = 10)
{
	struct baton_loop *loop = loop_create();
	pthread_t other;

	cr_assert(baton_loop_is_owner(loop));
	MUST(pthread_create(&other, NULL, wake_other, loop) == 0);
	MUST(pthread_join(other, NULL) == 0);
	cr_assert(readable(loop));
	cr_assert_eq(baton_loop_run(loop, 0), 0);
	cr_assert_not(readable(loop));
	baton_loop_wake(loop);
	cr_assert(readable(loop), "the owner, too");
	baton_loop_destroy(loop);
}

static bool says(void *arg)
{
	return *(const bool *)arg;
}

struct asking {
	struct baton_task task;
	bool told;
};

static int ask(struct baton_task *task)
{
	baton_container_of(task, struct asking, task)->told = baton_should_yield();
	return 0;
}

Test(loop_host, the_owners_other_work_counts_for_should_yield, .timeout = 10)
{
	struct baton_loop *loop = loop_create();
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_resource resource;
	bool other = false;

	config.executor = baton_loop_executor(loop);
	baton_resource_init(&resource, &config);
	baton_loop_set_should_yield(loop, says, &other);
	for (int round = 0; round < 3; round++) {
		struct asking asking = {BATON_TASK_INIT(ask, NULL), round != 1};

		other = round > 0;
		if (round == 2)
			baton_loop_set_should_yield(loop, NULL, NULL);
		cr_assert_eq(baton_submit_later(&resource, &asking.task), 0);
		cr_assert_eq(baton_loop_run(loop, 0), 1);
		cr_assert_eq(asking.told, round == 1);
	}
	resource_end(&resource);
	baton_loop_destroy(loop);
}

struct host {
	struct baton_loop *loop;
	unsigned asked;
};

static void asked(void *arg)
{
	((struct host *)arg)->asked++;
}

static int count_up(struct baton_task *task)
{
	(void)task;
	return 0;
}

static void *run_for_the_owner(void *arg)
{
	struct host *host = arg;

	MUST(baton_loop_adopt(host->loop) == 0);
	MUST(baton_loop_run(host->loop, 0) == 1);
	return NULL;
}

Test(loop_host, a_signal_of_the_hosts_takes_the_descriptors_place, .timeout = 10)
{
	struct host host = {loop_create(), 0};
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct baton_resource resources[3];
	struct baton_task tasks[3];
	pthread_t other;

	config.executor = baton_loop_executor(host.loop);
	baton_loop_set_signal(host.loop, asked, &host);
	for (int i = 0; i < 3; i++) {
		baton_resource_init(&resources[i], &config);
		tasks[i] = (struct baton_task)BATON_TASK_INIT(count_up, NULL);
		cr_assert_eq(baton_submit_later(&resources[i], &tasks[i]), 0);
	}
	cr_assert_eq(host.asked, 1, "one run will see all three");
	cr_assert_eq(baton_loop_run(host.loop, 2), 2);
	cr_assert_eq(host.asked, 2, "a job is left");
	cr_assert_not(readable(host.loop));
	MUST(pthread_create(&other, NULL, run_for_the_owner, &host) == 0);
	MUST(pthread_join(other, NULL) == 0);
	MUST(baton_loop_adopt(host.loop) == 0);
	baton_loop_wake(host.loop);
	cr_assert(readable(host.loop));
	for (int i = 0; i < 3; i++)
		resource_end(&resources[i]);
	baton_loop_destroy(host.loop);
}

Test(loop_host, who_has_disowned_the_loop_gathers_nothing, .timeout = 10)
{
	struct baton_loop *loop = loop_create();
	struct baton_resource_config config = {.executor = baton_loop_executor(loop)};
	struct baton_resource resource = BATON_RESOURCE_INIT(&config);
	struct baton_task task = BATON_TASK_INIT(count_up, NULL);

	baton_loop_gather(loop);
	baton_loop_disown(loop);
	cr_assert_not(baton_loop_is_owner(loop));
	cr_assert_eq(baton_submit_later(&resource, &task), 0);
	cr_assert(readable(loop));
	cr_assert_eq(baton_loop_run(loop, 0), 1);
	cr_assert(baton_loop_is_owner(loop));
	resource_end(&resource);
	baton_loop_destroy(loop);
}
