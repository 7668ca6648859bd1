/* SPDX-License-Identifier: MIT */
/*
 * baton_submit() and baton_call() without a call of the library. A program that includes this
 * header captures and releases an idle resource in its own code. For all other cases the code goes
 * into the library. What resource.h says about the two functions holds here without exception.
 *
 * Experimental: may change without a table in CHANGES until a program from a real need uses it.
 *
 * The header is optional, and baton.h does not include it. Include it in the files where an idle
 * submit or call is hot. Each use adds about 250 bytes of code. The gain is largest where a thread
 * uses many resources: the processor can begin the next call during the wait for a cache line.
 *
 * Corner cases. The inlined code needs an open, idle resource that nothing makes special: the
 * capture limit is above 0, with no limit in time, and the resource has no statistics, lanes,
 * bound, drain hooks, enter, leave or config->failed. The task has no future and no type, and the
 * thread has a record and is in no other task. Otherwise the code calls the library.
 *
 * Compatibility. The code and the library share a few members of a thread's record, and one of a
 * resource. The names of the symbols that the code needs end in the version of this interface
 * (BATON_INLINE_VERSION). A library of the same soname without these symbols, as libbaton-checked,
 * serves the program all the same: the code finds at run time that the symbols are not there, and
 * calls the library. BATON_NO_INLINE, defined before the include, has the same
 * effect at compile time: for a build that looks for errors, say.
 *
 * A task's function that is left by an exception, pthread_exit or a cancellation ends the process,
 * as task.h says. A C file must be compiled with -fexceptions for the line that names the resource;
 * without this option, only the end of the thread is noticed.
 */
#ifndef BATON_INLINE_H
#define BATON_INLINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <baton/attributes.h>
#include <baton/hold.h>
#include <baton/resource.h>
#include <baton/task.h>

/* ---- The interface with the library: not for programs ---- */

/* Changes with the soname alone: for the loader, a symbol that comes in a later version of the
 * library is not optional, though it is weak. */
#define BATON_INLINE_VERSION 2

/* The words of an idle resource and of a busy resource of which nothing is asked (core/word.h). */
#define BATON_INLINE_IDLE UINT64_C(0)
#define BATON_INLINE_BUSY UINT64_C(1)

/* After a capture that has failed, so many captures of idle resources look first (`wary`). */
#ifndef BATON_INLINE_WARY /* the explorer makes it small */
#define BATON_INLINE_WARY 32U
#endif

/* In `wary`, above the number of captures: functions of this thread carry a value (carried.h). Then
 * calls leave the short path, tasks do not. */
#define BATON_INLINE_CARRIES UINT32_C(0x80000000)

/* In `top`: a baton that is held without a frame. */
#define BATON_INLINE_BARE UINT64_C(1)

/* In `top`, with BARE: a hold (hold.h) has the baton, no function. */
#define BATON_INLINE_HOLD UINT64_C(2)

/*
 * The first members of a thread's record. Only the record's thread writes them.
 *
 * `top` says what the thread holds. 0: nothing. The address of a resource, and BATON_INLINE_BARE:
 * this resource alone, taken by a short path; with BATON_INLINE_HOLD: by a hold. BATON_INLINE_BARE
 * alone: nothing, but the thread has no record, or may not use it. Else the innermost frame
 * (thread.h).
 */
struct baton__thread_head {
	uintptr_t top;
	struct baton_job *deferred; /* jobs to run when the stack is unwound; FIFO */
	uint32_t wary; /* so many captures of idle resources look before they try; CARRIES */
};

