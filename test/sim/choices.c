/* SPDX-License-Identifier: MIT */
/*
 * Who decides: a search in depth with a bound on what deviations cost, random numbers, bytes from a
 * fuzzer, or a list to be replayed. In each case every choice other than 0 is noted, with the
 * number of its decision: the list of these choices replays the execution.
 */
#include "engine.h"

#include <string.h>

#define DECISIONS_MAX 60000
#define DEVIATIONS_MAX 20000

struct decision {
	uint8_t chosen;
	uint8_t count;
	uint8_t paid;
	uint8_t spent; /* before it */
};

struct sim_choices sim_choices;

static struct decision path[DECISIONS_MAX];
static size_t depth; /* of the path to be followed */
static size_t at;    /* decisions with alternatives so far */
static unsigned spent;
static uint64_t state;
static unsigned rarely; /* random: 1 in so many decisions deviates */
static const uint8_t *input;
static size_t input_left;
static const struct sim_deviation *replayed;
static size_t replayed_left;
static struct sim_deviation made[DEVIATIONS_MAX];
static size_t made_count;

/* splitmix64 (Steele et al. 2014). */
uint64_t sim_random(void)
{
	uint64_t z = (state += UINT64_C(0x9E3779B97F4A7C15));

	z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
	return z ^ (z >> 31);
}

void sim_calm(bool calm)
{
	sim_choices.calm = calm;
}

uint32_t sim_step(void)
{
	return sim_choices.step;
}

uint32_t sim_known(unsigned thread)
{
	return sim_me()->clock[thread];
}

void sim_note(unsigned chosen)
{
	if (!chosen)
		return;
	if (made_count == DEVIATIONS_MAX)
		sim_fail("more than %d decisions", DEVIATIONS_MAX);
	made[made_count++] = (struct sim_deviation){sim_choices.step, chosen};
}

static unsigned choose_on_path(unsigned count, unsigned paid)
{
	unsigned chosen = 0;

	if (at == DECISIONS_MAX)
		sim_fail("more than %d decisions", DECISIONS_MAX);
	if (at < depth) {
		chosen = path[at].chosen;
		if (path[at].count != count)
			sim_fail("explorer: not the same choice as before: %u of %u", count,
			         path[at].count);
	} else {
		path[at] = (struct decision){0, (uint8_t)count, (uint8_t)paid, (uint8_t)spent};
	}
	spent += chosen >= paid;
	at++;
	return chosen;
}

static unsigned choose_replayed(unsigned count)
{
	unsigned chosen = 0;

	while (replayed_left && replayed->step < sim_choices.step) {
		replayed++;
		replayed_left--;
	}
	if (replayed_left && replayed->step == sim_choices.step)
		chosen = replayed->chosen;
	return chosen < count ? chosen : 0;
}

static unsigned choose_byte(unsigned count, unsigned paid)
{
	unsigned chosen;

	if (!input_left)
		return 0;
	chosen = *input++;
	input_left--;
	if (paid == 0 || paid >= count)
		return chosen % count;
	/* Most bytes let things go on. */
	return chosen < 160 ? 0 : chosen % count;
}

unsigned sim_choose(unsigned count, unsigned paid)
{
	unsigned chosen = 0;

	sim_choices.step++;
	if (count <= 1 || sim_choices.calm)
		return 0;
	switch (sim_choices.mode) {
	case SIM_EXHAUSTIVE:
		chosen = choose_on_path(count, paid);
		break;
	case SIM_RANDOM:
	case SIM_PCT:
		if (paid == 0 || paid >= count || sim_random() % rarely == 0)
			chosen = (unsigned)(sim_random() % count);
		break;
	case SIM_BYTES:
		chosen = choose_byte(count, paid);
		break;
	case SIM_REPLAY:
		chosen = choose_replayed(count);
		break;
	}
	sim_note(chosen);
	return chosen;
}

void sim_choices_begin(enum sim_mode mode, uint64_t seed, unsigned bound)
{
	static const unsigned rates[] = {2, 4, 8, 16, 40};

	sim_choices.mode = mode;
	sim_choices.step = 0;
	sim_choices.calm = false;
	sim_choices.bound = bound;
	state = seed;
	rarely = rates[sim_random() % 5];
	at = 0;
	spent = 0;
	made_count = 0;
}

void sim_choices_bytes(const uint8_t *bytes, size_t size)
{
	input = bytes;
	input_left = size;
}

void sim_choices_replay(const struct sim_deviation *deviations, size_t count)
{
	replayed = deviations;
	replayed_left = count;
}

void sim_choices_restart(void)
{
	depth = 0;
}

bool sim_choices_next(void)
{
	depth = at;
	while (depth) {
		struct decision *last = &path[depth - 1];
		unsigned next = last->chosen + 1U;

		if (next < last->count &&
		    last->spent + (unsigned)(next >= last->paid) <= sim_choices.bound) {
			last->chosen = (uint8_t)next;
			return true;
		}
		depth--;
	}
	return false;
}

size_t sim_choices_made(const struct sim_deviation **deviations)
{
	*deviations = made;
	return made_count;
}
