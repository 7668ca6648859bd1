/* SPDX-License-Identifier: MIT */
/*
 * Nodes of a space (baton/remote.h) as threads of a test's process: what they run, and questions to
 * them.
 */
#ifndef BATON_TEST_REDIS_NODES_H
#define BATON_TEST_REDIS_NODES_H

#include "server.h"

#include <baton/future.h>
#include <baton/remote.h>

#include <semaphore.h>

#define PARTITIONS 16
#define NAMES 24

/* The name's state is the number of its tasks, which is the answer and the effect, too. */
int count(struct baton_remote_job *job, void *arg);

/* The same, after the test has opened the gate (`arg`). */
struct gate {
	sem_t entered;
	sem_t open;
	unsigned runs;
};
int pass_gate(struct baton_remote_job *job, void *arg);
void gate_init(struct gate *gate);
/* Until one more job stands at the gate; fails after DEADLINE_S. */
void await_entered(struct gate *gate);

struct baton_remote *join(const struct server *server, const char *node, uint64_t lease_ns,
                          int (*run)(struct baton_remote_job *job, void *arg), void *arg);

/* A node that is lost soon takes the partition. */
void steal(const struct server *server, const struct baton_remote *from, uint32_t partition);

struct question {
	struct baton_remote_task task;
	struct baton_future future;
	char name[24];
	char answer[64];
};

/* await: the status; fails after DEADLINE_S. expect: asks, awaits, and compares the answer. */
int ask(struct baton_remote *remote, struct question *question, const char *name, const char *data);
int await(struct question *question);
void expect(struct baton_remote *remote, const char *name, const char *answer);

#endif
