/* SPDX-License-Identifier: MIT */
/*
 * The goals. Groups, contenders and metrics are named as the workloads name them.
 */
#include "goals.h"

#define GOAL(title, where, who, what, ...)                                                         \
	{                                                                                          \
		.text = (title), .group = (where), .contender = (who), .metric = (what),           \
		__VA_ARGS__                                                                        \
	}
#define AT_LEAST(value) .factor = (value)
#define AT_MOST(value) .factor = (value), .at_most = true
#define STRETCH .stretch = true
/* Times the best of these; without it the value is absolute. */
#define TIMES(...) .against = {__VA_ARGS__}
#define IN(where) .against_group = (where)
#define FOR(...) .numbers = {__VA_ARGS__}

#define MUTEX "pthread_mutex"
#define STRAND "Boost.Asio*"
/* A node of TBB's is either a task queue, or (lightweight) runs inline when it is idle. */
#define TBB_NODE "oneTBB serial node"
#define TBB_INLINE "oneTBB lightweight node"
#define TBB_POOL "oneTBB pool"
#define TBB "oneTBB*"
#define GLIB "GLib*"
#define URCU "liburcu*"

#define W1 "W1: one thread, an idle resource"
#define W2_EMPTY "W2: asynchronous, one resource, # threads, empty body"
#define W2_200 "W2: asynchronous, one resource, # threads, 200 ns body"
#define W2S "W2s: synchronous, one resource, # threads"
#define W3_2 "W3: # resources, Zipf 0.99, 2 threads"
#define W3_8 "W3: # resources, Zipf 0.99, 8 threads"
#define W4_TREE "W4: # workers, recursive fan-out, 2^20 jobs (quick: 2^17)"
#define W4_OUTSIDE "W4: # workers, 2^20 jobs from outside (quick: 2^16)"
#define W5_IDLE "W5: idle pool, submit to start, "
#define W5_BURNS "W5: what an idle pool burns"
#define W6 "W6: broker, 10,000 topics, # publishers"
#define W6B "W6b: broker at 30 % of its capacity, with rare 1 ms tasks"
#define W8_WAIT "W8: tasks that wait at one resource, exponent"
#define W8_STREAM "W8: tasks streamed through one resource, exponent"
#define W8_SCALING "W8: threads at one hot resource, scaling"

/* The ceiling of bodies of 200 ns is 5 million a second. */
#define CEILING_200 5.0

/* `how`: a submitter waits when its ring is full. Batches are held against the like. */
#define W2_ASYNC_GOALS(which, how)                                                                 \
	GOAL("W2 async, # threads, empty" which, W2_EMPTY, "baton submit" how, "M tasks/s",        \
	     AT_LEAST(1.5), TIMES(MUTEX, STRAND, TBB, GLIB), FOR(2, 4, 16, 64)),                   \
		GOAL("W2 async, # threads, empty" which " (stretch)", W2_EMPTY,                    \
	             "baton submit" how, "M tasks/s", AT_LEAST(2), STRETCH,                        \
	             TIMES(MUTEX, STRAND, TBB, GLIB), FOR(2, 4, 16, 64)),                          \
		GOAL("W2 async, # threads, empty" which ": batch of 16", W2_EMPTY,                 \
	             "baton batch of 16" how, "M tasks/s", AT_LEAST(2), TIMES("baton submit" how), \
	             FOR(2, 4, 16, 64)),                                                           \
		GOAL("W2 async, # threads, empty" which ": same, limit 1000", W2_EMPTY,            \
	             "baton batch of 16, limit 1000" how, "M tasks/s", AT_LEAST(2),                \
	             TIMES("baton submit, limit 1000" how), FOR(2, 4, 16, 64)),                    \
		GOAL("W2 async, # threads, 200 ns" which, W2_200, "baton submit" how, "M tasks/s", \
	             AT_LEAST(1.4), TIMES(MUTEX), FOR(2, 4, 16, 64)),                              \
		GOAL("W2 async, # threads, 200 ns" which ": 0.85 of the ceiling", W2_200,          \
	             "baton submit" how, "M tasks/s", AT_LEAST(0.85 * CEILING_200),                \
	             FOR(2, 4, 16, 64)),                                                           \
		GOAL("W2 async, empty" which ": 64 threads to 2",                                  \
	             "W2: asynchronous, one resource, 64 threads, empty body", "baton submit" how, \
	             "M tasks/s", AT_LEAST(0.7), TIMES("baton submit" how),                        \
	             IN("W2: asynchronous, one resource, 2 threads, empty body")),                 \
		GOAL("W2 async, 200 ns" which ": 64 threads to 2",                                 \
	             "W2: asynchronous, one resource, 64 threads, 200 ns body",                    \
	             "baton submit" how, "M tasks/s", AT_LEAST(0.7), TIMES("baton submit" how),    \
	             IN("W2: asynchronous, one resource, 2 threads, 200 ns body"))

