/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target: the rules of admission beside their model (test/admission). The input is a config
 * and then events, as test/admission/random.c reads them. Properties: those of world.h there.
 */
#include "fuzz.h"
#include "random.h"

#define EVENTS_MAX 300
#define WAITING_MAX 12

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct source source = {.bytes = data, .left = size};

	random_run(&source, EVENTS_MAX, WAITING_MAX);
	return 0;
}
