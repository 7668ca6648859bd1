/* SPDX-License-Identifier: MIT */
/*
 * Zipf by the cumulative weights, exact. A table of as many equal steps as there are weights says
 * where to begin to look, so that a draw takes a few steps, of a million numbers, too.
 */
#include "zipf.h"

#include <math.h>
#include <stdlib.h>

#define SKEW 0.99

struct zipf {
	uint32_t count;
	double *cumulative; /* up to 1 */
	uint32_t *places;   /* of the ranks */
	uint32_t *starts;   /* the first rank whose cumulative weight is above i / count */
};

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void *allocate(uint32_t count, size_t size)
{
	void *memory = malloc(count * size);

	if (!memory)
		abort();
	return memory;
}

static void weigh(struct zipf *zipf)
{
	uint32_t count = zipf->count;
	double sum = 0;

	for (uint32_t i = 0; i < count; i++) {
		sum += pow(i + 1.0, -SKEW);
		zipf->cumulative[i] = sum;
	}
	for (uint32_t i = 0; i < count; i++)
		zipf->cumulative[i] /= sum;
	zipf->cumulative[count - 1] = 1;
	for (uint32_t i = 0, rank = 0; i < count; i++) {
		while (zipf->cumulative[rank] <= (double)i / count)
			rank++;
		zipf->starts[i] = rank;
	}
}

static void shuffle(struct zipf *zipf, uint64_t seed)
{
	for (uint32_t i = 0; i < zipf->count; i++)
		zipf->places[i] = i;
	for (uint32_t i = zipf->count - 1; i > 0; i--) {
		uint32_t other = (uint32_t)(next_random(&seed) % (i + 1));
		uint32_t place = zipf->places[i];

		zipf->places[i] = zipf->places[other];
		zipf->places[other] = place;
	}
}

struct zipf *zipf_create(uint32_t count, uint64_t seed)
{
	struct zipf *zipf = allocate(1, sizeof(*zipf));

	zipf->count = count;
	zipf->cumulative = allocate(count, sizeof(*zipf->cumulative));
	zipf->places = allocate(count, sizeof(*zipf->places));
	zipf->starts = allocate(count, sizeof(*zipf->starts));
	weigh(zipf);
	shuffle(zipf, ~seed); /* not the draws' sequence */
	return zipf;
}

void zipf_destroy(struct zipf *zipf)
{
	free(zipf->cumulative);
	free(zipf->places);
	free(zipf->starts);
	free(zipf);
}

void zipf_draw(const struct zipf *zipf, uint32_t *keys, unsigned length, uint64_t seed)
{
	for (unsigned i = 0; i < length; i++) {
		double part = (double)(next_random(&seed) >> 11) / 9007199254740992.0;
		uint32_t rank = zipf->starts[(uint32_t)(part * zipf->count)];

		while (zipf->cumulative[rank] <= part)
			rank++;
		keys[i] = zipf->places[rank];
	}
}
