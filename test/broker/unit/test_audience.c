/* SPDX-License-Identifier: MIT */
/* The broker's audiences: each session once, at the highest QoS, however many subscriptions. */
#include "topic/audience.h"

#include <string.h>

#include <criterion/criterion.h>

/* It looks at no session: any addresses will do. */
static char sessions[50000];

static struct session *session_at(size_t i)
{
	return (struct session *)(void *)&sessions[i];
}

static bool add(struct audience *audience, size_t i, unsigned int qos)
{
	return audience_add(audience, session_at(i), (union subscription_options){.qos = qos & 3});
}

static bool add_with(struct audience *audience, size_t i, unsigned int identifier, bool no_local)
{
	return audience_add(audience, session_at(i),
	                    (union subscription_options){.identifier = identifier & 0xfffffff,
	                                                 .qos = 1,
	                                                 .no_local = no_local});
}

/* What comes to the first session, as text. */
static void cr_identified(const struct audience *audience, size_t at, bool own, const void *bytes,
                          size_t size)
{
	const struct slice found = audience_identifiers(audience, &audience->entries[at], own);

	cr_assert_eq(found.size, size, "%zu bytes", found.size);
	cr_assert(size == 0 || memcmp(found.bytes, bytes, size) == 0);
}

Test(audience, has_nobody_at_first, .timeout = 5)
{
	struct audience audience = {0};

	cr_assert(audience_seal(&audience));
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
			cr_assert(add(&audience, 0, cases[i][j]));
		cr_assert(audience_seal(&audience));
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
			cr_assert(add(&audience, i, round % 3));
	cr_assert(audience_seal(&audience));
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
		cr_assert(add(&audience, 7, 1));
	cr_assert(audience_seal(&audience));
	cr_assert_eq(audience_memory(&audience), sizeof(struct audience_entry));
	audience_clear(&audience);
	cr_assert_eq(audience.count, 0);
}

/* Three subscriptions: QoS, no local, retain as published; then what counts for others' messages,
 * and for its own. */
Test(audience, has_what_counts_for_the_sessions_own_messages, .timeout = 5)
{
	static const struct {
		uint8_t given[3][3];
		uint8_t qos, own_qos;
		bool no_local, retain, own_retain;
	} cases[] = {
		{{{1, 0, 0}, {0, 0, 0}, {2, 0, 0}}, 2, 2, false, false, false},
		{{{1, 0, 1}, {0, 0, 0}, {2, 0, 0}}, 2, 2, false, true, true},
		{{{1, 1, 0}, {0, 1, 0}, {2, 1, 1}}, 2, AUDIENCE_NOTHING, true, true, false},
		{{{1, 0, 0}, {2, 1, 1}, {0, 0, 0}}, 2, 1, true, true, false},
		{{{0, 1, 0}, {0, 0, 1}, {1, 1, 0}}, 1, 0, true, true, true},
		{{{2, 0, 0}, {2, 1, 0}, {2, 1, 0}}, 2, 2, true, false, false},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct audience audience = {0};
		const struct audience_entry *entry;

		for (size_t j = 0; j < 3; j++)
			cr_assert(audience_add(
				&audience, session_at(0),
				(union subscription_options){.qos = cases[i].given[j][0] & 3u,
			                                     .no_local = cases[i].given[j][1] & 1u,
			                                     .retain_as_published =
			                                             cases[i].given[j][2] & 1u}));
		cr_assert(audience_seal(&audience));
		entry = &audience.entries[0];
		cr_assert_eq(entry->qos, cases[i].qos, "case %zu", i);
		cr_assert_eq(entry->own_qos, cases[i].own_qos, "case %zu", i);
		cr_assert_eq(entry->no_local, cases[i].no_local, "case %zu", i);
		cr_assert_eq(entry->retain, cases[i].retain, "case %zu", i);
		cr_assert_eq(entry->own_retain, cases[i].own_retain, "case %zu", i);
		cr_identified(&audience, 0, false, NULL, 0);
		cr_identified(&audience, 0, true, NULL, 0);
		audience_clear(&audience);
	}
}

