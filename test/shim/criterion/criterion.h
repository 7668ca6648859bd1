/* SPDX-License-Identifier: MIT */
/*
 * What the tests use of Criterion, for builds in which Criterion itself does not start (its sandbox
 * and ThreadSanitizer exclude each other). The same test files compile against either; main.c runs
 * each test in a child process, so that signals, leaks and aborts stay with their test.
 *
 * An assertion that fails ends the test's process at once, and may do so on any thread.
 */
#ifndef BATON_SHIM_CRITERION_H
#define BATON_SHIM_CRITERION_H

#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct shim_test {
	const char *suite;
	const char *name; /* NULL: the suite's own entry, whose settings its tests inherit */
	void (*run)(void);
	struct shim_test *next;
	const char *description;
	void (*init)(void);
	void (*fini)(void);
	int signal;
	int exit_code;
	bool disabled;
	double timeout;
};

void shim_register(struct shim_test *test);
void shim_fail(bool fatal, const char *file, int line, const char *text, const char *format, ...);
void shim_log(const char *format, ...);
_Noreturn void shim_skip(const char *format, ...);

#define SHIM_ENTRY(symbol, ...)                                                                    \
	static struct shim_test symbol = {__VA_ARGS__};                                            \
	__attribute__((constructor)) static void symbol##_register(void)                           \
	{                                                                                          \
		shim_register(&symbol);                                                            \
	}

#define Test(suite_, name_, ...)                                                                   \
	static void suite_##_##name_##_impl(void);                                                 \
	SHIM_ENTRY(suite_##_##name_##_entry, .suite = #suite_, .name = #name_,                     \
	           .run = suite_##_##name_##_impl, __VA_ARGS__)                                    \
	static void suite_##_##name_##_impl(void)

#define TestSuite(suite_, ...)                                                                     \
	SHIM_ENTRY(suite_##_suite_entry, .suite = #suite_, __VA_ARGS__)                            \
	_Static_assert(true, "takes the semicolon")

/* The message is optional, and a literal format if it is there. */
#define SHIM_CHECK(fatal, condition, text, ...)                                                    \
	((condition) ? (void)0 : shim_fail(fatal, __FILE__, __LINE__, text, "" __VA_ARGS__))
#define SHIM_COMPARE(fatal, a, relation, b, ...)                                                   \
	SHIM_CHECK(fatal, (a)relation(b), #a " " #relation " " #b, __VA_ARGS__)
#define SHIM_STRINGS(fatal, a, relation, b, ...)                                                   \
	SHIM_CHECK(fatal, strcmp((a), (b)) relation 0, #a " " #relation " " #b, __VA_ARGS__)
#define SHIM_BYTES(fatal, a, relation, b, size, ...)                                               \
	SHIM_CHECK(fatal, memcmp((a), (b), (size)) relation 0, #a " " #relation " " #b, __VA_ARGS__)
#define SHIM_NEAR(fatal, a, b, epsilon, ...)                                                       \
	SHIM_CHECK(fatal, fabs((double)((a) - (b))) <= (epsilon), #a " is near " #b, __VA_ARGS__)

#define cr_assert(condition, ...) SHIM_CHECK(true, condition, #condition, __VA_ARGS__)
#define cr_assert_not(condition, ...) SHIM_CHECK(true, !(condition), "!" #condition, __VA_ARGS__)
#define cr_assert_fail(...) SHIM_CHECK(true, false, "reached", __VA_ARGS__)
#define cr_assert_null(a, ...) SHIM_COMPARE(true, a, ==, NULL, __VA_ARGS__)
#define cr_assert_not_null(a, ...) SHIM_COMPARE(true, a, !=, NULL, __VA_ARGS__)
#define cr_assert_eq(a, b, ...) SHIM_COMPARE(true, a, ==, b, __VA_ARGS__)
#define cr_assert_neq(a, b, ...) SHIM_COMPARE(true, a, !=, b, __VA_ARGS__)
#define cr_assert_lt(a, b, ...) SHIM_COMPARE(true, a, <, b, __VA_ARGS__)
#define cr_assert_leq(a, b, ...) SHIM_COMPARE(true, a, <=, b, __VA_ARGS__)
#define cr_assert_gt(a, b, ...) SHIM_COMPARE(true, a, >, b, __VA_ARGS__)
#define cr_assert_geq(a, b, ...) SHIM_COMPARE(true, a, >=, b, __VA_ARGS__)
#define cr_assert_str_eq(a, b, ...) SHIM_STRINGS(true, a, ==, b, __VA_ARGS__)
#define cr_assert_str_neq(a, b, ...) SHIM_STRINGS(true, a, !=, b, __VA_ARGS__)
#define cr_assert_arr_eq(a, b, size, ...) SHIM_BYTES(true, a, ==, b, size, __VA_ARGS__)
#define cr_assert_arr_neq(a, b, size, ...) SHIM_BYTES(true, a, !=, b, size, __VA_ARGS__)
#define cr_assert_float_eq(a, b, epsilon, ...) SHIM_NEAR(true, a, b, epsilon, __VA_ARGS__)

#define cr_expect(condition, ...) SHIM_CHECK(false, condition, #condition, __VA_ARGS__)
#define cr_expect_not(condition, ...) SHIM_CHECK(false, !(condition), "!" #condition, __VA_ARGS__)
#define cr_expect_fail(...) SHIM_CHECK(false, false, "reached", __VA_ARGS__)
#define cr_expect_null(a, ...) SHIM_COMPARE(false, a, ==, NULL, __VA_ARGS__)
#define cr_expect_not_null(a, ...) SHIM_COMPARE(false, a, !=, NULL, __VA_ARGS__)
#define cr_expect_eq(a, b, ...) SHIM_COMPARE(false, a, ==, b, __VA_ARGS__)
#define cr_expect_neq(a, b, ...) SHIM_COMPARE(false, a, !=, b, __VA_ARGS__)
#define cr_expect_lt(a, b, ...) SHIM_COMPARE(false, a, <, b, __VA_ARGS__)
#define cr_expect_leq(a, b, ...) SHIM_COMPARE(false, a, <=, b, __VA_ARGS__)
#define cr_expect_gt(a, b, ...) SHIM_COMPARE(false, a, >, b, __VA_ARGS__)
#define cr_expect_geq(a, b, ...) SHIM_COMPARE(false, a, >=, b, __VA_ARGS__)
#define cr_expect_str_eq(a, b, ...) SHIM_STRINGS(false, a, ==, b, __VA_ARGS__)
#define cr_expect_str_neq(a, b, ...) SHIM_STRINGS(false, a, !=, b, __VA_ARGS__)
#define cr_expect_arr_eq(a, b, size, ...) SHIM_BYTES(false, a, ==, b, size, __VA_ARGS__)
#define cr_expect_arr_neq(a, b, size, ...) SHIM_BYTES(false, a, !=, b, size, __VA_ARGS__)
#define cr_expect_float_eq(a, b, epsilon, ...) SHIM_NEAR(false, a, b, epsilon, __VA_ARGS__)

#define cr_skip_test(...) shim_skip("" __VA_ARGS__)
#define cr_log_info(...) shim_log(__VA_ARGS__)
#define cr_log_warn(...) shim_log(__VA_ARGS__)
#define cr_log_error(...) shim_log(__VA_ARGS__)

#endif
