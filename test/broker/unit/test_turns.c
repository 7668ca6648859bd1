/* SPDX-License-Identifier: MIT */
/* The broker's queue of log-ins is served in turns by address (examples/broker/turns.h). */
#include "heap.h"

#include <string.h>

#include "turns.h"

#define ITEMS 64

struct one {
	struct turns_item item;
	uint64_t address;
	bool waits;
	uint64_t added; /* when */
};

static struct one ones[ITEMS];

static struct one *of(struct turns_item *item)
{
	return (struct one *)item; /* it is the first member */
}

/* Adds ones[index]; the index of what has to go, or -1. */
static int add(struct turns *turns, int index, uint64_t address)
{
	struct turns_item *out = turns_add(turns, address, &ones[index].item);

	ones[index].address = address;
	return out != NULL ? (int)(of(out) - ones) : -1;
}

static int take(struct turns *turns)
{
	struct turns_item *item = turns_take(turns);

	return item != NULL ? (int)(of(item) - ones) : -1;
}

Test(turns, one_address_is_first_in_first_out, .timeout = 5)
{
	struct turns turns;

	cr_assert_eq(turns_init(&turns, 10), 0);
	cr_assert_eq(take(&turns), -1);
	for (int i = 0; i < 10; i++)
		cr_assert_eq(add(&turns, i, 7), -1);
	for (int i = 0; i < 10; i++)
		cr_assert_eq(take(&turns), i);
	cr_assert_eq(take(&turns), -1);
	turns_deinit(&turns);
}

Test(turns, give_their_memory_back, .timeout = 5)
{
	size_t before = 0;

	for (int i = 0; i < 100; i++) {
		struct turns turns;

		if (i == 20) /* The first rounds fill the allocator's cache. */
			before = heap_in_use();
		cr_assert_eq(turns_init(&turns, 100), 0);
		turns_deinit(&turns);
	}
	cr_assert(grown_less(before, 4096));
}

Test(turns, addresses_take_turns_whatever_each_has, .timeout = 5)
{
	static const int served[] = {0, 8, 9, 1, 10, 2, 3, 4};
	struct turns turns;

	cr_assert_eq(turns_init(&turns, 20), 0);
	for (int i = 0; i < 5; i++)
		add(&turns, i, 1);
	add(&turns, 8, 2);
	add(&turns, 9, 3);
	add(&turns, 10, 2);
	for (size_t i = 0; i < sizeof(served) / sizeof(served[0]); i++)
		cr_assert_eq(take(&turns), served[i], "%zu", i);
	cr_assert_eq(take(&turns), -1);
	turns_deinit(&turns);
}

/* One that has waited for its turn has it, and who comes again is behind all others. */
Test(turns, a_newcomer_waits_for_one_item_of_each_address, .timeout = 5)
{
	struct turns turns;

	cr_assert_eq(turns_init(&turns, 20), 0);
	for (int i = 0; i < 4; i++)
		add(&turns, i, (uint64_t)i % 2);
	cr_assert_eq(take(&turns), 0);
	add(&turns, 10, 5);
	cr_assert_eq(take(&turns), 1);
	cr_assert_eq(take(&turns), 2);
	cr_assert_eq(take(&turns), 10);
	cr_assert_eq(take(&turns), 3);
	turns_deinit(&turns);
}

Test(turns, of_too_many_the_newest_of_the_address_with_the_most_goes, .timeout = 5)
{
	struct turns turns;

	cr_assert_eq(turns_init(&turns, 4), 0);
	cr_assert_eq(add(&turns, 0, 1), -1);
	cr_assert_eq(add(&turns, 1, 1), -1);
	cr_assert_eq(add(&turns, 2, 1), -1);
	cr_assert_eq(add(&turns, 3, 2), -1);
	cr_assert_eq(add(&turns, 4, 1), 4); /* its own */
	cr_assert_eq(add(&turns, 5, 3), 2); /* the longest's newest */
	cr_assert_eq(add(&turns, 6, 3), 6); /* as long as the longest: its own */
	cr_assert_eq(add(&turns, 7, 4), 1);
	cr_assert_eq(add(&turns, 8, 5), 8); /* all have one */
	cr_assert_eq(turns.count, 4);
	for (int i = 0; i < 4; i++)
		cr_assert_geq(take(&turns), 0);
	cr_assert_eq(take(&turns), -1);
	turns_deinit(&turns);
}

