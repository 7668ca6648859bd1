/* SPDX-License-Identifier: MIT */
/* A waiter's yields: as many as ever, unless one shows that another program has the CPU. The
 * clocks and sched_yield() are the test's own, so that nothing here depends on the machine. */
#include "wait/cpus.h"
#include "support.h"

#define US UINT64_C(1000)
#define MS UINT64_C(1000000)

static struct {
	bool on;
	uint64_t now_ns;
	uint64_t cpu_ns;
	uint64_t takes_ns; /* one yield, and what the process's CPU clock advances meanwhile */
	uint64_t uses_ns;
	unsigned yields;
	struct baton_future *complete; /* by the clock that has reached `complete_ns` */
	uint64_t complete_ns;
	uint64_t step_ns; /* what each look at the clock takes */
} fake;

int sched_yield(void)
{
	if (!fake.on)
		return (int)syscall(SYS_sched_yield);
	fake.yields++;
	fake.now_ns += fake.takes_ns;
	fake.cpu_ns += fake.uses_ns;
	return 0;
}

int clock_gettime(clockid_t clock, struct timespec *time)
{
	uint64_t ns = clock == CLOCK_PROCESS_CPUTIME_ID ? fake.cpu_ns : fake.now_ns;

	if (!fake.on)
		return (int)syscall(SYS_clock_gettime, clock, time);
	*time = (struct timespec){(time_t)(ns / (1000 * MS)), (long)(ns % (1000 * MS))};
	fake.now_ns += fake.step_ns;
	if (fake.complete && clock == CLOCK_MONOTONIC && ns >= fake.complete_ns) {
		MUST(baton_future_complete(fake.complete, 0, NULL) == 0);
		fake.complete = NULL;
	}
	return 0;
}

/* The fake clock begins at 0 and lags behind the kernel's, for which the deadline has passed: no
 * sleep lasts. */
static unsigned yields_of_a_wait(uint64_t takes_ns, uint64_t uses_ns)
{
	struct baton_future promise = BATON_PROMISE_INIT;
	uint64_t deadline = fake.now_ns + 300 * takes_ns;

	fake.takes_ns = takes_ns;
	fake.uses_ns = uses_ns;
	fake.yields = 0;
	fake.on = true;
	MUST(baton_future_wait_until(&promise, deadline) == -ETIMEDOUT);
	fake.on = false;
	return fake.yields;
}

/* The wait looks at the clock when it begins, and again before it helps. */
Test(yield, a_future_that_completes_as_the_deadline_passes_has_not_timed_out, .timeout = 10)
{
	struct baton_future promise = BATON_PROMISE_INIT;
	const uint64_t deadline = US;

	fake.complete = &promise;
	fake.complete_ns = 2 * US;
	fake.step_ns = 2 * US;
	fake.on = true;
	cr_assert_eq(baton_future_wait_until(&promise, deadline), 0);
	fake.on = false;
	cr_assert_null(fake.complete);
}

Test(yield, short_ones_are_all_made, .timeout = 10)
{
	cr_assert_gt(yields_of_a_wait(US, 0), 100);
}

Test(yield, one_that_gave_the_cpu_to_another_program_is_the_last_for_a_while, .timeout = 10)
{
	for (uint64_t takes_ns = 100 * US; takes_ns < 10 * MS; takes_ns *= 3) {
		cr_assert_eq(yields_of_a_wait(takes_ns, 0), 1);
		cr_assert_eq(yields_of_a_wait(takes_ns, 0), 0);
		fake.now_ns += 60 * takes_ns;
		cr_assert_eq(yields_of_a_wait(takes_ns, 0), 0);
		fake.now_ns += 5 * takes_ns;
		cr_assert_eq(yields_of_a_wait(takes_ns, 0), 1);
		fake.now_ns += 65 * takes_ns;
		cr_assert_gt(yields_of_a_wait(US, 0), 100, "the other program has gone");
	}
}

Test(yield, one_that_took_very_long_is_the_last_for_a_second, .timeout = 10)
{
	cr_assert_eq(yields_of_a_wait(20 * MS, 0), 1);
	fake.now_ns += 999 * MS;
	cr_assert_eq(yields_of_a_wait(20 * MS, 0), 0);
	fake.now_ns += MS;
	cr_assert_gt(yields_of_a_wait(US, 0), 100);
}

Test(yield, long_ones_are_made_while_own_threads_have_most_of_the_cpu_time, .timeout = 10)
{
	uint64_t all = baton__cpus_known() * MS;

	cr_assert_eq(baton__cpus_known(), baton__cpus_available(""));
	cr_assert_gt(yields_of_a_wait(MS, all), 100);
	cr_assert_gt(yields_of_a_wait(MS, all / 4 * 3), 100);
	cr_assert_eq(yields_of_a_wait(MS, all / 4 * 3 - US), 1);
}
