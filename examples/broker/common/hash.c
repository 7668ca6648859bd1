/* SPDX-License-Identifier: MIT */
/* Hashes; see hash.h. Multiply and fold, as in wyhash and its kin, and in baton's registry. */
#include "common/hash.h"

#include <string.h>
#include <sys/random.h>

static uint64_t hash_secret = UINT64_C(0x9e3779b97f4a7c15);

__extension__ typedef unsigned __int128 product_type;

static uint64_t hash_mix(uint64_t a, uint64_t b)
{
	const product_type product = (product_type)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

void hash_begin(void)
{
	uint64_t secret;

	if (getrandom(&secret, sizeof(secret), GRND_NONBLOCK) == (ssize_t)sizeof(secret))
		hash_secret = secret;
	else
		hash_secret ^= (uintptr_t)&secret;
}

uint64_t hash_bytes(const void *bytes, size_t size, uint64_t seed)
{
	const unsigned char *at = bytes;
	uint64_t hash = hash_mix(hash_secret ^ seed, size ^ UINT64_C(0xe7037ed1a0b428db));
	uint64_t word = 0;

	for (; size >= sizeof(word); at += sizeof(word), size -= sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		hash = hash_mix(hash ^ word, UINT64_C(0xa0761d6478bd642f));
	}
	word = 0;
	if (size > 0)
		memcpy(&word, at, size);
	return hash_mix(hash ^ word, UINT64_C(0x8ebc6af09c88c6e3));
}
