/* SPDX-License-Identifier: MIT */
/* The example broker's topic aliases (examples/broker/aliases.h). */
#include <errno.h>

#include "aliases.h"
#include "support.h"

#define COUNT 10

static struct slice text_of(const char *text)
{
	return (struct slice){text, strlen(text)};
}

static int give(struct alias **table, uint16_t number, const char *topic)
{
	struct slice slice = text_of(topic);

	return aliases_apply(table, COUNT, number, &slice);
}

/* The topic of the number is this one. */
static bool has(struct alias **table, uint16_t number, const char *topic)
{
	struct slice slice = {NULL, 0};

	return aliases_apply(table, COUNT, number, &slice) == 0 &&
	       names_equal(slice, text_of(topic));
}

Test(aliases, a_number_stands_for_the_topic_it_was_given, .timeout = 5)
{
	struct alias *table = NULL;

	cr_assert_eq(give(&table, 1, "a/b"), 0);
	cr_assert_eq(give(&table, COUNT, "c"), 0);
	cr_assert(has(&table, 1, "a/b"));
	cr_assert(has(&table, COUNT, "c"));
	cr_assert(has(&table, 1, "a/b"));
	aliases_free(table, COUNT);
}

Test(aliases, a_number_can_be_given_again, .timeout = 5)
{
	static const char *const topics[] = {"short", "a longer topic", "s", "s", "t"};
	struct alias *table = NULL;

	for (size_t i = 0; i < sizeof(topics) / sizeof(*topics); i++) {
		cr_assert_eq(give(&table, 3, topics[i]), 0);
		cr_assert(has(&table, 3, topics[i]), "%s", topics[i]);
	}
	aliases_free(table, COUNT);
}

Test(aliases, a_number_that_was_not_given_is_an_error, .timeout = 5)
{
	struct alias *table = NULL;
	struct slice topic = {NULL, 0};

	cr_assert_eq(aliases_apply(&table, COUNT, 1, &topic), -EBADMSG);
	cr_assert_null(table, "a table for nothing");
	cr_assert_eq(give(&table, 1, "a"), 0);
	cr_assert_eq(aliases_apply(&table, COUNT, 2, &topic), -EBADMSG);
	cr_assert(has(&table, 1, "a"));
	aliases_free(table, COUNT);
}

/* The bytes of a packet are the next packet's, soon. */
Test(aliases, the_table_has_a_copy_of_its_own, .timeout = 5)
{
	struct alias *table = NULL;
	char bytes[] = "topic";

	cr_assert_eq(give(&table, 1, bytes), 0);
	bytes[0] = 'x';
	cr_assert(has(&table, 1, "topic"));
	aliases_free(table, COUNT);
}

Test(aliases, a_table_that_was_not_made_can_be_freed, .timeout = 5)
{
	aliases_free(NULL, COUNT);
}