Test(turns, one_address_may_have_them_all, .timeout = 5)
{
	for (int most = 1; most < ITEMS; most++) {
		struct turns turns;

		cr_assert_eq(turns_init(&turns, (size_t)most), 0);
		for (int i = 0; i < most; i++)
			cr_assert_eq(add(&turns, i, 7), -1);
		cr_assert_eq(add(&turns, most, 7), most);
		cr_assert_eq(take(&turns), 0);
		turns_deinit(&turns);
	}
}

/* ---- Against a list that is searched ---- */

struct model {
	uint64_t ring[ITEMS]; /* addresses, whose turn it is first */
	size_t ring_size;
	uint64_t now;
};

static size_t count_of(uint64_t address)
{
	size_t count = 0;

	for (int i = 0; i < ITEMS; i++)
		count += ones[i].waits && ones[i].address == address;
	return count;
}

static struct one *oldest_of(uint64_t address)
{
	struct one *found = NULL;

	for (int i = 0; i < ITEMS; i++)
		if (ones[i].waits && ones[i].address == address &&
		    (found == NULL || ones[i].added < found->added))
			found = &ones[i];
	return found;
}

static bool newest_of_its_own(const struct one *one)
{
	for (int i = 0; i < ITEMS; i++)
		if (ones[i].waits && ones[i].address == one->address && ones[i].added > one->added)
			return false;
	return true;
}

static void model_forget(struct model *model, struct one *one)
{
	size_t kept = 0;

	one->waits = false;
	if (count_of(one->address) > 0)
		return;
	for (size_t i = 0; i < model->ring_size; i++)
		if (model->ring[i] != one->address)
			model->ring[kept++] = model->ring[i];
	model->ring_size = kept;
}

static void random_add(struct turns *turns, struct model *model, struct one *one, uint64_t address)
{
	struct turns_item *out;
	size_t longest = 0;

	one->waits = true;
	one->address = address;
	one->added = ++model->now;
	if (count_of(address) == 1)
		model->ring[model->ring_size++] = address;
	for (int i = 0; i < ITEMS; i++)
		if (ones[i].waits && count_of(ones[i].address) > longest)
			longest = count_of(ones[i].address);
	out = turns_add(turns, address, &one->item);
	if (out == NULL)
		return;
	MUST(of(out)->waits && newest_of_its_own(of(out)));
	MUST(count_of(of(out)->address) == longest);
	MUST(count_of(address) < longest || of(out) == one);
	model_forget(model, of(out));
}

static void random_take(struct turns *turns, struct model *model)
{
	struct turns_item *item = turns_take(turns);
	uint64_t address;

	if (model->ring_size == 0) {
		MUST(item == NULL);
		return;
	}
	address = model->ring[0];
	memmove(model->ring, model->ring + 1, --model->ring_size * sizeof(model->ring[0]));
	MUST(item != NULL && of(item) == oldest_of(address));
	of(item)->waits = false;
	if (count_of(address) > 0)
		model->ring[model->ring_size++] = address;
}

static void anything_at_random(size_t most, int steps)
{
	uint64_t rng = test_seed();
	struct model model = {0};
	struct turns turns;

	cr_assert_eq(turns_init(&turns, most), 0);
	for (int step = 0; step < steps; step++) {
		struct one *one = &ones[rng_below(&rng, ITEMS)];
		const unsigned what = rng_below(&rng, 100);
		size_t waiting = 0;

		if (!one->waits && what < 60)
			random_add(&turns, &model, one, rng_below(&rng, 1 + what / 4));
		else if (one->waits && what < 20)
			turns_remove(&turns, &one->item), model_forget(&model, one);
		else if (what >= 80)
			random_take(&turns, &model);
		for (int i = 0; i < ITEMS; i++)
			waiting += ones[i].waits;
		cr_assert_eq(turns.count, waiting);
		cr_assert_leq(waiting, most);
	}
	while (model.ring_size > 0)
		random_take(&turns, &model);
	cr_assert_null(turns_take(&turns));
	turns_deinit(&turns);
}

/* Few items have few buckets, which addresses share. */
Test(turns, anything_at_random_is_as_in_a_list_that_is_searched, .timeout = 60)
{
	anything_at_random(ITEMS / 2, scaled(80000));
	anything_at_random(7, scaled(20000));
	anything_at_random(1, scaled(1000));
}
