/* SPDX-License-Identifier: MIT */
/* The texts of errors. (That each error has one is checked by test/tidy.sh.) */
#include <criterion/criterion.h>

#include <baton/error.h>

#include <errno.h>
#include <limits.h>
#include <string.h>

enum { ERRORS = 256 };

static bool is_known(int error)
{
	return strcmp(baton_error_text(error), "an unknown error") != 0;
}

Test(error, texts_are_told_for_returned_values_and_for_errno, .timeout = 5)
{
	for (int error = 0; error < ERRORS; error++)
		cr_assert_eq(baton_error_text(error), baton_error_text(-error), "%d", error);
	cr_assert_str_eq(baton_error_text(0), "no error");
	cr_assert_str_eq(baton_error_text(-ESHUTDOWN), "it has been shut down");
}

Test(error, texts_differ_and_are_batons_own, .timeout = 5)
{
	int own = 0;

	for (int error = 1; error < ERRORS; error++) {
		own += is_known(error) && strcmp(baton_error_text(error), strerror(error)) != 0;
		for (int other = 1; other < error && is_known(error); other++)
			cr_assert_str_neq(baton_error_text(error), baton_error_text(other));
	}
	cr_assert_gt(own, 30);
}

/* A board, a trace and a watch of a descriptor return what the system has said. */
Test(error, where_baton_has_no_words_the_system_has, .timeout = 5)
{
	static const int others[] = {ENOTDIR, EISDIR, ENOTTY};

	for (int i = 0; i < 3; i++) {
		cr_assert_str_eq(baton_error_text(-others[i]), strerror(others[i]));
		cr_assert_str_eq(baton_error_text(others[i]), strerror(others[i]));
	}
}

Test(error, others_are_unknown, .timeout = 5)
{
	static const int unknown[] = {ERRORS, 4095, INT_MAX, INT_MIN};

	for (int i = 0; i < 4; i++)
		cr_assert_not(is_known(unknown[i]), "%d", unknown[i]);
}