#ifdef __cplusplus
extern "C" {
#endif

/*
 * thread: the calling thread's record, never NULL. end: ends a short path that has not released the
 * resource: runs what has come, and releases. left: a task's function has been left by unwinding.
 */
#ifdef BATON_BUILDING
#define BATON_INLINE_WEAK
#else
#define BATON_INLINE_WEAK __attribute__((weak))
#endif
extern __thread struct baton__thread_head *baton_inline_thread_v2
	__attribute__((tls_model("initial-exec"))) BATON_INLINE_WEAK;
void baton_inline_end_v2(struct baton_resource *resource) BATON_NONNULL BATON_INLINE_WEAK;
void baton_inline_left_v2(const struct baton_resource *resource) BATON_NONNULL BATON_INLINE_WEAK;

#define BATON_INLINE_ALWAYS __attribute__((always_inline))

/* The operations have the names of src/base/atomic.h, which an instrumented build replaces. */
#ifdef BATON_ATOMIC_BACKEND
#define baton_inline_load_relaxed(word) load_relaxed(word)
#define baton_inline_store_relaxed(word, value) store_relaxed(word, value)
#define baton_inline_cas_acquire(word, expected, value) cas_acquire(word, expected, value)
#define baton_inline_cas_release(word, expected, value) cas_release(word, expected, value)
#define baton_inline_cas_relaxed(word, expected, value) cas_relaxed(word, expected, value)
#else
#define baton_inline_load_relaxed(word) __atomic_load_n((word), __ATOMIC_RELAXED)
#define baton_inline_store_relaxed(word, value) __atomic_store_n((word), (value), __ATOMIC_RELAXED)
#define baton_inline_cas_acquire(word, expected, value)                                            \
	__atomic_compare_exchange_n((word), (expected), (value), 0, __ATOMIC_ACQUIRE,              \
	                            __ATOMIC_RELAXED)
#define baton_inline_cas_release(word, expected, value)                                            \
	__atomic_compare_exchange_n((word), (expected), (value), 0, __ATOMIC_RELEASE,              \
	                            __ATOMIC_RELAXED)
#endif

/* Returns `value`. The compiler computes the value at this place, not earlier: so it occupies no
 * register during the code before. */
static inline BATON_INLINE_ALWAYS uintptr_t baton_inline_fresh(uintptr_t value)
{
	__asm__ volatile("" : "+r"(value));
	return value;
}

/* From the idle word `idle` to BUSY in `mode` (core/word.h). False: the word has changed. */
static inline BATON_INLINE_ALWAYS bool baton_inline_capture(struct baton_resource *resource,
                                                            uintptr_t idle, uintptr_t mode)
{
	/* [word.baton] acquire: what the last runner did; pairs with [word.baton] in release */
	return baton_inline_cas_acquire(&resource->_word, &idle, mode | BATON_INLINE_BUSY);
}

/* Releases at the end of a short path. `mode`: as captured. False: the word has changed. */
static inline BATON_INLINE_ALWAYS bool baton_inline_release(struct baton_resource *resource,
                                                            uintptr_t mode)
{
	uintptr_t word = baton_inline_fresh(mode | BATON_INLINE_BUSY);

	/* [word.baton] release: all that the tasks did; pairs with [word.baton] in capture */
	return baton_inline_cas_release(&resource->_word, &word, baton_inline_fresh(mode));
}

/*
 * Is the resource seen not to be idle, or to be special? A look at the word before the CAS costs a
 * third of the CAS where a thread uses one resource again and again: the load waits for the release
 * before it. So a thread looks only after it has met a resource that was not idle, where a CAS
 * would take the cache line away from its runner.
 * With `carries`, also true while the thread carries a value.
 */
static inline BATON_INLINE_ALWAYS bool baton_inline_seen_other(struct baton__thread_head *self,
                                                               struct baton_resource *resource,
                                                               bool carries)
{
	if (__builtin_expect(self->wary == 0, 1))
		return false;
	if ((carries && self->wary & BATON_INLINE_CARRIES) ||
	    baton_inline_load_relaxed(&resource->_word) != BATON_INLINE_IDLE)
		return true;
	if (self->wary != BATON_INLINE_CARRIES)
		self->wary--;
	return false;
}

/* Captures an idle resource of which nothing is asked. False: it is not such a resource. */
static inline BATON_INLINE_ALWAYS bool baton_inline_capture_plain(struct baton__thread_head *self,
                                                                  struct baton_resource *resource)
{
	if (__builtin_expect(baton_inline_capture(resource, BATON_INLINE_IDLE, BATON_INLINE_IDLE),
	                     1))
		return true;
	self->wary |= BATON_INLINE_WARY;
	return false;
}

/* What a short path has found. */
enum baton_inline_way {
	BATON_INLINE_HELD,   /* an idle resource: captured, and in `top` */
	BATON_INLINE_NESTED, /* the thread holds a baton, or has no record */
	BATON_INLINE_OTHER,  /* the resource is not idle, or is special */
};

/*
 * Captures an idle resource for a thread that holds no other. The thread has no frame then: `top`
 * names the resource. Who needs a frame makes it of `top` (baton__top, thread.h).
 */
static inline BATON_INLINE_ALWAYS enum baton_inline_way baton_inline_enter(
	struct baton__thread_head *self, struct baton_resource *resource, bool carries)
{
	if (baton_inline_seen_other(self, resource, carries))
		return BATON_INLINE_OTHER;
	if (__builtin_expect(self->top != 0, 0))
		return BATON_INLINE_NESTED;
	if (!baton_inline_capture_plain(self, resource))
		return BATON_INLINE_OTHER;
	/* on_fork_in_child (thread.c) reads `top` */
	baton_inline_store_relaxed(&self->top,
	                           BATON__CAST(uintptr_t, resource) | BATON_INLINE_BARE);
	return BATON_INLINE_HELD;
}

/*
 * Ends a short path that has no frame. False: an entry has come, or a job waits in `deferred`. The
 * store comes before the release: between a release and the next capture it would cost more.
 */
static inline BATON_INLINE_ALWAYS bool baton_inline_pop_release(struct baton__thread_head *self,
                                                                struct baton_resource *resource)
{
	baton_inline_store_relaxed(&self->top, 0);
	return __builtin_expect(self->deferred == NULL, 1) &&
	       __builtin_expect(baton_inline_release(resource, BATON_INLINE_IDLE), 1);
}

/* Ends a short path. False: baton_inline_end_v2() is to be called, since the thread has got a frame
 * meanwhile, or as in pop_release. */
static inline BATON_INLINE_ALWAYS bool baton_inline_leave(struct baton__thread_head *self,
                                                          struct baton_resource *resource)
{
	if (__builtin_expect(self->top != (BATON__CAST(uintptr_t, resource) | BATON_INLINE_BARE),
	                     0))
		return false;
	return baton_inline_pop_release(self, resource);
}

/* Holds an idle resource, as baton_inline_enter(). False: another way is needed, or an error. */
static inline BATON_INLINE_ALWAYS bool baton_inline_hold(struct baton__thread_head *self,
                                                         struct baton_resource *resource,
                                                         struct baton_hold *hold)
{
	if (baton_inline_seen_other(self, resource, false) || __builtin_expect(self->top != 0, 0) ||
	    __builtin_expect(hold->_resource != NULL, 0) ||
	    !baton_inline_capture_plain(self, resource))
		return false;
	/* on_fork_in_child (thread.c) reads `top` */
	baton_inline_store_relaxed(&self->top, BATON__CAST(uintptr_t, resource) |
	                                               BATON_INLINE_BARE | BATON_INLINE_HOLD);
	hold->_resource = resource;
	return true;
}

/* Is the library one that has this interface? */
static inline BATON_INLINE_ALWAYS bool baton_inline_served(void)
{
#if defined(BATON_NO_INLINE)
	return false;
#elif defined(BATON_BUILDING)
	return true;
#else
	return baton_inline_end_v2 != NULL;
#endif
}

static inline BATON_INLINE_ALWAYS void baton_inline_guard(const struct baton_resource **guard)
{
	if (*guard)
		baton_inline_left_v2(*guard);
}

/* ---- The inlined functions ---- */

/*
 * As baton_submit(), inlined. All that is said of baton_submit() holds.
 *
 * Thread safety: any thread. Errors: as baton_submit().
 */
static inline BATON_MUST_USE BATON_NONNULL int baton_submit_inline(struct baton_resource *resource,
                                                                   struct baton_task *task)
{
	const struct baton_resource *guard __attribute__((cleanup(baton_inline_guard))) = NULL;
	struct baton__thread_head *self;

	if (!baton_inline_served() || task->_future)
		return baton_submit(resource, task);
	self = baton_inline_thread_v2;
	if (baton_inline_enter(self, resource, false) != BATON_INLINE_HELD)
		return baton_submit(resource, task);
	guard = resource;
	(void)task->_run(task); /* last touch of the task */
	guard = NULL;
	if (!baton_inline_leave(self, resource))
		baton_inline_end_v2(resource);
	return 0;
}

/*
 * As baton_call(), inlined. All that is said of baton_call() holds. Where the compiler knows `fn`,
 * it may inline `fn` as well.
 *
 * Thread safety: any thread. Errors: as baton_call().
 */
static inline BATON_MUST_USE BATON_NONNULL_AT(1, 2) int baton_call_inline(
	struct baton_resource *resource, baton_call_fn fn, void *arg, void **value)
{
	const struct baton_resource *guard __attribute__((cleanup(baton_inline_guard))) = NULL;
	struct baton__thread_head *self;
	void *result;

	if (!baton_inline_served())
		return baton_call(resource, fn, arg, value);
	self = baton_inline_thread_v2;
	if (baton_inline_enter(self, resource, true) != BATON_INLINE_HELD)
		return baton_call(resource, fn, arg, value);
	guard = resource;
	result = fn(arg);
	guard = NULL;
	if (value)
		*value = result;
	if (!baton_inline_leave(self, resource))
		baton_inline_end_v2(resource);
	return 0;
}

/*
 * baton_hold() and baton_release(), inlined. All that is said of the two holds. Thread safety: as
 * theirs. Errors: as theirs.
 */
static inline BATON_MUST_USE BATON_NONNULL int baton_hold_inline(struct baton_resource *resource,
                                                                 struct baton_hold *hold)
{
	if (!baton_inline_served() || !baton_inline_hold(baton_inline_thread_v2, resource, hold))
		return baton_hold(resource, hold);
	return 0;
}

static inline BATON_MUST_USE BATON_NONNULL int baton_release_inline(struct baton_hold *hold)
{
	struct baton_resource *resource = hold->_resource;
	struct baton__thread_head *self;

	if (!baton_inline_served())
		return baton_release(hold);
	self = baton_inline_thread_v2;
	if (self->top != (BATON__CAST(uintptr_t, resource) | BATON_INLINE_BARE | BATON_INLINE_HOLD))
		return baton_release(hold);
	hold->_resource = NULL;
	if (!baton_inline_pop_release(self, resource))
		baton_inline_end_v2(resource);
	return 0;
}

/* `&baton_submit` and `(baton_submit)(...)` are the library's function as before. */
#ifndef BATON_BUILDING
#define baton_submit(...) baton_submit_inline(__VA_ARGS__)
#define baton_call(...) baton_call_inline(__VA_ARGS__)
#define baton_hold(...) baton_hold_inline(__VA_ARGS__)
#define baton_release(...) baton_release_inline(__VA_ARGS__)
#endif

#ifdef __cplusplus
}
#endif

#endif
