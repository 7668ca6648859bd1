/* SPDX-License-Identifier: MIT */
/*
 * The example broker's names: which filter matches which name (MQTT 3.1.1, 4.7), beside a second
 * matcher that is written for being read; and when two names are the same.
 */
#include "packets.h"

#define LEVELS 16

static bool match(const char *filter, const char *topic)
{
	return names_match(slice_text(filter), slice_text(topic));
}

/* Splits a copy at its slashes. */
static size_t split(char *text, char **levels)
{
	size_t count = 0;

	do {
		levels[count++] = text;
		text = strchr(text, '/');
		if (text)
			*text++ = '\0';
	} while (text);
	return count;
}

/* NULL ends both. */
static bool levels_match(char *const *want, char *const *have)
{
	if (!*want)
		return !*have;
	if (strcmp(*want, "#") == 0)
		return true;
	if (!*have || (strcmp(*want, "+") != 0 && strcmp(*want, *have) != 0))
		return false;
	return levels_match(want + 1, have + 1);
}

static bool second_opinion(const char *filter, const char *topic)
{
	char filter_copy[LEVELS], topic_copy[LEVELS];
	char *want[LEVELS + 1] = {NULL}, *have[LEVELS + 1] = {NULL};

	if (topic[0] == '$' && (filter[0] == '#' || filter[0] == '+'))
		return false;
	split(strcpy(filter_copy, filter), want);
	split(strcpy(topic_copy, topic), have);
	return levels_match(want, have);
}

Test(names_match, a_filter_without_wildcards_matches_itself_alone, .timeout = 5)
{
	static const char *const names[] = {"a",    "A", "a/", "/a", "a/b",
	                                    "a/b/", "/", "//", "ab", "$a"};

	for (size_t i = 0; i < 10; i++)
		for (size_t j = 0; j < 10; j++)
			cr_assert_eq(match(names[i], names[j]), i == j, "%s %s", names[i],
			             names[j]);
}

/* 4.7.1.2 */
Test(names_match, a_hash_is_any_levels_and_the_parent, .timeout = 5)
{
	cr_assert(match("sport/tennis/player1/#", "sport/tennis/player1"));
	cr_assert(match("sport/tennis/player1/#", "sport/tennis/player1/ranking"));
	cr_assert(match("sport/tennis/player1/#", "sport/tennis/player1/score/wimbledon"));
	cr_assert(match("sport/#", "sport"));
	cr_assert(match("sport/#", "sport/"));
	cr_assert_not(match("sport/#", "sports"));
	cr_assert_not(match("sport/#", "spor"));
	cr_assert(match("#", "a"));
	cr_assert(match("#", "/"));
	cr_assert(match("#", "a/b/c"));
	cr_assert(match("/#", "/a"));
	cr_assert(match("/#", "/"));
	cr_assert_not(match("/#", "a"));
	cr_assert_not(match("a/b/#", "a"));
}

/* 4.7.1.3 */
Test(names_match, a_plus_is_exactly_one_level, .timeout = 5)
{
	cr_assert(match("sport/tennis/+", "sport/tennis/player1"));
	cr_assert_not(match("sport/tennis/+", "sport/tennis/player1/ranking"));
	cr_assert_not(match("sport/+", "sport"));
	cr_assert(match("sport/+", "sport/"));
	cr_assert(match("+/+", "/finance"));
	cr_assert(match("/+", "/finance"));
	cr_assert_not(match("+", "/finance"));
	cr_assert(match("+", "a"));
	cr_assert_not(match("+", "a/"));
	cr_assert(match("a/+/c", "a//c"));
	cr_assert(match("a/+/c", "a/b/c"));
	cr_assert_not(match("a/+/c", "a/b/b/c"));
	cr_assert(match("+/tennis/#", "sport/tennis"));
	cr_assert(match("+/#", "a"));
}

/* 4.7.2 */
Test(names_match, a_leading_wildcard_does_not_match_a_dollar, .timeout = 5)
{
	cr_assert_not(match("#", "$SYS"));
	cr_assert_not(match("#", "$SYS/a"));
	cr_assert_not(match("#", "$"));
	cr_assert_not(match("+", "$SYS"));
	cr_assert_not(match("+/a", "$SYS/a"));
	cr_assert_not(match("+/#", "$SYS/a"));
	cr_assert_not(match("+/monitor/Clients", "$SYS/monitor/Clients"));
	cr_assert(match("$SYS/#", "$SYS"));
	cr_assert(match("$SYS/#", "$SYS/a"));
	cr_assert(match("$SYS/+", "$SYS/a"));
	cr_assert(match("$SYS/a", "$SYS/a"));
}

Test(names_match, a_dollar_further_on_is_nothing_special, .timeout = 5)
{
	cr_assert(match("a/+", "a/$b"));
	cr_assert(match("a/#", "a/$b"));
	cr_assert(match("+", "a$"));
	cr_assert(match("#", "/$SYS"));
	cr_assert(match("+/+", "/$SYS"));
}

