/* SPDX-License-Identifier: MIT */
/*
 * All sequences of events of a length, for all limits up to (3, 3, 3), through the rules of
 * admission and their model. An event: a fast, medium, slow, default or interactive task arrives;
 * one of the running tasks finishes (each is tried); a tick lets a second pass. The classes' tasks
 * may run 1, 2 and 4 s.
 */
#ifndef BATON_TEST_ADMISSION_SEQUENCES_H
#define BATON_TEST_ADMISSION_SEQUENCES_H

#include "world.h"

struct sequences {
	struct baton_rules_config config; /* its limits and durations are set here */
	bool overrun;    /* tasks do not finish by themselves when their time is over */
	uint64_t count;  /* of the sequences, counted here */
	uint64_t states; /* different states that the model met */
};

void sequences_all(struct sequences *search, uint32_t length);

#endif
