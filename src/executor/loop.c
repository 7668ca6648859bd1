/* SPDX-License-Identifier: MIT */
/*
 * The loop executor: an eventfd tells a thread in an event loop that jobs wait.
 */
#include <baton/loop.h>

#include "executor/driven.h"

#include "base/atomic.h"
#include "base/checked.h"
#include "core/place.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct baton_loop {
	struct baton__driven driven;
	int fd;
	uint64_t told; /* what was written to `fd`, or will be at once, and was not read yet */
	bool (*should_yield)(void *arg);
	void *arg; /* of should_yield */
	void (*signal)(void *arg); /* NULL: the descriptor */
	void *signal_arg;
};

static void signal_loop(struct baton_loop *loop)
{
	uint64_t one = 1;

	/* Relaxed: the kernel orders it, who finds the descriptor readable finds it counted. */
	add_relaxed(&loop->told, 1);
	/* EAGAIN (2^64 - 2 unread signals): the descriptor is readable already. */
	while (write(loop->fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

/* Called for the first job since the owner took the inbox. The owner clears the signal before it
 * takes the inbox: no signal is lost. */
static void signal_driven(struct baton__driven *driven)
{
	struct baton_loop *loop = baton_container_of(driven, struct baton_loop, driven);

	if (loop->signal)
		loop->signal(loop->signal_arg);
	else
		signal_loop(loop);
}

static bool yields(struct baton__driven *driven)
{
	const struct baton_loop *loop = baton_container_of(driven, struct baton_loop, driven);

	return loop->should_yield(loop->arg);
}

BATON_EXPORT int baton_loop_create(struct baton_loop **loop)
{
	BATON__NEED(loop, "there is no place for the loop");

	struct baton_loop *new = calloc(1, sizeof(*new));
	int error;

	if (!new)
		return -ENOMEM;
	baton__driven_init(&new->driven, signal_driven);
	new->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (new->fd < 0) {
		error = -errno;
		free(new);
		return error;
	}
	BATON__CHECKED(made(new, &new->driven.executor, __func__));
	*loop = new;
	return 0;
}

BATON_EXPORT struct baton_executor *baton_loop_executor(struct baton_loop *loop)
{
	BATON__CHECKED(owned(loop, __func__));
	return &loop->driven.executor;
}

BATON_EXPORT int baton_loop_fd(const struct baton_loop *loop)
{
	BATON__CHECKED(owned(loop, __func__));
	return loop->fd;
}

BATON_EXPORT void baton_loop_wake(struct baton_loop *loop)
{
	BATON__CHECKED(owned(loop, __func__));
	/* A fork's child shares the descriptor with its parent. */
	if (!baton__forked())
		signal_loop(loop);
}

BATON_EXPORT void baton_loop_set_should_yield(struct baton_loop *loop,
                                              bool (*should_yield)(void *arg), void *arg)
{
	BATON__CHECKED(owned(loop, __func__));
	loop->should_yield = should_yield;
	loop->arg = arg;
	loop->driven.yields = should_yield ? yields : NULL;
}

BATON_EXPORT void baton_loop_set_signal(struct baton_loop *loop, void (*signal)(void *arg),
                                        void *arg)
{
	BATON__CHECKED(owned(loop, __func__));
	loop->signal = signal;
	loop->signal_arg = arg;
}

BATON_EXPORT bool baton_loop_is_owner(const struct baton_loop *loop)
{
	BATON__CHECKED(owned(loop, __func__));
	return baton__driven_owned(&loop->driven);
}

BATON_EXPORT int baton_loop_adopt(struct baton_loop *loop)
{
	BATON__CHECKED(owned(loop, __func__));
	return baton__driven_adopt(&loop->driven);
}

BATON_EXPORT void baton_loop_disown(struct baton_loop *loop)
{
	BATON__CHECKED(owned(loop, __func__));
	BATON_REQUIRE(baton__driven_owned(&loop->driven), BATON__NOT_OWNER);
	loop->driven.gathering = false;
	baton__driven_disown(&loop->driven);
}

/* Runs the jobs in the list, at most `jobs_max` (0: all). Jobs that these jobs schedule are for the
 * next call, so that the loop looks at its sockets in between. */
static size_t run_listed(struct baton_loop *loop, size_t jobs_max)
{
	const struct baton_job *last = baton__driven_last(&loop->driven);
	bool more = last && !baton__too_deep_to_call(baton__self);
	size_t count = 0;

	loop->driven.gathering = false;
	/* The loop ends with the job that was last in the list. If a nested drive has run that job,
	 * the loop ends when the list is empty. The nested drive may have appended the inbox to the
	 * list, but later jobs go to the inbox. */
	while (more && (jobs_max == 0 || count < jobs_max)) {
		struct baton_job *job = baton__driven_pop_listed(&loop->driven);

		if (!job)
			break; /* a nested drive has run the others */
		more = job != last;
		count++;
		baton__driven_run(job);
	}
	if (loop->driven.list)
		signal_driven(&loop->driven);
	return count;
}

BATON_EXPORT size_t baton_loop_run(struct baton_loop *loop, size_t jobs_max)
{
	BATON__CHECKED(owned(loop, __func__));

	uint64_t signals;

	/* A fork's child shares the descriptor with its parent. The signal is the parent's. */
	if (BATON_UNLIKELY(baton__forked()))
		return 0;
	if (BATON_UNLIKELY(!baton__driven_owned(&loop->driven)) && baton_loop_adopt(loop))
		return 0;
	/* No signal: a nested drive may have left jobs in the list, or the signal is the host's. */
	if (load_relaxed(&loop->told)) {
		ssize_t size;

		/* EAGAIN: counted, but not written yet. */
		while ((size = read(loop->fd, &signals, sizeof(signals))) < 0 && errno == EINTR)
			;
		if (size > 0)
			(void)sub_relaxed(&loop->told, signals);
	}
	baton__driven_take(&loop->driven);
	return run_listed(loop, jobs_max);
}

BATON_EXPORT void baton_loop_gather(struct baton_loop *loop)
{
	BATON__CHECKED(owned(loop, __func__));
	BATON_REQUIRE(baton__driven_owned(&loop->driven), BATON__NOT_OWNER);
	loop->driven.gathering = true;
}

BATON_EXPORT size_t baton_loop_run_gathered(struct baton_loop *loop)
{
	BATON__CHECKED(owned(loop, __func__));
	BATON_REQUIRE(baton__driven_owned(&loop->driven), BATON__NOT_OWNER);
	return run_listed(loop, 0);
}

BATON_EXPORT void baton_loop_destroy(struct baton_loop *loop)
{
	BATON__CHECKED(owned(loop, __func__));

	struct baton_job *job;

	baton__driven_close(&loop->driven);
	/* Pops one job at a time: a job that waits may drive the other jobs. */
	while ((job = baton__driven_pop(&loop->driven)))
		baton_job_run(job);
	(void)close(loop->fd);
	BATON__CHECKED(ended(loop, &loop->driven.executor, __func__));
	free(loop);
}
