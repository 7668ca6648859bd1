/* SPDX-License-Identifier: MIT */
/*
 * A session that belongs to the thread of an event loop: the session's tasks run on that thread
 * alone, so they may use what only that thread may touch. Other threads submit. The loop watches
 * one descriptor more, which can be read when there is work (examples/chat does so with epoll and
 * with libuv).
 */
#include "../check.h"

#include <baton.h>
#include <baton/loop.h>

#include <poll.h>
#include <pthread.h>

#define LINES 1000

static struct session {
	struct baton_resource resource;
	int lines;
	pthread_t thread; /* of the loop */
} session;

static void *take_line(void *arg)
{
	CHECK(pthread_equal(pthread_self(), session.thread));
	session.lines++;
	return arg;
}

static void *send_lines(void *arg)
{
	for (int i = 0; i < LINES; i++)
		CHECK(baton_post(&session.resource, take_line, NULL) == 0);
	return arg;
}

int main(void)
{
	static struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct pollfd polled = {.events = POLLIN};
	struct baton_loop *loop;
	pthread_t thread;

	CHECK(baton_loop_create(&loop) == 0);
	config.executor = baton_loop_executor(loop);
	config.capture_max = BATON_CAPTURE_NONE; /* no other thread runs tasks */
	baton_resource_init(&session.resource, &config);

	session.thread = pthread_self();
	CHECK(pthread_create(&thread, NULL, send_lines, NULL) == 0);

	polled.fd = baton_loop_fd(loop);
	while (session.lines < LINES) {
		CHECK(poll(&polled, 1, -1) == 1); /* readable: there is work */
		baton_loop_run(loop, 100);        /* at most 100 jobs */
	}

	CHECK(pthread_join(thread, NULL) == 0);
	CHECK(baton_resource_close(&session.resource) == 0);
	CHECK(baton_resource_await(&session.resource) == 0);
	baton_loop_destroy(loop);
	printf("the loop's thread took %d lines of another thread\n", session.lines);
	return 0;
}
