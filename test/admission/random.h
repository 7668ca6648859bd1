/* SPDX-License-Identifier: MIT */
#ifndef BATON_TEST_ADMISSION_RANDOM_H
#define BATON_TEST_ADMISSION_RANDOM_H

#include "world.h"

/* Bytes that decide what happens: a random generator's, or a fuzzer's. */
struct source {
	const uint8_t *bytes;
	size_t left;
	uint64_t random; /* used when there are no bytes; 0: then it is over */
};

/* A config, and then events until the source is at its end, or `events` are over. */
void random_run(struct source *source, uint32_t events, uint32_t waiting_max);

#endif
