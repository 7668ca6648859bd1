/* SPDX-License-Identifier: MIT */
/*
 * A survey gathers the counters of the broker and of baton, while both go on counting:
 *
 *   main -> each loop (its own counters; its connections' and their sessions')
 *     -> topic table (the topics' counters, and which topics are the hottest)
 *       -> main, by uv_async
 *
 * The same struct is the task of the last hop. One survey runs at a time.
 */
#ifndef BROKER_SURVEY_H
#define BROKER_SURVEY_H

#include <stdint.h>

#include <uv.h>

#include <baton/future.h>
#include <baton/group.h>
#include <baton/pool.h>
#include <baton/stats.h>
#include <baton/task.h>

#include "common/stats.h"

#define SURVEY_HOTTEST 5
#define SURVEY_NAME_SIZE 128    /* a longer topic name is cut */
#define SURVEY_TOPICS_MAX 20000 /* so many are looked at: the table has other tasks */

struct broker;

struct survey_topic {
	uint64_t tasks; /* since the last survey */
	char name[SURVEY_NAME_SIZE];
};

struct survey_part; /* a loop's */

struct survey {
	struct baton_task task;
	struct broker *broker;
	uv_async_t *done;
	struct survey_part *parts;
	struct baton_group waiting; /* one member for each part that is not complete */
	struct baton_continuation then;

	/* The result. */
	struct loop_stats loops;
	struct baton_resource_stats kinds[STATS_KINDS];
	struct baton_pool_stats pool;
	uint64_t topics;
	struct survey_topic hottest[SURVEY_HOTTEST]; /* the hottest first */
};

/* Starts a survey; `done` is sent when the result is complete. */
void survey_start(struct survey *survey, struct broker *broker, uv_async_t *done);

/* After `done`, on the main thread: adds the counters that need no hop, and frees the parts. */
void survey_finish(struct survey *survey);

#endif
