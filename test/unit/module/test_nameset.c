/* SPDX-License-Identifier: MIT */
/* The registry's set of names is rebuilt when half of its names have gone; its hash. */
#include "module/nameset.h"

#include "support.h"

#define NAMES 2000
/* As nameset.c has it. */
#define TOMBSTONES 64

static struct baton_registry_entry entries[NAMES];
static unsigned names[NAMES];

static void add(struct baton__nameset *set, unsigned name, bool tidy)
{
	struct baton_registry_entry key;

	names[name] = name;
	cr_assert(baton__nameset_key(set, &key, &names[name], sizeof(name)));
	cr_assert_null(baton__nameset_find(set, &key));
	entries[name]._name = key._name;
	entries[name]._length = key._length;
	cr_assert(baton__nameset_add(set, &entries[name], &key));
	if (tidy)
		baton__nameset_tidy(set);
	cr_assert_eq(baton__nameset_find(set, &key), &entries[name]);
}

static void take_out(struct baton__nameset *set, unsigned name)
{
	baton__nameset_remove(set, &entries[name]);
	baton__nameset_tidy(set);
}

/* Not for each removal, or that would cost as much as there are names. */
Test(nameset, is_rebuilt_when_half_of_the_most_names_have_gone, .timeout = 10)
{
	static const unsigned rows[] = {1, 2, 100, 101, NAMES};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const unsigned most = rows[i], limit = TOMBSTONES + most / 2;
		struct baton__nameset set = {0};
		unsigned gone = 0;

		cr_assert_eq(baton__nameset_init(&set, i), 0);
		for (unsigned name = 0; name < most; name++)
			add(&set, name, true);
		cr_assert_eq(set.count, most);
		while (gone < limit) { /* the last that came, so that the rest stays */
			take_out(&set, most - 1);
			gone++;
			cr_assert_eq(set.tombstones, gone);
			add(&set, most - 1, true);
		}
		take_out(&set, most - 1);
		cr_assert_eq(set.tombstones, 0);
		cr_assert_eq(set.count, most - 1);
		baton__nameset_deinit(&set);
	}
}

/* Each map that is outgrown goes to the limbo of its own set. */
Test(nameset, grows_beside_another_one, .timeout = 10)
{
	struct baton__nameset sets[2] = {{0}};

	for (int i = 0; i < 2; i++)
		cr_assert_eq(baton__nameset_init(&sets[i], 7), 0);
	for (unsigned name = 0; name < NAMES; name++)
		add(&sets[name % 2], name, false);
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(sets[i].count, NAMES / 2);
		baton__nameset_deinit(&sets[i]);
	}
}

static uint64_t hash_of(const struct baton__nameset *set, const char *name, size_t length)
{
	struct baton_registry_entry key;

	MUST(baton__nameset_key(set, &key, name, length));
	return key._hash;
}

/* Or all names of one length, say, would be looked for one after the other. */
Test(nameset, each_byte_of_a_name_and_the_seed_change_its_hash, .timeout = 5)
{
	struct baton__nameset one = {.seed = 1}, other = {.seed = 2};
	char name[40] = {0};

	for (size_t length = 1; length < sizeof(name); length++) {
		const uint64_t hash = hash_of(&one, name, length);

		cr_assert_neq(hash, 0);
		cr_assert_neq(hash, hash_of(&other, name, length));
		cr_assert_neq(hash, hash_of(&one, name, length - 1));
		for (size_t at = 0; at < length; at++) {
			name[at] = 1;
			cr_assert_neq(hash, hash_of(&one, name, length), "%zu of %zu", at, length);
			name[at] = 0;
		}
	}
}
