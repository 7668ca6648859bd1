/* SPDX-License-Identifier: MIT */
/*
 * The plan of a cycle, and the numbers of its calls.
 */
#include "fault.h"

#include <errno.h>
#include <stdatomic.h>
#include <time.h>

/* An interrupted read or write is tried again: "from the n-th on" is a burst of so many. */
#define BURST 16U

#define EACH UINT32_MAX
#define FEW 16U

const struct fault_kind_info fault_kinds[FAULT_KINDS] = {
	[FAULT_ALLOCATION] = {"allocation", FAULT_AT_ALLOCATION, EACH, true},
	[FAULT_LARGE] = {"large", FAULT_AT_LARGE, EACH, true},
	[FAULT_THREAD] = {"thread", FAULT_AT_THREAD, EACH, true},
	[FAULT_KEY] = {"key", FAULT_AT_KEY, EACH, true},
	[FAULT_AFFINITY] = {"affinity", FAULT_AT_AFFINITY, EACH, true},
	[FAULT_DESCRIPTOR] = {"descriptor", FAULT_AT_DESCRIPTOR, EACH, true},
	[FAULT_WAIT_EINTR] = {"wait-eintr", FAULT_AT_WAIT, FEW, true},
	[FAULT_WAIT_EAGAIN] = {"wait-eagain", FAULT_AT_WAIT, FEW, true},
	[FAULT_WAIT_NOTHING] = {"wait-nothing", FAULT_AT_WAIT, FEW, true},
	[FAULT_WAITV_ENOSYS] = {"waitv-enosys", FAULT_AT_WAITV, FEW, true},
	[FAULT_WAITV_EPERM] = {"waitv-eperm", FAULT_AT_WAITV, FEW, true},
	[FAULT_WAKE] = {"wake", FAULT_AT_WAKE, FEW, true},
	[FAULT_READ_EINTR] = {"read-eintr", FAULT_AT_READ, EACH, true},
	[FAULT_READ_EAGAIN] = {"read-eagain", FAULT_AT_READ, EACH, true},
	[FAULT_WRITE_EINTR] = {"write-eintr", FAULT_AT_WRITE, EACH, true},
	[FAULT_WRITE_EAGAIN] = {"write-eagain", FAULT_AT_WRITE, EACH, true},
	[FAULT_CLOCK_AHEAD] = {"clock-ahead", FAULT_AT_CLOCK, FEW, true},
	[FAULT_CLOCK_BACK] = {"clock-back", FAULT_AT_CLOCK, FEW, false},
	[FAULT_YIELD] = {"yield", FAULT_AT_YIELD, 4, false},
};

static struct fault_plan plan;
static atomic_bool planned;
static atomic_bool ended;
static atomic_bool counting;
static atomic_uint counts[FAULT_POINTS];
static atomic_uint injected;
static atomic_uint waits;

void fault_arm(const struct fault_plan *with)
{
	for (int i = 0; i < FAULT_POINTS; i++)
		atomic_store(&counts[i], 0);
	atomic_store(&injected, 0);
	if (with)
		plan = *with;
	atomic_store(&planned, with != NULL);
	atomic_store(&ended, false);
	atomic_store(&counting, true);
}

void fault_disarm(void)
{
	atomic_store(&counting, false);
	atomic_store(&planned, false);
}

void fault_end(void)
{
	atomic_store(&ended, true);
}

void fault_hold(void)
{
	atomic_store(&counting, false);
}

void fault_release(void)
{
	atomic_store(&counting, true);
}

bool fault_planned(void)
{
	return atomic_load(&planned);
}

bool fault_hit(enum fault_point point)
{
	bool burst = point == FAULT_AT_READ || point == FAULT_AT_WRITE;
	uint32_t number;

	if (!atomic_load(&counting))
		return false;
	number = atomic_fetch_add(&counts[point], 1) + 1;
	if (!atomic_load(&planned) || atomic_load(&ended) || point != fault_kinds[plan.kind].point)
		return false;
	if (number < plan.nth || (!plan.lasting && number > plan.nth))
		return false;
	if (plan.lasting && burst && number >= plan.nth + BURST)
		return false;
	atomic_fetch_add(&injected, 1);
	return true;
}

enum fault_kind fault_kind_now(void)
{
	return plan.kind;
}

bool fault_lasting_now(void)
{
	return plan.lasting;
}

uint32_t fault_count(enum fault_point point)
{
	return atomic_load(&counts[point]);
}

uint32_t fault_injected(void)
{
	return atomic_load(&injected);
}

uint32_t fault_waits(void)
{
	return atomic_load(&waits);
}

void fault_waits_add(void)
{
	atomic_fetch_add(&waits, 1);
}

void fault_pause_us(long duration_us)
{
	struct timespec left = {duration_us / 1000000, duration_us % 1000000 * 1000};

	while (nanosleep(&left, &left) && errno == EINTR)
		continue;
}