const struct goal goals[] = {
	GOAL("W1 submit", W1, "baton submit", "ns/task", AT_MOST(0.92), TIMES(MUTEX)),
	GOAL("W1 call", W1, "baton call", "ns/task", AT_MOST(0.92), TIMES(MUTEX)),
	GOAL("W1 async", W1, "baton async", "ns/task", AT_MOST(1.5), TIMES(MUTEX)),
	GOAL("W1 post", W1, "baton post", "ns/task", AT_MOST(1.5), TIMES(MUTEX)),
	GOAL("W1 batch of 16, limit 16", W1, "baton batch of 16, limit 16", "ns/task", AT_MOST(0.4),
             TIMES(MUTEX)),

	W2_ASYNC_GOALS("", ", waits on a future"),
	W2_ASYNC_GOALS(" (polling)", ", polls a counter"),
	GOAL("W2 async, # threads, empty: post", W2_EMPTY, "baton post, waits on a future",
             "M tasks/s", AT_LEAST(1), TIMES(MUTEX), FOR(2, 4, 16, 64)),
	GOAL("W2 async, # threads, empty: async", W2_EMPTY,
             "baton async and unref, waits on a future", "M tasks/s", AT_LEAST(1), TIMES(MUTEX),
             FOR(2, 4, 16, 64)),

	GOAL("W2 sync, # threads: throughput", W2S, "baton call", "M calls/s", AT_LEAST(1),
             TIMES(MUTEX), FOR(2, 4, 16, 64)),
	GOAL("W2 sync, # threads: longest wait", W2S, "baton call", "max, ms", AT_MOST(0.5),
             TIMES(MUTEX), FOR(2, 4, 16, 64)),
	GOAL("W2 sync, # threads: longest wait, ms", W2S, "baton call", "max, ms", AT_MOST(150),
             FOR(2, 4, 16, 64)),
	GOAL("W2 sync, # threads: fairness", W2S, "baton call", "slowest/fastest", AT_LEAST(0.5),
             FOR(2, 4, 16, 64)),
	GOAL("W2 sync, # threads: a combining lock", W2S, "baton call", "M calls/s", AT_LEAST(0.7),
             TIMES("flat combining"), FOR(2, 4, 16, 64)),

	GOAL("W3 bytes of an idle resource", "W3: memory of an idle resource", "baton", "bytes",
             AT_MOST(64)),
	GOAL("W3 # resources, 2 threads", W3_2, "baton submit", "M tasks/s", AT_LEAST(1),
             TIMES(MUTEX), FOR(1024, 1000000)),
	GOAL("W3 # resources, 8 threads", W3_8, "baton submit", "M tasks/s", AT_LEAST(1),
             TIMES(MUTEX), FOR(1024, 1000000)),
	GOAL("W3 # resources, 2 threads: call, inlined", W3_2, "baton call, inlined", "M tasks/s",
             AT_LEAST(1.4), TIMES(MUTEX), FOR(1000000)),
	GOAL("W3 # resources, 2 threads: a future each", W3_2, "baton submit, future and wait",
             "M tasks/s", AT_LEAST(0.9), TIMES(MUTEX), FOR(1024, 1000000)),
	GOAL("W3 # resources, 2 threads: task queues", W3_2, "baton submit", "M tasks/s",
             AT_LEAST(5), TIMES(STRAND, TBB_NODE, GLIB, URCU), FOR(1024, 1000000)),
	GOAL("W3 # resources, 8 threads: task queues", W3_8, "baton submit", "M tasks/s",
             AT_LEAST(5), TIMES(STRAND, TBB_NODE, GLIB, URCU), FOR(1024, 1000000)),
	GOAL("W3 # resources, 2 threads: inline node", W3_2, "baton submit", "M tasks/s",
             AT_LEAST(5), TIMES(TBB_INLINE), FOR(1024, 1000000)),
	GOAL("W3 # resources, 8 threads: inline node", W3_8, "baton submit", "M tasks/s",
             AT_LEAST(5), TIMES(TBB_INLINE), FOR(1024, 1000000)),

	GOAL("W4 recursive fan-out, # workers", W4_TREE, "baton pool", "ns/job", AT_MOST(1),
             TIMES(TBB_POOL), FOR(2)),
	GOAL("W4 recursive fan-out, # workers (stretch)", W4_TREE, "baton pool", "ns/job",
             AT_MOST(0.5), STRETCH, TIMES(TBB_POOL), FOR(2)),
	GOAL("W4 jobs from outside, # workers", W4_OUTSIDE, "baton pool", "ns/job", AT_MOST(0.5),
             TIMES(TBB_POOL), FOR(2)),

	GOAL("W5 p50, a CPU of its own, # us apart",
             W5_IDLE "the submitter's CPU its own, # us apart", "baton pool", "p50, us", AT_MOST(1),
             TIMES(STRAND), FOR(200)),
	GOAL("W5 p50, a CPU of its own, # ms apart",
             W5_IDLE "the submitter's CPU its own, # ms apart", "baton pool", "p50, us", AT_MOST(1),
             TIMES(STRAND), FOR(10)),
	GOAL("W5 p50, a shared CPU, # us apart",
             W5_IDLE "a CPU shared with the submitter, # us apart", "baton pool", "p50, us",
             AT_MOST(1), TIMES(STRAND), FOR(200)),
	GOAL("W5 p50, nothing pinned, # us apart", W5_IDLE "nothing pinned, # us apart",
             "baton pool", "p50, us", AT_MOST(1), TIMES(STRAND), FOR(200)),
	GOAL("W5 p50, nothing pinned, # ms apart", W5_IDLE "nothing pinned, # ms apart",
             "baton pool", "p50, us", AT_MOST(1), TIMES(STRAND), FOR(10)),
	GOAL("W5 idle pool, wakes/s", W5_BURNS, "baton pool", "wakes/s", AT_MOST(0)),

	GOAL("W6 broker, # publishers", W6, "baton submit", "M messages/s", AT_LEAST(1.15),
             TIMES(MUTEX), FOR(8, 64)),
	GOAL("W6 broker, # publishers: call, inlined", W6, "baton call, inlined", "M messages/s",
             AT_LEAST(1.2), TIMES(MUTEX), FOR(2, 8)),
	GOAL("W6 broker, # publishers: a future each", W6, "baton submit, future and wait",
             "M messages/s", AT_LEAST(0.9), TIMES(MUTEX), FOR(2, 8)),
	GOAL("W6 broker, # publishers (stretch)", W6, "baton submit", "M messages/s", AT_LEAST(1.3),
             STRETCH, TIMES(MUTEX), FOR(8, 64)),
	GOAL("W6 broker, # publishers: task queues", W6, "baton submit", "M messages/s",
             AT_LEAST(10), TIMES(STRAND, TBB_NODE), FOR(8, 64)),
	GOAL("W6 broker, # publishers: inline node", W6, "baton submit", "M messages/s",
             AT_LEAST(10), TIMES(TBB_INLINE), FOR(8, 64)),
	GOAL("W6b p99 with 1 ms tasks to without", W6B, "baton submit, with 1 ms tasks",
             "p99 with/without", AT_MOST(2)),
	GOAL("W6b the same, the slow ones in a pool of their own", W6B,
             "baton, slow ones' own pool, with 1 ms tasks", "p99 with/without", AT_MOST(2)),

	GOAL("W8 waiting tasks: exponent of the time", W8_WAIT, "baton submit", "time",
             AT_MOST(1.1)),
	GOAL("W8 streamed tasks: exponent of the time", W8_STREAM, "baton submit", "time",
             AT_MOST(1.1)),
	GOAL("W8 throughput to 2 threads: while each has a CPU", W8_SCALING,
             "baton submit, waits on a future", "lowest with a CPU each, to 2 threads",
             AT_LEAST(0.95)),
	GOAL("W8 throughput to 2 threads: up to 64", W8_SCALING, "baton submit, waits on a future",
             "lowest, to 2 threads", AT_LEAST(0.7)),
	GOAL("W8 the same (polling): while each has a CPU", W8_SCALING,
             "baton submit, polls a counter", "lowest with a CPU each, to 2 threads",
             AT_LEAST(0.95)),
	GOAL("W8 the same (polling): up to 64", W8_SCALING, "baton submit, polls a counter",
             "lowest, to 2 threads", AT_LEAST(0.7)),
	{.text = NULL},
};
