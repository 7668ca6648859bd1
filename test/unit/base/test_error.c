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
	int known = 0;

	for (int error = 1; error < ERRORS; error++) {
		known += is_known(error);
		if (is_known(error))
			cr_assert_str_neq(baton_error_text(error), strerror(error));
		for (int other = 1; other < error && is_known(error); other++)
			cr_assert_str_neq(baton_error_text(error), baton_error_text(other));
	}
	cr_assert_gt(known, 30);
}

Test(error, others_are_unknown, .timeout = 5)
{
	static const int unknown[] = {ENOTTY, ERRORS, INT_MAX, INT_MIN};

	for (int i = 0; i < 4; i++)
		cr_assert_not(is_known(unknown[i]), "%d", unknown[i]);
}
