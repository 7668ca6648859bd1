/* SPDX-License-Identifier: MIT */
/*
 * The compiler, assertions, the cache line. What everything else may rely on.
 */
#ifndef BATON_SRC_PLATFORM_H
#define BATON_SRC_PLATFORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ck_pr.h> /* ck_pr_stall: the CPU's spin hint; Concurrency Kit has it for every CPU */

/* States share a word with task pointers: three low bits are free where pointers are 8 bytes. */
_Static_assert(sizeof(void *) == 8, "baton needs 64-bit pointers");

#define BATON_LIKELY(condition) __builtin_expect(!!(condition), 1)
#define BATON_UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#define BATON_NOINLINE __attribute__((noinline))
#define BATON_COLD __attribute__((cold, noinline))
#define BATON_INLINE static inline __attribute__((always_inline))
#define BATON_EXPORT __attribute__((visibility("default")))

/* Words written by different threads are kept this far apart. */
#define BATON_CACHE_LINE 64
#define BATON_CACHE_ALIGNED __attribute__((aligned(BATON_CACHE_LINE)))

/*
 * Called by a failed assertion; the default prints one line to stderr, and abort() follows. Not
 * public API: a program may define its own by replacing the pointer before its first call.
 */
extern void (*baton_assert_hook)(const char *what, const char *file, int line);

_Noreturn BATON_COLD void baton__assert_fail(const char *what, const char *file, int line);

/* The library's own invariants. On in every build, cheap, one condition each. */
#define BATON_ASSERT(condition)                                                                    \
	(BATON_LIKELY(condition)                                                                   \
	         ? (void)0                                                                         \
	         : baton__assert_fail("assertion failed: " #condition, __FILE__, __LINE__))

_Noreturn BATON_COLD void baton__misuse(const char *function, const char *name, const char *what,
                                        const char *file, int line);

/*
 * For mistakes of the caller. The message is in the caller's words: the public function, the name
 * of the object concerned (_OF; may be NULL), the mistake and its repair. REQUIRE stands in the
 * public function itself, and takes the function's name; MISUSE stands elsewhere.
 */
#define BATON_MISUSE_OF(function, name, what)                                                      \
	baton__misuse(function, (name) ? (name) : "(no name)", what, __FILE__, __LINE__)
#define BATON_MISUSE(function, what) baton__misuse(function, NULL, what, __FILE__, __LINE__)
#define BATON_REQUIRE_OF(condition, name, what)                                                    \
	(BATON_LIKELY(condition) ? (void)0 : BATON_MISUSE_OF(__func__, name, what))
#define BATON_REQUIRE(condition, what)                                                             \
	(BATON_LIKELY(condition) ? (void)0 : BATON_MISUSE(__func__, what))

/* A value that the compiler makes here, and does not keep in a register across what precedes. */
BATON_INLINE uintptr_t baton__fresh(uintptr_t value)
{
	__asm__ volatile("" : "+r"(value));
	return value;
}

/* One turn of a spinning loop. */
BATON_INLINE void baton__pause(void)
{
	ck_pr_stall();
}

#endif
