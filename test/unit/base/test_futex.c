/* SPDX-License-Identifier: MIT */
/* The futex wrapper: deadlines, and what it does where the kernel has no futex_waitv. */
#include "base/futex.h"

#include "support.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>

#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif

static void *wakes_when_asleep(void *arg)
{
	until_asleep((int)getpid()); /* the thread that waits is the first one */
	baton__futex_wake(arg, 1);
	return NULL;
}

Test(futex, a_wait_that_is_woken_and_one_for_a_value_that_is_gone_are_answered_0, .timeout = 10)
{
	uint32_t words[2] = {1, 1};
	const struct baton__futex_watch watches[2] = {{&words[0], 1}, {&words[1], 1}};

	for (size_t count = 1; count <= 2; count++) {
		pthread_t thread = thread_start(wakes_when_asleep, &words[count - 1]);

		cr_assert_eq(baton__futex_wait(watches, count, BATON_FOREVER), 0, "of %zu", count);
		thread_join(thread);
	}
	words[0] = 2;
	cr_assert_eq(baton__futex_wait(watches, 1, BATON_FOREVER), 0);
	cr_assert_eq(baton__futex_wait(watches, 2, BATON_FOREVER), 0, "one of several is gone");
}

/* From here on this process has no futex_waitv. False: that cannot be had. */
static bool forbid_futex_waitv(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_futex_waitv, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

Test(futex, without_futex_waitv_a_wait_for_several_keeps_its_deadline, .timeout = 10)
{
	struct baton_future promises[2] = {BATON_PROMISE_INIT, BATON_PROMISE_INIT};
	struct baton_future *futures[2] = {&promises[0], &promises[1]};
	uint64_t deadline;
	size_t index = 7;

	if (!forbid_futex_waitv())
		cr_skip_test("no seccomp filter may be set");
	deadline = deadline_in_ms(30);
	cr_assert_eq(baton_future_wait_any_until(futures, 2, deadline, &index), -ETIMEDOUT);
	cr_assert_eq(index, 7);
	cr_assert_eq(syscall(SYS_futex_waitv, NULL, 0, 0, NULL, 0), -1);
	cr_assert_eq(errno, ENOSYS, "there is none");
}

static void *completes_when_asleep(void *arg)
{
	struct baton_future *promise = arg;

	until_asleep((int)getpid()); /* the thread that waits is the first one */
	MUST(baton_future_complete(promise, 0, NULL) == 0);
	return NULL;
}

Test(futex, without_futex_waitv_a_wait_for_several_ends_with_any_of_them, .timeout = 10)
{
	struct baton_future promises[2] = {BATON_PROMISE_INIT, BATON_PROMISE_INIT};
	struct baton_future *futures[2] = {&promises[0], &promises[1]};
	size_t index = 7;
	pthread_t thread;

	if (!forbid_futex_waitv())
		cr_skip_test("no seccomp filter may be set");
	thread = thread_start(completes_when_asleep, &promises[1]);
	cr_assert_eq(baton_future_wait_any(futures, 2, &index), 0);
	cr_assert_eq(index, 1);
	thread_join(thread);
}
