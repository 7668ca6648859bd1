/* SPDX-License-Identifier: MIT */
/*
 * The one order of sequentially consistent operations. It need not be the order in which they were
 * executed: it has to agree with happens-before, and with each word's modification order (the
 * reader of an old value comes before the writer of the next value), and with nothing else. So here
 * it is a partial order; an old value may be read if that closes no cycle.
 *
 * Source: C11 7.17.3, p. 6; for what a load may read the wording of C++20 (coherence-ordered
 * before), which allows less.
 */
#include "engine.h"

#include <string.h>

#define OPERATIONS_MAX 512U
#define PARTS (OPERATIONS_MAX / 64)

struct set {
	uint64_t bits[PARTS];
};

struct operation {
	const void *word; /* NULL: begun anew by plain code */
	uint32_t index;   /* in its modification order: of the value read, or stored */
	bool store;
	uint8_t thread;
	uint16_t stamp;
	struct set before;
};

static struct operation operations[OPERATIONS_MAX];
static unsigned count;

void sim_order_begin(void)
{
	count = 0;
}

static bool contains(const struct set *set, unsigned number)
{
	return set->bits[number / 64] >> number % 64 & 1;
}

static void include(struct set *set, unsigned number)
{
	set->bits[number / 64] |= UINT64_C(1) << number % 64;
	for (unsigned i = 0; i < PARTS; i++)
		set->bits[i] |= operations[number].before.bits[i];
}

/* By coherence: is it before one that loads (or stores) the word's value of this index? */
static bool is_older(const struct operation *one, const void *word, uint32_t index, bool store)
{
	return one->word == word &&
	       (one->index < index || (one->index == index && one->store && !store));
}

/* What is before an operation that loads (or stores) this value, and knows of what `known` says. */
static struct set before(const void *word, uint32_t index, bool store, sim_clock known)
{
	struct set set = {{0}};

	for (unsigned i = count; i-- > 0;) {
		const struct operation *one = &operations[i];

		if (!contains(&set, i) &&
		    (one->stamp <= known[one->thread] || is_older(one, word, index, store)))
			include(&set, i);
	}
	return set;
}

bool sim_order_allows(const void *word, uint32_t index, const sim_clock *known)
{
	struct set set;

	if (count == OPERATIONS_MAX)
		return false;
	set = before(word, index, false, *known);
	for (unsigned i = 0; i < count; i++)
		if (operations[i].word == word && operations[i].index > index && contains(&set, i))
			return false;
	return true;
}

void sim_order_add(const void *word, uint32_t index, bool store)
{
	struct operation *new = &operations[count];

	if (count == OPERATIONS_MAX)
		return;
	*new = (struct operation){.word = word,
	                          .index = index,
	                          .store = store,
	                          .thread = (uint8_t)sim_self,
	                          .stamp = sim_me()->clock[sim_self],
	                          .before = before(word, index, store, sim_me()->clock)};
	/* It has read an old value: what is newer, and all behind that, comes after it. */
	for (unsigned i = 0; i < count; i++) {
		const struct operation *newer = &operations[i];

		if (newer->word != word || newer->index <= index)
			continue;
		for (unsigned j = 0; j < count; j++)
			if (j == i || contains(&operations[j].before, i))
				include(&operations[j].before, count);
	}
	count++;
}

void sim_order_forget(const void *word)
{
	for (unsigned i = 0; i < count; i++)
		if (operations[i].word == word)
			operations[i].word = NULL;
}
