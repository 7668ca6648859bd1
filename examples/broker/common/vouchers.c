/* SPDX-License-Identifier: MIT */
/* Vouchers of a password file; see vouchers.h. */
#include "common/vouchers.h"

#include <stdlib.h>

#include "common/atomic.h"
#include "common/hash.h"
#include "common/must.h"

uint64_t voucher_of(const char *line, size_t size)
{
	const uint64_t hash = hash_bytes(line, size, 0);

	return hash == 0 ? 1 : hash;
}

struct vouchers *vouchers_create(size_t count)
{
	struct vouchers *vouchers =
		must_alloc(sizeof(*vouchers) + count * sizeof(vouchers->each[0]));

	vouchers->references = 1;
	vouchers->count = count;
	return vouchers;
}

static int compare(const void *a, const void *b)
{
	const uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

void vouchers_sort(struct vouchers *vouchers)
{
	qsort(vouchers->each, vouchers->count, sizeof(vouchers->each[0]), compare);
}

bool vouchers_has(const struct vouchers *vouchers, uint64_t voucher)
{
	return bsearch(&voucher, vouchers->each, vouchers->count, sizeof(voucher), compare) != NULL;
}

void vouchers_reference(struct vouchers *vouchers)
{
	add_relaxed(&vouchers->references, 1); /* the caller holds one */
}

void vouchers_release(struct vouchers *vouchers)
{
	/* Release: this thread's use; acquire: all uses, before the free. */
	if (vouchers != NULL && sub_acq_rel(&vouchers->references, 1) == 1)
		free(vouchers);
}
