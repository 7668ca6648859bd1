/* SPDX-License-Identifier: MIT */
/*
 * Time is a number of nanoseconds: a span, or an absolute time of CLOCK_MONOTONIC, which all
 * threads and processes of a machine share.
 *
 *	error = baton_future_wait(&future);
 *	error = baton_future_wait_until(&future, baton_after(5 * BATON_SECOND));
 *
 * Each wait of the library has these two forms. x_wait() waits as long as it takes. x_wait_until()
 * has a deadline, an absolute time:
 *
 *   a time to come    the wait ends with -ETIMEDOUT when the time has come
 *   a time that has   the call looks, and does not wait: it returns 0 if what would be waited for
 *   passed; 0         is over, or else -ETIMEDOUT; or -EDEADLK, where the call has already seen
 *                     that the wait would never end
 *   BATON_FOREVER     no deadline: the same as x_wait()
 *
 * Several waits may share one deadline. Structs have no deadlines, but spans (`timeout_ns`): 0 is
 * the default, which is no time-out, and BATON_FOREVER means the same.
 *
 * The times of a timer whose wheel has a clock of its own (timers.h, BATON_TIMERS_VIRTUAL) are
 * times of that clock. A main loop that is deterministic has a clock of its own, too (mainloop.h).
 */
#ifndef BATON_TIME_H
#define BATON_TIME_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BATON_MICROSECOND UINT64_C(1000)
#define BATON_MILLISECOND UINT64_C(1000000)
#define BATON_SECOND UINT64_C(1000000000)

/*
 * The end of time, which does not come. BATON_FOREVER: a wait until then has no deadline, and a
 * span of this length has no end. BATON_NEVER, the same number, is the time of what does not
 * happen: a timer that is armed at this time, or after this delay, never expires. Wherever the
 * library adds a span to a time, and the sum does not fit in 64 bits, the sum is the end of time.
 */
#define BATON_FOREVER UINT64_MAX
#define BATON_NEVER UINT64_MAX

/* CLOCK_MONOTONIC's time. Thread safety: any thread, also in a signal handler. */
uint64_t baton_now(void);

/*
 * The time `span_ns` from now: a deadline. BATON_FOREVER if the sum does not fit in 64 bits.
 * Thread safety: as baton_now().
 */
uint64_t baton_after(uint64_t span_ns);

#ifdef __cplusplus
}
#endif

#endif
