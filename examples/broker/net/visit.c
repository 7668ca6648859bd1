/* SPDX-License-Identifier: MIT */
/* Visits of sleeping loops; see visit.h. */
#include "net/visit.h"

#include <poll.h>

#include "common/atomic.h"
#include "common/must.h"
#include "net/loop.h"
#include "net/net.h"

/* With more messages in a turn, loops had better work side by side. */
#define VISIT_MESSAGES 8
#define VISIT_LOOPS 64 /* bits of `others`; further loops are woken */

/* The loop whose thread this is. */
static _Thread_local struct loop *here;

/* The first task waits for a loop: in place of the executor's signal. Any thread. */
static void visit_signal(void *arg)
{
	struct loop *loop = arg;
	const size_t index = (size_t)(loop - loop->net->loops);

	if (here == loop)
		loop->signalled = true; /* seen before it sleeps */
	else if (here != NULL && !here->visit.busy && index < VISIT_LOOPS)
		here->visit.others |= UINT64_C(1) << index;
	else
		baton_loop_wake(loop->executor);
}

void visit_init(struct loop *loop)
{
	baton_loop_set_signal(loop->executor, visit_signal, loop);
}

void visit_begin(struct loop *loop)
{
	here = loop;
	must(baton_loop_adopt(loop->executor), "adopt the loop");
}

/*
 * Acquire and release, here and below: what one thread has done in the turn is visible to the next
 * one. False: the turn is another thread's.
 */
static bool visit_take(struct loop *loop, uint32_t turn)
{
	uint32_t asleep = VISIT_ASLEEP;

	if (!cas_acq_rel(&loop->visit.turn, &asleep, turn))
		return false;
	must(baton_loop_adopt(loop->executor), "adopt a loop");
	return true;
}

/* The end of a visit. The last touch of the loop. */
static void visit_leave(struct loop *loop)
{
	uint32_t visited = VISIT_VISITED;

	/* So what this thread submits from now on signals, and is not gathered. */
	baton_loop_disown(loop->executor);
	if (cas_acq_rel(&loop->visit.turn, &visited, VISIT_ASLEEP))
		return;
	/* It is VISIT_WANTED. Acquire: the thread has made the promise before; the CAS that has
	 * failed does not order that. */
	(void)load_acquire(&loop->visit.turn);
	store_release(&loop->visit.turn, VISIT_ASLEEP);
	must(baton_future_complete(&loop->visit.left, 0, NULL), "leave a loop");
}

/* The loop's thread has woken. */
static void visit_take_back(struct loop *loop)
{
	struct visit *visit = &loop->visit;

	while (!visit_take(loop, VISIT_AWAKE)) {
		uint32_t visited = VISIT_VISITED;

		visit->left = (struct baton_future)BATON_PROMISE_INIT;
		if (cas_acq_rel(&visit->turn, &visited, VISIT_WANTED))
			must(baton_future_wait(&visit->left), "wait for a visitor");
	}
}

/* When the loop's thread wakes by itself, in the loop's milliseconds; 0: it must not sleep. */
static uint64_t visit_due(struct loop *loop)
{
	const int timeout = uv_backend_timeout(&loop->uv);

	if (timeout == 0 || loop->signalled || loop->watches)
		return 0;
	return timeout < 0 ? UINT64_MAX : uv_now(&loop->uv) + (uint64_t)timeout;
}

/* Runs what waits for a sleeping loop. False: it is awake, or its thread must wake now. */
static bool visit_one(struct loop *loop)
{
	bool rests;

	if (!visit_take(loop, VISIT_VISITED))
		return false;
	loop->stats.visits++;
	uv_update_time(&loop->uv);
	baton_loop_run(loop->executor, 0);
	loop_settle(loop);
	rests = visit_due(loop) >= loop->visit.due;
	visit_leave(loop);
	return rests;
}

void visit_others(struct loop *loop)
{
	struct visit *visit = &loop->visit;
	uint64_t others = visit->others;

	visit->busy = loop->stats.messages_in - visit->messages > VISIT_MESSAGES;
	visit->messages = loop->stats.messages_in;
	visit->others = 0;
	for (; others != 0; others &= others - 1) {
		struct loop *other = &loop->net->loops[__builtin_ctzll(others)];

		if (visit->busy || !visit_one(other))
			baton_loop_wake(other->executor);
	}
	/* The visits' own tasks may have had something for others. */
	for (others = visit->others; others != 0; others &= others - 1)
		baton_loop_wake(loop->net->loops[__builtin_ctzll(others)].executor);
	visit->others = 0;
}

void visit_sleep(struct loop *loop)
{
	struct pollfd input = {.fd = uv_backend_fd(&loop->uv), .events = POLLIN};
	const uint64_t due = visit_due(loop);
	/* Read here: behind the store, a visitor may set libuv's time. */
	const int timeout = due == UINT64_MAX ? -1 : (int)(due - uv_now(&loop->uv));

	if (due == 0)
		return;
	loop->visit.due = due;
	store_release(&loop->visit.turn, VISIT_ASLEEP);
	(void)poll(&input, 1, timeout);
	visit_take_back(loop);
}