/* As properties of a PUBLISH. The latest subscription comes first, "no local" last. */
Test(audience, has_the_identifiers_of_all_subscriptions_that_match, .timeout = 5)
{
	struct audience audience = {0};

	cr_assert(add_with(&audience, 0, 1, false));
	cr_assert(add_with(&audience, 1, 7, true));
	cr_assert(add_with(&audience, 0, 0xfffffff, true));
	cr_assert(add(&audience, 0, 2));
	cr_assert(add(&audience, 2, 2));
	cr_assert(add_with(&audience, 0, 200, false));
	cr_assert(add_with(&audience, 3, 1, false));
	cr_assert(audience_seal(&audience));
	cr_identified(&audience, 0, false, "\x0b\xc8\x01\x0b\x01\x0b\xff\xff\xff\x7f", 10);
	cr_identified(&audience, 0, true, "\x0b\xc8\x01\x0b\x01", 5);
	cr_identified(&audience, 1, false, "\x0b\x07", 2);
	cr_identified(&audience, 1, true, "", 0);
	cr_identified(&audience, 2, false, "", 0);
	cr_identified(&audience, 3, true, "\x0b\x01", 2);
	audience_clear(&audience);
}

Test(audience, has_thousands_of_identifiers, .timeout = 5)
{
	enum { SESSIONS = 100, EACH = 500 };
	struct audience audience = {0};

	for (unsigned int j = 1; j <= EACH; j++)
		for (size_t i = 0; i < SESSIONS; i++)
			cr_assert(add_with(&audience, i, j, i % 2 == 0));
	cr_assert(audience_seal(&audience));
	for (size_t i = 0; i < SESSIONS; i++) {
		const struct slice all =
			audience_identifiers(&audience, &audience.entries[i], false);

		cr_assert_eq(all.size, 2 * 127 + 3 * (EACH - 127));
		cr_assert(memcmp(all.bytes + all.size - 4, "\x0b\x02\x0b\x01", 4) == 0);
		cr_assert_eq(audience_identifiers(&audience, &audience.entries[i], true).size,
		             i % 2 == 0 ? 0 : all.size);
	}
	audience_clear(&audience);
	cr_assert_eq(audience_memory(&audience), 0);
}

/* An entry is a pointer and a word. */
Test(audience, without_identifiers_takes_16_bytes_for_each, .timeout = 5)
{
	struct audience audience = {0};

	for (size_t i = 0; i < 1000; i++)
		cr_assert(add(&audience, i, 1));
	cr_assert(audience_seal(&audience));
	cr_assert_eq(audience_memory(&audience), 16000);
	audience_clear(&audience);
}

static bool keep_each_nth(const struct session *session, void *arg)
{
	const size_t n = *(const size_t *)arg;

	return n != 0 && (size_t)((const char *)(const void *)session - sessions) % n == 0;
}

/* 0: none of them. The second has an identifier. */
Test(audience, keeps_whom_it_is_told_to_keep, .timeout = 5)
{
	for (size_t n = 0; n < 4; n++)
		for (size_t count = 0; count < 20; count++) {
			const size_t kept = n == 0 ? 0 : (count + n - 1) / n;
			struct audience audience = {0};
			size_t arg = n;

			for (size_t i = 0; i < count; i++)
				cr_assert(add_with(&audience, i, i == 1 ? 7 : 0, false));
			audience_keep(&audience, keep_each_nth, &arg);
			cr_assert(audience_seal(&audience));
			cr_assert_eq(audience.count, kept, "%zu of %zu", n, count);
			cr_assert_eq(audience.capacity, kept);
			for (size_t i = 0; i < kept; i++)
				cr_assert_eq(audience.entries[i].session, session_at(i * n));
			if (n == 1 && kept > 1)
				cr_identified(&audience, 1, false, "\x0b\x07", 2);
			audience_clear(&audience);
		}
}
