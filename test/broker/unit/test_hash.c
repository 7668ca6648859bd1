/* SPDX-License-Identifier: MIT */
/* The broker's hash of names that strangers choose. */
#include "support.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "common/hash.h"

Test(hash, equal_names_have_the_same_hash_wherever_they_are, .timeout = 5)
{
	char text[80];

	for (size_t size = 0; size < 64; size++) {
		for (size_t at = 0; at < size; at++)
			text[at] = (char)('a' + at % 26);
		for (size_t shift = 1; shift < 9; shift++) {
			char moved[80];

			memset(moved, (int)shift, sizeof(moved));
			memcpy(moved + shift, text, size);
			cr_assert_eq(hash_bytes(moved + shift, size, 7), hash_bytes(text, size, 7));
		}
	}
}

Test(hash, each_byte_and_the_seed_change_the_hash, .timeout = 5)
{
	char text[64] = {0};

	for (size_t size = 1; size < sizeof(text); size++) {
		uint64_t hash = hash_bytes(text, size, 1);

		cr_assert_neq(hash, hash_bytes(text, size, 2));
		cr_assert_neq(hash, hash_bytes(text, size - 1, 1));
		for (size_t at = 0; at < size; at++) {
			text[at] ^= 1;
			cr_assert_neq(hash, hash_bytes(text, size, 1));
			text[at] = (char)(text[at] ^ 1 ^ 0x80);
			cr_assert_neq(hash, hash_bytes(text, size, 1));
			text[at] = 0;
		}
	}
}

/* By the lowest bits and by the highest: of 4096 balls in as many bins one has more than 15 hardly
 * ever (by chance: one run in a billion). */
Test(hash, names_in_a_row_are_spread_evenly, .timeout = 5)
{
	for (uint64_t seed = 0; seed < 10; seed++) {
		static unsigned char low[4096], high[4096];

		memset(low, 0, sizeof(low));
		memset(high, 0, sizeof(high));
		for (int i = 0; i < 4096; i++) {
			char name[32];
			int size = snprintf(name, sizeof(name), "sensor/%d/temperature", i);
			uint64_t hash = hash_bytes(name, (size_t)size, seed);

			cr_assert_leq(++low[hash % 4096], 15);
			cr_assert_leq(++high[hash >> 52], 15);
		}
	}
}

Test(hash, each_beginning_draws_another_secret, .timeout = 5)
{
	uint64_t seen[4];

	for (int i = 0; i < 4; i++) {
		seen[i] = hash_bytes("name", 4, 0);
		for (int before = 0; before < i; before++)
			cr_assert_neq(seen[i], seen[before]);
		hash_begin();
	}
}

/* What an attacker would look for: the number that is drawn changes which names collide. */
Test(hash, names_that_collide_for_one_secret_do_not_for_another, .timeout = 5)
{
	enum { NAMES = 4096 };
	static uint64_t before[NAMES];
	size_t still = 0, collided = 0;

	for (uint32_t i = 0; i < NAMES; i++)
		before[i] = hash_bytes(&i, sizeof(i), 0);
	hash_begin();
	for (uint32_t i = 1; i < NAMES; i++) {
		const uint32_t last = i - 1;

		if ((before[i] ^ before[last]) % 16 != 0)
			continue;
		collided++;
		still += (hash_bytes(&i, sizeof(i), 0) ^ hash_bytes(&last, sizeof(last), 0)) % 16 ==
		         0;
	}
	cr_assert_gt(collided, 100);
	cr_assert_lt(still, collided / 3);
}
