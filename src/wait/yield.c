/* SPDX-License-Identifier: MIT */
/*
 * Yields of a thread that waits. A yield costs less than a sleep and a wake-up while all threads
 * that want the CPU belong to the same program: the awaited thread is one of them, and needs no
 * system call to let the waiter continue.
 *
 * A yield beside another program's busy thread gives that thread the CPU for a whole time slice,
 * some milliseconds. The kernel takes the rest of the waiter's own slice away, too, so that the
 * waiter comes back late, while a thread that sleeps is let in at once when it is woken. So a yield
 * that took long ends the row of yields, unless the program itself had most of the CPU time. The
 * thread then does not yield for YIELDS_REST times as long as that yield took, at most for
 * YIELDS_REST_MAX_NS. Up to that limit, yields to other programs cost a thread one part in
 * YIELDS_REST of its time.
 *
 * Invariant: yields.rest: `yields_from_ns` of a thread's record is that thread's own.
 */
#include "wait/yield.h"

#include <sched.h>
#include <time.h>

#include "base/futex.h"
#include "thread/thread.h"
#include "wait/cpus.h"

/* In a yield that takes so long, another thread has had the CPU. */
#define YIELD_SHARED_NS 4000U
#define YIELD_LONG_NS 50000U
#define YIELDS_REST 64U
#define YIELDS_REST_MAX_NS 1000000000U

static uint64_t cpu_ns(void)
{
	struct timespec used;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	return (uint64_t)used.tv_sec * 1000000000U + (uint64_t)used.tv_nsec;
}

bool baton__yields_begin(struct baton__yields *yields)
{
	uint64_t now_ns = baton__now_ns();

	if (now_ns < baton__self->learnt.yields_from_ns)
		return false;
	*yields = (struct baton__yields){now_ns, cpu_ns(), now_ns};
	return true;
}

/* Since the row began, has this process had three quarters of the CPU time that it may have? */
static bool own_threads_ran(const struct baton__yields *yields)
{
	uint64_t elapsed_ns = yields->last_ns - yields->begun_ns;

	return (cpu_ns() - yields->cpu_ns) * 4 >= elapsed_ns * baton__cpus_known() * 3;
}

bool baton__yield(struct baton__yields *yields)
{
	uint64_t before_ns = yields->last_ns;
	uint64_t took_ns;

	(void)sched_yield();
	yields->last_ns = baton__now_ns();
	took_ns = yields->last_ns - before_ns;
	if (took_ns >= YIELD_SHARED_NS)
		baton__self->learnt.cpu_given++;
	if (took_ns < YIELD_LONG_NS || own_threads_ran(yields))
		return true;
	baton__self->learnt.yields_from_ns =
		yields->last_ns + (took_ns < YIELDS_REST_MAX_NS / YIELDS_REST
	                                   ? took_ns * YIELDS_REST
	                                   : YIELDS_REST_MAX_NS);
	return false;
}
