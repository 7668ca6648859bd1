/* SPDX-License-Identifier: MIT */
/*
 * Vouchers: a number for each line of a password file, made of user and hash. A connection keeps
 * the voucher of the line that let it in. A set of all vouchers of a file tells later, without the
 * file, whether the line is still there. A line whose hash has changed is another line.
 *
 * A set does not change. It is counted, and freed with its last reference.
 */
#ifndef BROKER_VOUCHERS_H
#define BROKER_VOUCHERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vouchers {
	uint64_t references; /* atomic */
	uint64_t generation; /* of the password file: 1, 2 ... */
	size_t count;
	uint64_t each[]; /* sorted, after vouchers_sort() */
};

/* The voucher of a line; not 0. */
uint64_t voucher_of(const char *line, size_t size);

/* A set with room for so many, which the caller fills and sorts. It has one reference. */
struct vouchers *vouchers_create(size_t count);
void vouchers_sort(struct vouchers *vouchers);
bool vouchers_has(const struct vouchers *vouchers, uint64_t voucher);

/* Any thread. release: NULL is allowed. */
void vouchers_reference(struct vouchers *vouchers);
void vouchers_release(struct vouchers *vouchers);

#endif
