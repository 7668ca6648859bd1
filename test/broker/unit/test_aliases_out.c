/* SPDX-License-Identifier: MIT */
/* Topic aliases that the broker gives (examples/broker/session/aliases_out.h). */
#include "session/aliases_out.h"

#include "support.h"

#define TOPICS 5000

static struct aliases_out *aliases;

static struct packet_alias choose(unsigned most, unsigned topic)
{
	char text[24];
	const int size = snprintf(text, sizeof(text), "topic/%u", topic);

	return aliases_out_choose(&aliases, (uint16_t)most, (struct slice){text, (size_t)size});
}

static void done(void)
{
	aliases_out_free(aliases);
	aliases = NULL;
}

/* A topic is sent with its number before the number goes alone, and as long as it has it. */
Test(aliases_out, a_client_knows_each_number_that_stands_alone, .timeout = 10)
{
	static const unsigned most[] = {1, 2, 3, 7, 64, 65, 65535};
	uint64_t rng = test_seed();

	for (size_t i = 0; i < sizeof(most) / sizeof(*most); i++) {
		unsigned known[65536] = {0}; /* the topic of each number, plus 1 */
		size_t alone = 0;

		for (unsigned step = 0; step < 20000; step++) {
			/* Some topics come often, and many once. */
			const unsigned topic = rng_below(
				&rng, rng_below(&rng, 2) == 0 ? 3 * most[i] % 100 + 1 : TOPICS);
			const struct packet_alias alias = choose(most[i], topic);

			cr_assert(alias.number <= most[i] && alias.number <= ALIASES_OUT_MAX);
			if (alias.known)
				cr_assert_eq(known[alias.number], topic + 1);
			else if (alias.number != 0)
				known[alias.number] = topic + 1;
			alone += alias.known;
		}
		cr_assert(alone > 0);
		done();
	}
}

Test(aliases_out, the_first_topics_have_one_at_once, .timeout = 5)
{
	unsigned found = 0;

	cr_assert_eq(choose(10, 0).known, false);
	for (unsigned topic = 0; topic < 10; topic++)
		found += choose(10, topic).number != 0;
	/* The four places of a topic may be taken already. */
	cr_assert(found >= 7, "%u", found);
	cr_assert(choose(10, 0).known);
	done();
}

/* What comes as often as all else together is not driven out by it. */
Test(aliases_out, a_hot_topic_keeps_its_number, .timeout = 5)
{
	unsigned again = 0;

	for (unsigned step = 0; step < 20000; step++) {
		again += !choose(4, 0).known;
		choose(4, 1 + step);
	}
	cr_assert(again < 20, "%u times again", again);
	done();
}

Test(aliases_out, a_topic_that_becomes_hot_gets_a_number_soon, .timeout = 5)
{
	unsigned waited = 0;

	for (unsigned step = 0; step < 1000; step++)
		choose(4, step % 10);
	while (!choose(4, 77).known)
		cr_assert(++waited < 10 * ALIASES_OUT_MISSES);
	done();
}

/* Topics that come once cost a number now and then. */
Test(aliases_out, topics_that_come_once_cost_little, .timeout = 5)
{
	unsigned given = 0;

	for (unsigned step = 0; step < 20000; step++)
		given += choose(16, step).number != 0;
	cr_assert(given <= 16 + 20000 / ALIASES_OUT_MISSES, "%u", given);
	done();
}

Test(aliases_out, a_short_topic_and_a_very_long_one_get_none, .timeout = 5)
{
	static const char text[ALIASES_OUT_TOPIC + 1] = "a";

	for (int i = 0; i < 2; i++) {
		cr_assert_eq(aliases_out_choose(&aliases, 9, (struct slice){text, 3}).number, 0);
		cr_assert_neq(aliases_out_choose(&aliases, 9, (struct slice){text, 4}).number, 0);
		cr_assert_neq(
			aliases_out_choose(&aliases, 9, (struct slice){text, ALIASES_OUT_TOPIC})
				.number,
			0);
		cr_assert_eq(
			aliases_out_choose(&aliases, 9, (struct slice){text, sizeof(text)}).number,
			0);
	}
	done();
}

/*
 * Topics with Zipf's distribution: how many packets do without their topic, beside what one could
 * have who knows the most frequent ones.
 */
Test(aliases_out, is_near_the_best, .timeout = 10)
{
	static const unsigned most[] = {8, 16, 64};
	static double sums[TOPICS];
	uint64_t rng = test_seed();

	for (unsigned i = 0; i < TOPICS; i++)
		sums[i] = (i > 0 ? sums[i - 1] : 0) + 1.0 / (i + 1);
	for (size_t i = 0; i < sizeof(most) / sizeof(*most); i++) {
		enum { STEPS = 50000 };
		size_t best = 0, alone = 0;

		for (unsigned step = 0; step < STEPS; step++) {
			const double at =
				rng_below(&rng, 1u << 30) / (double)(1u << 30) * sums[TOPICS - 1];
			unsigned topic = 0;

			for (unsigned half = 4096; half > 0; half /= 2)
				if (topic + half < TOPICS && sums[topic + half - 1] < at)
					topic += half;
			best += topic < most[i];
			alone += choose(most[i], topic).known;
		}
		cr_assert(alone > best * 3 / 4, "%u aliases: %zu of %zu", most[i], alone, best);
		done();
	}
}
