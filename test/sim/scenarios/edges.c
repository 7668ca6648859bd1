/* SPDX-License-Identifier: MIT */
/*
 * Edges that no other scenario looks at: small programs, each for one or two of the orders that
 * the mutants (test/mutants/) weaken.
 */
#include "support.h"

#include <baton/pool.h>

#include "base/atomic.h"
#include "thread/node.h"
#include "thread/thread.h"

/* ---- call ---- */

static struct sim_topic topic;
static int changes;

static void *change(void *argument)
{
	sim_require(baton_held(&topic.resource));
	changes++;
	return argument;
}

static void call_twice(void *argument)
{
	void *value = NULL;

	for (int i = 0; i < 2; i++) {
		sim_require(baton_call(&topic.resource, change, argument, &value) == 0);
		sim_require(value == argument);
	}
}

SIM_SCENARIO(edge_call, "[word.baton] calls see what the calls before them did")
{
	int self;

	sim_topic_init(&topic, 10, 64, NULL);
	sim_start(call_twice, &self);
	call_twice(&changes);
	sim_join_all();
	sim_require(changes == 4);
}

static void try_call(void *argument)
{
	int status = baton_try_call(&topic.resource, change, argument, NULL);

	sim_require(status == 0 || status == -EAGAIN);
}

SIM_SCENARIO(edge_try_call, "[word.baton] a call that waits for nobody")
{
	sim_topic_init(&topic, 10, 64, NULL);
	sim_start(try_call, NULL);
	sim_start(try_call, NULL);
	sim_join_all();
	sim_require(changes >= 1);
}

/* ---- close ---- */

static void call_before_close(void *argument)
{
	int status = baton_call(&topic.resource, change, argument, NULL);

	sim_require(status == 0 || status == -EPIPE);
}

SIM_SCENARIO(edge_close_idle,
             "[word.baton] who awaits an idle resource sees what its last runner did")
{
	sim_topic_init(&topic, 10, 64, NULL);
	sim_start(call_before_close, NULL);
	(void)baton_resource_close(&topic.resource);
	sim_require(baton_resource_await(&topic.resource) == 0);
	changes++;
}

static void read_when_closed(void *argument)
{
	while (load_relaxed(&topic.resource._word) != BATON__WORD_CLOSED)
		sim_yield();
	baton_resource_deinit(&topic.resource);
	changes++;
}

SIM_SCENARIO(edge_deinit, "[word.baton] deinit sees what the last runner did")
{
	sim_topic_init(&topic, 10, 64, NULL);
	sim_start(read_when_closed, NULL);
	sim_require(baton_call(&topic.resource, change, NULL, NULL) == 0);
	(void)baton_resource_close(&topic.resource);
}

/* ---- Nodes ---- */

static void *bodies[2];

static void free_given(void *argument)
{
	void *body = bodies[sim_thread() - 1];

	sim_require(baton__thread_attach() == 0);
	memset(body, 1, BATON__NODE_BODY_SIZE);
	baton__node_free(body);
	baton__node_flush(baton__self);
}

static unsigned came_back;

static void take_node(void)
{
	void *body = baton__node_alloc(BATON__NODE_BODY_SIZE);

	memset(body, 2, BATON__NODE_BODY_SIZE);
	for (int i = 0; i < 2; i++) {
		if (body == bodies[i]) {
			bodies[i] = NULL;
			came_back++;
		}
	}
}

SIM_SCENARIO(edge_nodes, "[node.return] nodes come home as their last users left them, each once")
{
	sim_require(baton__thread_attach() == 0);
	bodies[0] = baton__node_alloc(BATON__NODE_BODY_SIZE);
	bodies[1] = baton__node_alloc(BATON__NODE_BODY_SIZE);
	sim_start(free_given, NULL);
	sim_start(free_given, NULL);
	take_node();
	take_node();
	sim_join_all();
	for (int i = 0; i < 2; i++)
		take_node();
	sim_require(came_back == 2);
}

/* ---- Records of threads ---- */

static void use_node(void *argument)
{
	void *body;

	sim_require(baton__thread_attach() == 0);
	body = baton__node_alloc(BATON__NODE_BODY_SIZE);
	sim_require(baton__depth(baton__self) == 0 && baton__self->session > 0);
	baton__node_free(body);
}

static void use_node_and_end(void *argument)
{
	use_node(argument);
	baton__thread_detach();
	use_node(argument);
}

SIM_SCENARIO(edge_records,
             "[thread.record] [thread.owner] a record is one thread's at a time, whole")
{
	sim_start(use_node_and_end, NULL);
	sim_start(use_node_and_end, NULL);
	use_node(NULL);
}

static void sleep_for(void *argument)
{
	struct baton_future *future = argument;

	sim_require(baton_future_wait(future) == 0);
}

SIM_SCENARIO(edge_registry, "[thread.record] who looks for sleepers sees records that are whole")
{
	static struct baton_future future;

	baton_promise_init(&future);
	sim_start(sleep_for, &future);
	sim_start(use_node, NULL);
	sim_require(baton__thread_attach() == 0);
	baton__thread_nudge_all();
	baton__thread_nudge_for(&topic, NULL);
	baton__thread_await_outside(&topic);
	sim_require(baton_future_complete(&future, 0, NULL) == 0);
	sim_join_all();
}
