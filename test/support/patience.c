/* SPDX-License-Identifier: MIT */
/*
 * The timeout of a test says how long the test may take on an idle machine. Criterion measures
 * by a clock that goes on while other processes have the CPUs, so each test is given a multiple of
 * its timeout here. test/shim multiplies by itself.
 */
#include <criterion/criterion.h>

#ifdef CRITERION_H_ /* not the shim */

#define PATIENCE 12

/* Criterion's tests, in the section that Criterion itself reads. */
extern struct criterion_test *__start_cr_tst[];
extern struct criterion_test *__stop_cr_tst[];

__attribute__((constructor)) static void be_patient(void)
{
	for (struct criterion_test **test = __start_cr_tst; test < __stop_cr_tst; test++)
		if (*test)
			(*test)->data->timeout *= PATIENCE;
}

#endif