Test(names_match, the_bytes_behind_a_name_do_not_count, .timeout = 5)
{
	struct slice ab = {"a/bc/d", 3}, abc = {"a/bc", 4}, hash = {"a/#x", 3};

	cr_assert(names_match(ab, slice_text("a/b")));
	cr_assert_not(names_match(ab, abc));
	cr_assert_not(names_match(abc, ab));
	cr_assert(names_match(hash, abc));
	cr_assert(names_match(slice_text("a/+"), ab));
}

Test(names_match, names_at_random_match_as_a_second_matcher_says, .timeout = 60)
{
	uint64_t rng = test_seed();
	int matched = 0, missed = 0;

	for (int i = 0; i < scaled(2000000); i++) {
		char filter[LEVELS] = "", topic[LEVELS] = "";
		size_t filter_size = 1 + rng_below(&rng, 9), topic_size = 1 + rng_below(&rng, 9);
		struct slice want = {filter, filter_size}, have = {topic, topic_size};
		bool matches;

		for (size_t at = 0; at < filter_size; at++)
			filter[at] = "a//+#$"[rng_below(&rng, at ? 5 : 6)];
		for (size_t at = 0; at < topic_size; at++)
			topic[at] = "a/$"[rng_below(&rng, at ? 2 : 3)];
		if (!names_filter_valid(want))
			continue;
		matches = names_match(want, have);
		cr_assert_eq(matches, second_opinion(filter, topic), "%s %s", filter, topic);
		matched += matches;
		missed += !matches;
	}
	cr_assert(matched > scaled(1000) && missed > scaled(1000));
}

Test(names_match, names_are_equal_by_their_bytes, .timeout = 5)
{
	cr_assert(names_equal(slice_text("a/b"), slice_text("a/b")));
	cr_assert_not(names_equal(slice_text("a/b"), slice_text("a/c")));
	cr_assert_not(names_equal(slice_text("b"), slice_text("a")));
	cr_assert_not(names_equal(slice_text("a"), slice_text("ab")));
	cr_assert_not(names_equal(slice_text("ab"), slice_text("a")));
	cr_assert(names_equal(slice_of("a\0b", 3), slice_of("a\0b", 3)));
	cr_assert_not(names_equal(slice_of("a\0b", 3), slice_of("a\0c", 3)));
	cr_assert(names_equal(slice_text(""), slice_text("")));
	cr_assert(names_equal((struct slice){NULL, 0}, slice_text("")));
}

Test(names_match, a_filter_covers_another_if_it_matches_all_that_that_matches, .timeout = 5)
{
	static const struct {
		const char *filter, *other;
		bool covers;
	} cases[] = {
		{"#", "#", true},          {"#", "a/+/#", true},       {"#", "$SYS/#", false},
		{"+", "a", true},          {"+", "+", true},           {"+", "#", false},
		{"a/+", "a/b", true},      {"a/+", "a/#", false},      {"a/+", "a/+", true},
		{"a/#", "a", true},        {"a/#", "a/#", true},       {"a/#", "a/+/c", true},
		{"a/#", "#", false},       {"a/b", "a/+", false},      {"a/+/c", "a/b/c", true},
		{"a/+/c", "a/b/#", false}, {"$SYS/#", "$SYS/+", true}, {"+/b", "a", false},
		{"a", "a/b", false},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		cr_assert_eq(names_covers(slice_text(cases[i].filter), slice_text(cases[i].other)),
		             cases[i].covers, "%s and %s", cases[i].filter, cases[i].other);
}

/* What it says of topics is what names_match() says; and what is covered matches nothing else. */
Test(names_match, what_is_covered_matches_no_topic_that_the_other_does_not, .timeout = 20)
{
	static const char *const names[] = {"a",   "b",    "+",     "#",     "a/a",   "a/b",  "a/+",
	                                    "a/#", "+/a",  "+/b",   "+/+",   "+/#",   "b/a",  "b/+",
	                                    "$a",  "$a/#", "a/a/a", "a/+/a", "+/+/#", "a/b/#"};
	static const char *const topics[] = {"a",     "b",     "a/a", "a/b",  "b/a", "b/b", "a/a/a",
	                                     "a/b/a", "b/b/b", "$a",  "$a/b", "a/",  "/a"};
	const size_t count = sizeof(names) / sizeof(names[0]);

	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < count; j++)
			for (size_t t = 0; t < sizeof(topics) / sizeof(topics[0]); t++)
				if (names_covers(slice_text(names[i]), slice_text(names[j])) &&
				    match(names[j], topics[t]))
					cr_assert(match(names[i], topics[t]),
					          "%s covers %s, not %s", names[i], names[j],
					          topics[t]);
}

Test(names_match, the_brokers_own_are_sys_and_below, .timeout = 5)
{
	static const struct {
		const char *topic;
		bool own;
	} cases[] = {{"$SYS", true},   {"$SYS/", true}, {"$SYS/broker/version", true},
	             {"$SYS2", false}, {"$sys", false}, {"SYS", false},
	             {"a/$SYS", false}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		cr_assert_eq(names_own(slice_text(cases[i].topic)), cases[i].own, "%s",
		             cases[i].topic);
}
