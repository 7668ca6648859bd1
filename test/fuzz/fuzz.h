/* SPDX-License-Identifier: MIT */
/*
 * What the fuzz targets share. A target is LLVMFuzzerTestOneInput: libFuzzer calls it with what it
 * makes up, standalone.c with the files of the corpus and some mutations of them.
 */
#ifndef BATON_TEST_FUZZ_FUZZ_H
#define BATON_TEST_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A property: the target ends here when it does not hold. */
#define FUZZ_CHECK(condition)                                                                      \
	((condition) ? (void)0                                                                     \
	             : (fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition), abort()))

/* Bytes in an allocation that ends where they end, so that AddressSanitizer sees any over-read. */
struct fuzz_copy {
	void *memory;
	unsigned char *bytes;
};

static inline struct fuzz_copy fuzz_copy(const void *bytes, size_t size)
{
	struct fuzz_copy copy = {malloc(size > 0 ? size : 1), NULL};

	FUZZ_CHECK(copy.memory != NULL);
	/* None at all begin behind their allocation. */
	copy.bytes = (unsigned char *)copy.memory + (size > 0 ? 0 : 1);
	if (size > 0)
		memcpy(copy.bytes, bytes, size);
	return copy;
}

static inline void fuzz_uncopy(struct fuzz_copy copy)
{
	free(copy.memory);
}

/* xorshift64*, Vigna 2016; the state is not 0. */
static inline uint32_t fuzz_random(uint64_t *state, uint32_t bound)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return (uint32_t)((*state * 0x2545F4914F6CDD1DU) >> 32) % bound;
}

#endif
