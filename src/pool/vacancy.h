/* SPDX-License-Identifier: MIT */
/*
 * How long a worker's place stands vacant before a spare takes it; see vacancy.c.
 */
#ifndef BATON_SRC_VACANCY_H
#define BATON_SRC_VACANCY_H

#include <stdbool.h>
#include <stdint.h>

struct baton_pool;
struct baton__worker;

/* One spare's watch over the vacant places of its pool; begins as {0}. */
struct baton__watch {
	uint64_t since_ns; /* when the last look began; 0: there was none */
	uint64_t span_ns;  /* how long the last sleep was to be */
};

/*
 * begin: the holder of the place is about to leave the place, inside a job. `lasts`: the holder
 * stays away so long that a spare is welcome at once. short: the absence did not last, and the
 * holder has come back before a spare took the place.
 */
void baton__vacancy_begin(struct baton__worker *worker, bool lasts);
void baton__vacancy_short(struct baton_pool *pool);

/* Has the place, which was found vacant at `now_ns`, been vacant for long enough to be taken? */
bool baton__vacancy_lasts(struct baton__worker *worker, uint64_t now_ns);

/*
 * A spare that was called and has found no place to take calls this function. True: places have
 * become vacant lately, the spare has slept for a moment, and must look again. False: the spare may
 * rest.
 */
bool baton__vacancy_watch(const struct baton_pool *pool, struct baton__watch *watch);

#endif
