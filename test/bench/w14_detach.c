/* SPDX-License-Identifier: MIT */
/*
 * W14: detached completion. What it costs to complete a task by a token, one thread, next to a task
 * that completes by returning; and a window of 16: one thread publishes, another acknowledges,
 * against the mutex, queue and counter that one would write oneself.
 */
#include "harness.h"
#include "team.h"

#include <baton/all.h>

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../parts.h"

#define OPERATIONS 100000
#define OPERATIONS_QUICK 20000
#define WINDOW 16
#define MESSAGES 100000

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void must(bool condition)
{
	if (!condition)
		abort();
}

/* ---- One at a time ---- */

enum way { RETURNS, ASYNC, DETACHED, COUNTED, WITHIN };

struct request {
	struct baton_task task;
	struct baton_future future;
	struct baton_detached token;
	struct baton_deadline deadline;
	enum way way;
};

static int request_run(struct baton_task *task)
{
	struct request *request = baton_container_of(task, struct request, task);

	if (request->way == RETURNS)
		return 0;
	if (request->way == WITHIN)
		return baton_detach_within(&request->token, 0, 60 * BATON_SECOND,
		                           &request->deadline);
	return baton_detach(&request->token, request->way == COUNTED ? BATON_DETACH_COUNTED : 0);
}

static void *nothing(void *arg)
{
	return arg;
}

static void once(struct baton_resource *resource, struct request *request)
{
	if (request->way == ASYNC) {
		struct baton_future *future;

		must(baton_async(resource, nothing, request, &future) == 0);
		must(baton_future_status(future) == 0);
		baton_future_unref(future);
		return;
	}
	baton_future_init(&request->future);
	must(baton_submit(resource, &request->task) == 0);
	if (request->way != RETURNS)
		must(baton_detached_complete(&request->token, 0, NULL) == 0);
	must(baton_future_status(&request->future) == 0);
}

static void run_one(const void *setup, double *values)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
	int operations = bench_options.quick ? OPERATIONS_QUICK : OPERATIONS;
	struct request request = {.way = *(const enum way *)setup};
	double begin;

	baton_task_init(&request.task, request_run, &request.future);
	baton_deadline_init(&request.deadline, NULL);
	once(&resource, &request);
	begin = now_ns();
	for (int i = 0; i < operations; i++)
		once(&resource, &request);
	values[0] = (now_ns() - begin) / operations;
	must(baton_resource_close(&resource) == 0);
	must(baton_resource_await(&resource) == 0);
}

/* ---- A window ---- */

struct message {
	struct windowed windowed;
};

static struct message *messages;
static struct baton_resource session;
static struct baton_window window;
static uint32_t sent; /* messages 0 to sent - 1 have gone to the client */

/* By the holder of session, or lock. */
static void send_message(void)
{
	__atomic_store_n(&sent, sent + 1, __ATOMIC_RELEASE);
}

static void until_sent(uint32_t count)
{
	unsigned turns = 0;

	while (__atomic_load_n(&sent, __ATOMIC_ACQUIRE) < count)
		team_wait(&turns);
}

static int message_run(struct baton_task *task)
{
	struct message *message = baton_container_of(task, struct message, windowed.task);

	must(baton_detach(&message->windowed.part.token, 0) == 0);
	send_message();
	return 0;
}

static void *baton_acks(void *arg)
{
	for (uint32_t i = 0; i < MESSAGES; i++) {
		until_sent(i + 1);
		must(baton_detached_complete(&messages[i].windowed.part.token, 0, NULL) == 0);
	}
	return arg;
}

static void baton_publishes(void)
{
	for (uint32_t i = 0; i < MESSAGES; i++)
		must(baton_submit(&session, &messages[i].windowed.task) == 0);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t published; /* the queue: messages from `sent` to `published` */
static uint32_t acknowledged;

static void *mutex_acks(void *arg)
{
	for (uint32_t i = 0; i < MESSAGES; i++) {
		until_sent(i + 1);
		pthread_mutex_lock(&lock);
		acknowledged++;
		if (sent < published)
			send_message();
		pthread_mutex_unlock(&lock);
	}
	return arg;
}

static void mutex_publishes(void)
{
	for (uint32_t i = 0; i < MESSAGES; i++) {
		pthread_mutex_lock(&lock);
		if (sent == published && sent - acknowledged < WINDOW) {
			published++;
			send_message();
		} else {
			published++;
		}
		pthread_mutex_unlock(&lock);
	}
}

static void run_window(const void *setup, double *values)
{
	bool baton = *(const bool *)setup;
	pthread_t acks;
	double begin;

	baton_resource_init(&session, NULL);
	baton_window_init(&window, &session, WINDOW);
	for (uint32_t i = 0; i < MESSAGES; i++)
		windowed_init(&messages[i].windowed, &window, message_run, NULL);
	sent = published = acknowledged = 0;
	begin = now_ns();
	must(pthread_create(&acks, NULL, baton ? baton_acks : mutex_acks, NULL) == 0);
	if (baton)
		baton_publishes();
	else
		mutex_publishes();
	must(pthread_join(acks, NULL) == 0);
	values[0] = (now_ns() - begin) / MESSAGES;
	must(baton_resource_close(&session) == 0);
	must(baton_resource_await(&session) == 0);
	baton_window_deinit(&window);
}

void bench_w14_detach(void)
{
	static const char *const metrics[] = {"ns/task", NULL};
	static const char *const message_metrics[] = {"ns/message", NULL};
	static const enum way ways[] = {RETURNS, ASYNC, DETACHED, COUNTED, WITHIN};
	static const bool is_baton[] = {false, true};
	static const struct bench_case one[] = {
		{"task with a future, returns", run_one, &ways[0]},
		{"baton_async", run_one, &ways[1]},
		{"detach, complete", run_one, &ways[2]},
		{"  counted", run_one, &ways[3]},
		{"  within a deadline", run_one, &ways[4]},
	};
	static const struct bench_case windows[] = {
		{"mutex, queue, counter", run_window, &is_baton[0]},
		{"baton window", run_window, &is_baton[1]},
	};

	bench_group(&(struct bench_group){"W14: one thread, detached completion", metrics, one, 5,
	                                  0, NULL});
	if (!bench_wanted("W14: a window of 16"))
		return;
	messages = calloc(MESSAGES, sizeof(*messages));
	must(messages);
	bench_group(&(struct bench_group){
		"W14: a window of 16, one publishes, one acknowledges", message_metrics, windows, 2,
		0, "nothing is computed under the lock or baton: all of it is the window's cost"});
	free(messages);
}
