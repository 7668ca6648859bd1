/* SPDX-License-Identifier: MIT */
/*
 * What every file may rely on: the compiler, assertions, the cache line.
 */
#ifndef BATON_SRC_PLATFORM_H
#define BATON_SRC_PLATFORM_H

#include <ck_pr.h> /* ck_pr_stall: the CPU's spin hint; Concurrency Kit has it for every CPU */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* States share a word with task pointers: with pointers of 8 bytes three low bits are free. */
_Static_assert(sizeof(void *) == 8, "baton needs 64-bit pointers");

#define BATON_LIKELY(condition) __builtin_expect(!!(condition), 1)
#define BATON_UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#define BATON_NOINLINE __attribute__((noinline))
#define BATON_COLD __attribute__((cold, noinline))
#define BATON_INLINE static inline __attribute__((always_inline))
#define BATON_EXPORT __attribute__((visibility("default")))

/* Words that different threads write are kept this far apart. */
#define BATON_CACHE_LINE 64
#define BATON_CACHE_ALIGNED __attribute__((aligned(BATON_CACHE_LINE)))

/*
 * Called by a failed assertion, before abort(). The default prints one line to stderr. Not public
 * API: a program may store a function of its own here before its first call.
 */
extern void (*baton_assert_hook)(const char *what, const char *file, int line);

_Noreturn BATON_COLD void baton__assert_fail(const char *what, const char *file, int line);

/*
 * Prints one line, which ends with a newline, to stderr: by one write, so that the line is whole
 * whatever other threads print and however the program buffers stderr. A long line is cut at its
 * end. Called by a failed assertion, and by the watchdog.
 */
__attribute__((format(printf, 1, 2))) void baton__print(const char *format, ...);

/* For the library's own invariants. On in every build, cheap, one condition each. */
#define BATON_ASSERT(condition)                                                                    \
	(BATON_LIKELY(condition)                                                                   \
	         ? (void)0                                                                         \
	         : baton__assert_fail("assertion failed: " #condition, __FILE__, __LINE__))

_Noreturn BATON_COLD void baton__misuse(const char *function, const char *name, const char *what,
                                        const char *file, int line);

/*
 * For mistakes of the caller. The message is in the caller's words: the public function, the name
 * of the object concerned (only with _OF; may be NULL), the mistake, its repair. Use REQUIRE in the
 * public function, whose name the macro takes from __func__; elsewhere use MISUSE with the public
 * function's name.
 */
#define BATON_MISUSE_OF(function, name, what)                                                      \
	baton__misuse(function, (name) ? (name) : "(no name)", what, __FILE__, __LINE__)
#define BATON_MISUSE(function, what) baton__misuse(function, NULL, what, __FILE__, __LINE__)
#define BATON_REQUIRE_OF(condition, name, what)                                                    \
	(BATON_LIKELY(condition) ? (void)0 : BATON_MISUSE_OF(__func__, name, what))
#define BATON_REQUIRE(condition, what)                                                             \
	(BATON_LIKELY(condition) ? (void)0 : BATON_MISUSE(__func__, what))

/* One round of a spinning loop. */
BATON_INLINE void baton__pause(void)
{
	ck_pr_stall();
}

#endif
