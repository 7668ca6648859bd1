/* SPDX-License-Identifier: MIT */
/* What can be stopped (baton/stop.h): a table, of which each kind is a row. For test_stop.c. */
#ifndef BATON_TEST_UNIT_STOP_KINDS_H
#define BATON_TEST_UNIT_STOP_KINDS_H

#include "fixture.h"

#include <baton/io.h>
#include <baton/stop.h>
#include <baton/suspend.h>
#include <baton/timer.h>
#include <baton/timers.h>
#include <baton/trigger.h>

#include <sys/socket.h>
#include <unistd.h>

#define POISON 0xA5

struct kind;

struct subject {
	union {
		struct baton_trigger trigger;
		struct baton_timer timer;
		struct baton_io io;
	} x; /* the first member: run finds the subject by it */
	const struct kind *kind;
	atomic_int runs;
	atomic_int told;
	enum { PASSES, STAYS, TELLS, SUSPENDS, FREES, WAITS } mode; /* what the function does */
	sem_t entered;
	sem_t leave;
	enum baton_stop met; /* by a stop inside the function, or on another thread */
	int waited;          /* what a stop_wait there has returned */
	pthread_t thread;
};

struct kind {
	const char *name;
	void (*init)(struct subject *subject, struct baton_resource *resource);
	void (*arm)(struct subject *subject);  /* a run is wanted for later; NULL: cannot be */
	void (*want)(struct subject *subject); /* a run is wanted now */
	void (*end)(void);                     /* gives back what init has made; NULL: nothing */
	struct baton_stopped (*stop)(void *x);
	struct baton_stopped (*stop_then)(void *x, baton_stopped_fn stopped, void *arg);
	int (*stop_wait)(void *x);
	int (*stop_wait_until)(void *x, uint64_t deadline_ns);
};

static struct baton_suspension suspension; /* SUSPENDS: by the function */

static void poison(struct subject *subject)
{
	memset(&subject->x, POISON, sizeof(subject->x));
}

/* Has nobody written to the memory since? */
static bool is_poisoned(const struct subject *subject)
{
	const unsigned char *byte = (const unsigned char *)&subject->x;

	for (size_t i = 0; i < sizeof(subject->x); i++)
		if (byte[i] != POISON)
			return false;
	return true;
}

static void told(void *arg)
{
	struct subject *subject = arg;

	poison(subject);
	(void)atomic_fetch_add(&subject->told, 1);
}

static int run(void *x)
{
	struct subject *subject = x;
	int result = 0;

	switch (subject->mode) {
	case PASSES:
		break;
	case STAYS:
		gate_open(&subject->entered);
		gate_pass(&subject->leave);
		break;
	case SUSPENDS:
		MUST(baton_resource_suspend(&fix.resource, &suspension) == 0);
		/* fall through */
	case TELLS:
		subject->met = subject->kind->stop_then(x, told, subject).met;
		MUST(!atomic_load(&subject->told));
		break;
	case WAITS:
		subject->waited = subject->kind->stop_wait(x);
		break;
	case FREES:
		subject->met = subject->kind->stop(x).met;
		poison(subject);
		result = BATON_GONE;
		break;
	}
	(void)atomic_fetch_add(&subject->runs, 1);
	return result;
}

/* ---- The kinds ---- */

#define STOPS(noun)                                                                                \
	static struct baton_stopped noun##_stop(void *x)                                           \
	{                                                                                          \
		return baton_##noun##_stop(x);                                                     \
	}                                                                                          \
                                                                                                   \
	static struct baton_stopped noun##_stop_then(void *x, baton_stopped_fn stopped, void *arg) \
	{                                                                                          \
		return baton_##noun##_stop_then(x, stopped, arg);                                  \
	}                                                                                          \
                                                                                                   \
	static int noun##_stop_wait(void *x)                                                       \
	{                                                                                          \
		return baton_##noun##_stop_wait(x);                                                \
	}                                                                                          \
                                                                                                   \
	static int noun##_stop_wait_until(void *x, uint64_t deadline_ns)                           \
	{                                                                                          \
		return baton_##noun##_stop_wait_until(x, deadline_ns);                             \
	}

#define STOP_FORMS(noun) noun##_stop, noun##_stop_then, noun##_stop_wait, noun##_stop_wait_until

static int run_trigger(struct baton_trigger *trigger, uint64_t fires)
{
	MUST(fires == 1);
	return run(trigger);
}

static void trigger_init(struct subject *subject, struct baton_resource *resource)
{
	baton_trigger_init(&subject->x.trigger, resource, run_trigger);
}

static void trigger_want(struct subject *subject)
{
	MUST(baton_trigger_fire(&subject->x.trigger) == 0);
}

STOPS(trigger)

#define TICK 1024

static struct baton_timers *wheel; /* on a virtual clock */

static int run_timer(struct baton_timer *timer)
{
	return run(timer);
}

static void timer_init(struct subject *subject, struct baton_resource *resource)
{
	const struct baton_timers_options options = {.source = BATON_TIMERS_VIRTUAL};

	if (!wheel)
		MUST(baton_timers_create(&options, &wheel) == 0);
	baton_timer_init(&subject->x.timer, wheel, resource, run_timer);
}

static void timer_arm(struct subject *subject)
{
	MUST(baton_timer_arm_after(&subject->x.timer, 1000 * BATON_SECOND) == 0);
}

static void timer_want(struct subject *subject)
{
	MUST(baton_timer_arm_after(&subject->x.timer, TICK) == 0);
	MUST(baton_timers_advance(wheel, TICK) == 1);
}

static void timer_end(void)
{
	MUST(baton_timers_destroy(wheel) == 0);
	wheel = NULL;
}

STOPS(timer)

static int ends[2]; /* a pair of sockets; the watch is of the first */

static int run_io(struct baton_io *io)
{
	char byte;

	MUST(read(io->fd, &byte, 1) == 1);
	return run(io);
}

static void io_init(struct subject *subject, struct baton_resource *resource)
{
	if (!ends[0])
		MUST(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
	baton_io_init(&subject->x.io, resource, run_io);
}

static void io_arm(struct subject *subject)
{
	MUST(baton_io_start(&subject->x.io, ends[0], BATON_IO_READ | BATON_IO_AGAIN) == 0);
}

static void io_want(struct subject *subject)
{
	MUST(baton_io_start(&subject->x.io, ends[0], BATON_IO_READ) == 0);
	MUST(write(ends[1], "", 1) == 1);
}

static void io_end(void)
{
	MUST(baton_io_destroy() == 0);
	MUST(close(ends[0]) == 0 && close(ends[1]) == 0);
	ends[0] = 0;
}

STOPS(io)

static const struct kind kinds[] = {
	{"io", io_init, io_arm, io_want, io_end, STOP_FORMS(io)},
	{"timer", timer_init, timer_arm, timer_want, timer_end, STOP_FORMS(timer)},
	{"trigger", trigger_init, NULL, trigger_want, NULL, STOP_FORMS(trigger)},
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

#endif
