/* SPDX-License-Identifier: MIT */
/*
 * How to shut down a program with much under way: publishers, topics that submit to sessions,
 * sessions with a window, a keep-alive timer and a trigger, a pool, a wheel. The steps follow the
 * flow of the messages: each step waits for the tasks that the step before may have submitted. No
 * message is lost: each is sent, or cancelled at the end.
 */
#include "../check.h"

#include <baton.h>
#include <baton/detach.h>
#include <baton/timers.h>
#include <baton/trigger.h>
#include <baton/window.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define PUBLISHERS 3
#define TOPICS 2
#define SESSIONS 4
#define MESSAGES 2000 /* of each publisher */
#define RECEIVE_MAXIMUM 16

struct session {
	struct baton_resource resource;
	struct baton_window window;
	struct baton_timer keep_alive;
	struct baton_trigger flush;
	unsigned int sent;
	unsigned int cancelled;
	struct delivery *unacknowledged; /* in flight */
};

struct delivery {
	struct baton_task task;
	struct baton_window_part part;
	struct session *session;
	struct delivery *next;
};

static struct baton_pool *pool;
static struct baton_timers *wheel;
static struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
static struct baton_resource topics[TOPICS];
static struct session sessions[SESSIONS];

static int deliver(struct baton_task *task)
{
	struct delivery *delivery = baton_container_of(task, struct delivery, task);
	struct session *session = delivery->session;

	BATON_IGNORE(baton_detach(&delivery->part.token, 0));
	delivery->next = session->unacknowledged;
	session->unacknowledged = delivery;
	session->sent++;
	BATON_IGNORE(baton_trigger_fire(&session->flush));
	return baton_timer_arm_after(&session->keep_alive, 60 * BATON_SECOND);
}

static void deliver_cancelled(struct baton_task *task)
{
	struct delivery *delivery = baton_container_of(task, struct delivery, task);

	delivery->session->cancelled++;
	free(delivery);
}

static const struct baton_task_type delivery_type = {
	.run = deliver,
	.cancelled = deliver_cancelled,
	.window = BATON_TASK_PLACE(struct delivery, task, part),
};

/* Plays the client, which acknowledges about half of the messages in flight. */
static int flush(struct baton_trigger *trigger, uint64_t fires)
{
	struct session *session = baton_container_of(trigger, struct session, flush);

	for (uint64_t i = 0; i < fires / 2 + 1 && session->unacknowledged != NULL; i++) {
		struct delivery *delivery = session->unacknowledged;

		session->unacknowledged = delivery->next;
		CHECK(baton_detached_complete(&delivery->part.token, 0, NULL) == 0);
		free(delivery);
	}
	return 0;
}

static int keep_alive_expired(struct baton_timer *timer)
{
	(void)timer;
	return 0;
}

/* A task of a topic. */
static void *publish(void *arg)
{
	struct session *session = arg;
	struct delivery *delivery = calloc(1, sizeof(*delivery));

	CHECK(delivery != NULL);
	delivery->session = session;
	baton_task_init_of(&delivery->task, &delivery_type);
	baton_window_part_init(&delivery->part, &session->window);
	CHECK(baton_submit(&session->resource, &delivery->task) == 0);
	return NULL;
}

static void *publisher(void *arg)
{
	(void)arg;
	for (int i = 0; i < MESSAGES; i++)
		CHECK(baton_post(&topics[i % TOPICS], publish, &sessions[i % SESSIONS]) == 0);
	return NULL;
}

static void begin(void)
{
	CHECK(baton_pool_create(NULL, &pool) == 0 && baton_timers_create(NULL, &wheel) == 0);
	config.executor = baton_pool_executor(pool);
	config.cancelled = deliver_cancelled;
	for (int i = 0; i < TOPICS; i++)
		baton_resource_init(&topics[i], &config);
	for (int i = 0; i < SESSIONS; i++) {
		struct session *session = &sessions[i];

		baton_resource_init(&session->resource, &config);
		baton_window_init(&session->window, &session->resource, RECEIVE_MAXIMUM);
		baton_timer_init(&session->keep_alive, wheel, &session->resource,
		                 keep_alive_expired);
		baton_trigger_init(&session->flush, &session->resource, flush);
	}
}

/* A task of the session. Runs after all deliveries that the topics have submitted. */
static void *say_goodbye(void *arg)
{
	struct session *session = arg;

	/* Inside a task of their resource both calls are final: a run that is queued does
	 * nothing. */
	BATON_IGNORE(baton_timer_stop(&session->keep_alive).met);
	BATON_IGNORE(baton_trigger_stop(&session->flush).met);
	/* Deliveries that wait for a place are cancelled. Those in flight will not be
	 * acknowledged. */
	CHECK(baton_window_cancel(&session->window) == 0);
	while (session->unacknowledged != NULL) {
		struct delivery *delivery = session->unacknowledged;

		session->unacknowledged = delivery->next;
		CHECK(baton_detached_complete(&delivery->part.token, -1, NULL) == 0);
		free(delivery);
	}
	return NULL;
}

static void end_session(struct session *session)
{
	CHECK(baton_call(&session->resource, say_goodbye, session, NULL) == 0);
	CHECK(baton_resource_close(&session->resource) == 0);
	CHECK(baton_resource_await(&session->resource) == 0);
	baton_window_deinit(&session->window);
	baton_resource_deinit(&session->resource);
}

int main(void)
{
	pthread_t publishers[PUBLISHERS];
	unsigned int sent = 0, cancelled = 0;

	begin();
	for (int i = 0; i < PUBLISHERS; i++)
		CHECK(pthread_create(&publishers[i], NULL, publisher, NULL) == 0);

	/* 1. The threads that submit from outside end. */
	for (int i = 0; i < PUBLISHERS; i++)
		CHECK(pthread_join(publishers[i], NULL) == 0);
	/* 2. The topics run their last tasks. Then the sessions have all that they will get. */
	for (int i = 0; i < TOPICS; i++) {
		CHECK(baton_resource_close(&topics[i]) == 0);
		CHECK(baton_resource_await(&topics[i]) == 0);
		baton_resource_deinit(&topics[i]);
	}
	/* 3. Each session stops its timer and its trigger, empties its window, and closes. */
	for (int i = 0; i < SESSIONS; i++)
		end_session(&sessions[i]);
	/* 4. The wheel: no task arms a timer any more. 5. The pool: no thread hands work off any
	 * more. */
	CHECK(baton_timers_destroy(wheel) == 0);
	CHECK(baton_pool_destroy(pool) == 0);

	for (int i = 0; i < SESSIONS; i++) {
		sent += sessions[i].sent;
		cancelled += sessions[i].cancelled;
	}
	CHECK(sent + cancelled == PUBLISHERS * MESSAGES);
	printf("%d messages: each was sent, or cancelled at the end\n", PUBLISHERS * MESSAGES);
	return 0;
}
