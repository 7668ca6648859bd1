/* SPDX-License-Identifier: MIT */
/* Packets of QoS 2 that have come; see received.h. */
#include "session/received.h"

#include <errno.h>
#include <stdlib.h>

#define RECEIVED_WORDS (65536 / 64)

int received_add(struct received *received, uint16_t packet_id)
{
	const uint64_t bit = (uint64_t)1 << (packet_id % 64);

	if (received->bits == NULL)
		received->bits = calloc(RECEIVED_WORDS, sizeof(*received->bits));
	if (received->bits == NULL)
		return -ENOMEM;
	if ((received->bits[packet_id / 64] & bit) != 0)
		return 0;
	received->bits[packet_id / 64] |= bit;
	received->count++;
	return 1;
}

bool received_remove(struct received *received, uint16_t packet_id)
{
	const uint64_t bit = (uint64_t)1 << (packet_id % 64);

	if (received->bits == NULL || (received->bits[packet_id / 64] & bit) == 0)
		return false;
	received->bits[packet_id / 64] &= ~bit;
	received->count--;
	return true;
}

void received_trim(struct received *received)
{
	if (received->count == 0)
		received_clear(received);
}

void received_clear(struct received *received)
{
	free(received->bits);
	received->bits = NULL;
	received->count = 0;
}
