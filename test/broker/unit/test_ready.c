/* SPDX-License-Identifier: MIT */
/* Whose turn it is in a group (examples/broker/session/ready.h), beside a look at all members. */
#include <stdbool.h>
#include <stdlib.h>

#include "session/ready.h"
#include "support.h"

enum { MEMBERS = 37 };

Test(ready, nobody_is_there_at_first, .timeout = 5)
{
	struct ready ready = {0};
	struct ready_place place = {0};

	cr_assert(ready_first(&ready) == NULL);
	ready_take(&ready, &place);
	cr_assert(ready_first(&ready) == NULL);
	ready_free(&ready);
}

Test(ready, equals_have_their_turn_one_after_the_other, .timeout = 5)
{
	struct ready ready = {0};
	struct ready_place places[MEMBERS] = {{0}};
	uint64_t turn = 0;

	for (size_t i = 0; i < MEMBERS; i++) {
		places[i].turn = ++turn;
		ready_put(&ready, &places[i]);
	}
	for (size_t i = 0; i < 10 * MEMBERS; i++) {
		struct ready_place *first = ready_first(&ready);

		MUST(first == &places[i % MEMBERS]);
		first->turn = ++turn;
		ready_put(&ready, first);
	}
	ready_free(&ready);
}

/* The first of all that are in, by a look at each. */
static const struct ready_place *looked_up(const struct ready_place *places, const bool *in)
{
	const struct ready_place *best = NULL;

	for (size_t i = 0; i < MEMBERS; i++)
		if (in[i] && (best == NULL || places[i].under_way < best->under_way ||
		              (places[i].under_way == best->under_way &&
		               places[i].turn < best->turn)))
			best = &places[i];
	return best;
}

Test(ready, the_first_has_the_least_under_way_and_waits_longest, .timeout = 20)
{
	struct ready ready = {0};
	struct ready_place places[MEMBERS] = {{0}};
	bool in[MEMBERS] = {false};
	uint64_t turn = 0;

	srand(7);
	for (unsigned int step = 0; step < 100000; step++) {
		const size_t i = (size_t)rand() % MEMBERS;

		if (rand() % 3 == 0) {
			ready_take(&ready, &places[i]);
			in[i] = false;
		} else {
			places[i].under_way = (uint32_t)rand() % 5;
			if (rand() % 2 == 0 || places[i].turn == 0)
				places[i].turn = ++turn;
			ready_put(&ready, &places[i]);
			in[i] = true;
		}
		MUST(ready_first(&ready) == looked_up(places, in));
	}
	ready_free(&ready);
}
