/* SPDX-License-Identifier: MIT */
/* The broker's audiences: each session once, at the highest QoS, however many subscriptions. */
#include "topic/audience.h"

#include <criterion/criterion.h>

/* It looks at no session: any addresses will do. */
static char sessions[50000];

static struct session *session_at(size_t i)
{
	return (struct session *)(void *)&sessions[i];
}

Test(audience, has_nobody_at_first, .timeout = 5)
{
	struct audience audience = {0};

	audience_seal(&audience);
	cr_assert_eq(audience.count, 0);
	cr_assert_eq(audience_memory(&audience), 0);
	audience_clear(&audience);
}

Test(audience, has_a_session_once_at_its_highest_qos, .timeout = 5)
{
	static const uint8_t cases[][4] = {/* three subscriptions; the QoS that counts */
	                                   {0, 0, 0, 0},
	                                   {0, 1, 2, 2},
	                                   {2, 1, 0, 2},
	                                   {1, 2, 1, 2},
	                                   {1, 0, 1, 1}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct audience audience = {0};

		for (size_t j = 0; j < 3; j++)
			cr_assert(audience_add(&audience, session_at(0), cases[i][j]));
		audience_seal(&audience);
		cr_assert_eq(audience.count, 1);
		cr_assert_eq(audience.entries[0].session, session_at(0));
		cr_assert_eq(audience.entries[0].qos, cases[i][3], "case %zu", i);
		audience_clear(&audience);
	}
}

/* With a search through all of them this would be 5e8 steps for each round. */
Test(audience, takes_thousands_in_their_order, .timeout = 5)
{
	enum { COUNT = sizeof(sessions), ROUNDS = 4 };
	struct audience audience = {0};

	for (unsigned int round = 0; round < ROUNDS; round++)
		for (size_t i = 0; i < COUNT; i++)
			cr_assert(audience_add(&audience, session_at(i), (uint8_t)(round % 3)));
	audience_seal(&audience);
	cr_assert_eq(audience.count, COUNT);
	for (size_t i = 0; i < COUNT; i++) {
		cr_assert_eq(audience.entries[i].session, session_at(i));
		cr_assert_eq(audience.entries[i].qos, 2);
	}
	audience_clear(&audience);
}

Test(audience, of_one_session_takes_no_memory_for_its_filters, .timeout = 5)
{
	struct audience audience = {0};

	for (size_t i = 0; i < 20000; i++)
		cr_assert(audience_add(&audience, session_at(7), 1));
	audience_seal(&audience);
	cr_assert_eq(audience_memory(&audience), sizeof(struct audience_entry));
	audience_clear(&audience);
	cr_assert_eq(audience.count, 0);
}
