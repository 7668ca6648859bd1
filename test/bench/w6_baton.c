/* SPDX-License-Identifier: MIT */
/*
 * W6: a resource per topic. submit: a task of the publisher's ring, which carries the message;
 * call: the message stays with the publisher, which waits for it.
 * Both also as programs that include inline.h have them.
 */
#include "baton_pool.h"
#include "w6_ring.h"

#include <stdlib.h>

#include <baton/board.h>
#include <baton/inline.h>

static int slot_run(struct baton_task *task)
{
	apply_slot(baton_container_of(task, struct slot, task));
	return 0;
}

BROKER_INLINE void submit_publish(struct publisher *publisher, struct topic *topic,
                                  uint32_t sleep_us, uint64_t sent)
{
	struct slot *slot = fill_slot(publisher, topic, sleep_us, sent);

	if ((baton_submit)(&topic->resource, &slot->task))
		abort();
}

BROKER_INLINE void submit_publish_inline(struct publisher *publisher, struct topic *topic,
                                         uint32_t sleep_us, uint64_t sent)
{
	struct slot *slot = fill_slot(publisher, topic, sleep_us, sent);

	if (baton_submit_inline(&topic->resource, &slot->task))
		abort();
}

static void submit_loop(struct team_member *member)
{
	loop(member, submit_publish);
}

static void submit_loop_inline(struct team_member *member)
{
	loop(member, submit_publish_inline);
}

/* A future for each message, for which its publisher waits: one slot will do. */
static int wait_run(struct baton_task *task)
{
	struct slot *slot = baton_container_of(task, struct slot, task);

	topic_apply(slot->topic, &slot->message);
	return 0;
}

BROKER_INLINE void wait_publish(struct publisher *publisher, struct topic *topic, uint32_t sleep_us,
                                uint64_t sent)
{
	struct slot *slot = &publisher->slots[0];

	write_message(publisher, &slot->message, sleep_us);
	slot->topic = topic;
	publisher->future = (struct baton_future)BATON_FUTURE_INIT;
	if ((baton_submit)(&topic->resource, &slot->task) || baton_future_wait(&publisher->future))
		abort();
	sample(publisher, sent);
}

static void wait_loop(struct team_member *member)
{
	loop(member, wait_publish);
}

/* What a call's function needs. */
struct call {
	struct topic *topic;
	const struct message *message;
};

static void *call_run(void *argument)
{
	const struct call *call = argument;

	topic_apply(call->topic, call->message);
	return NULL;
}

BROKER_INLINE void call_publish(struct publisher *publisher, struct topic *topic, uint32_t sleep_us,
                                uint64_t sent)
{
	struct call call = {topic, &publisher->message};

	write_message(publisher, &publisher->message, sleep_us);
	if ((baton_call)(&topic->resource, call_run, &call, NULL))
		abort();
	sample(publisher, sent);
}

BROKER_INLINE void call_publish_inline(struct publisher *publisher, struct topic *topic,
                                       uint32_t sleep_us, uint64_t sent)
{
	struct call call = {topic, &publisher->message};

	write_message(publisher, &publisher->message, sleep_us);
	if (baton_call_inline(&topic->resource, call_run, &call, NULL))
		abort();
	sample(publisher, sent);
}

static void call_loop(struct team_member *member)
{
	loop(member, call_publish);
}

static void call_loop_inline(struct team_member *member)
{
	loop(member, call_publish_inline);
}

/* All topics join a board, which is as large as needed; a trace begins. */
static void baton_show(struct broker *broker)
{
	const struct baton_board_options options = {.resources = BROKER_TOPICS + BROKER_SLOW};

	if (broker->seen == BROKER_UNSEEN)
		return;
	if (baton_board_create(&options, &broker->board))
		abort();
	for (unsigned i = 0; i < BROKER_TOPICS + BROKER_SLOW; i++)
		if (baton_board_join(broker->board, &broker->topics[i].resource, "topic", NULL))
			abort();
	if (broker->seen == BROKER_TRACED && baton_board_trace_start(broker->board))
		abort();
}

static void baton_hide(struct broker *broker)
{
	if (broker->seen == BROKER_UNSEEN)
		return;
	if (broker->seen == BROKER_TRACED && baton_board_trace_stop(broker->board, "/dev/null"))
		abort();
	for (unsigned i = 0; i < BROKER_TOPICS + BROKER_SLOW; i++)
		baton_board_leave(broker->board, &broker->topics[i].resource);
	baton_board_destroy(broker->board);
}

static void baton_open(struct broker *broker)
{
	struct baton_resource_config *config = &broker->config;
	struct baton_resource_config *slow = &broker->slow_config;

	*config = (struct baton_resource_config)BATON_RESOURCE_CONFIG_INIT;
	*slow = *config;
	slow->capture_max = BATON_CAPTURE_NONE;
	if (broker->capture_max)
		config->capture_max = broker->capture_max;
	broker->pool = bench_pool_create(broker->workers ? broker->workers : team_cpus(), true);
	config->executor = baton_pool_executor(broker->pool);
	slow->executor = config->executor;
	if (broker->own_pool) {
		broker->slow_pool = bench_pool_create(BROKER_SLOW, true);
		slow->executor = baton_pool_executor(broker->slow_pool);
	}
	for (unsigned i = 0; i < BROKER_TOPICS + BROKER_SLOW; i++)
		baton_resource_init(&broker->topics[i].resource, i < BROKER_TOPICS ? config : slow);
	baton_show(broker);
	for (unsigned t = 0; t < broker->threads; t++)
		for (unsigned i = 0; i < PUBLISHER_RING; i++)
			baton_task_init(&broker->publishers[t].slots[i].task, slot_run, NULL);
}

static void wait_open(struct broker *broker)
{
	baton_open(broker);
	for (unsigned t = 0; t < broker->threads; t++)
		baton_task_init(&broker->publishers[t].slots[0].task, wait_run,
		                &broker->publishers[t].future);
}

static void baton_close(struct broker *broker)
{
	/* The messages are applied, but a runner may not have let go yet. */
	for (unsigned i = 0; i < BROKER_TOPICS + BROKER_SLOW; i++)
		if (baton_resource_close(&broker->topics[i].resource) ||
		    baton_resource_await(&broker->topics[i].resource))
			abort();
	baton_hide(broker);
	if (baton_pool_destroy(broker->pool))
		abort();
	if (broker->own_pool && baton_pool_destroy(broker->slow_pool))
		abort();
}

const struct broker_way broker_submit = {"baton submit", submit_publish, submit_loop, baton_open,
                                         baton_close};

const struct broker_way broker_wait = {"baton submit, future and wait", wait_publish, wait_loop,
                                       wait_open, baton_close};

const struct broker_way broker_submit_inline = {"baton submit, inlined", submit_publish_inline,
                                                submit_loop_inline, baton_open, baton_close};

const struct broker_way broker_call_inline = {"baton call, inlined", call_publish_inline,
                                              call_loop_inline, baton_open, baton_close};

const struct broker_way broker_call = {"baton call", call_publish, call_loop, baton_open,
                                       baton_close};
