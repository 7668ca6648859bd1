/* SPDX-License-Identifier: MIT */
/* The readers that a worker takes along, and runs with the help of other workers. See
 * reader_party.c. */
#ifndef BATON_SRC_READER_PARTY_H
#define BATON_SRC_READER_PARTY_H

#include <baton/executor.h>
#include <baton/reader.h>

#ifndef BATON__PARTY_MAX /* tests make this small */
#define BATON__PARTY_MAX 31U
#endif

struct baton__party {
	struct baton_plain_job job;
	struct baton_readers *readers;
	struct baton_executor *executor;
	uint32_t posted;
	uint32_t next; /* lower half: how many were taken; upper half: how many there were */
	struct baton_task *tasks[BATON__PARTY_MAX];
};

/* The party of these readers. NULL: there is no memory. Called by the leader, a worker. */
struct baton__party *baton__party_of(struct baton_readers *readers);

/* The leader has put `count` readers, which the readers' word counts, into `tasks`: asks a worker
 * for help. */
void baton__party_begin(struct baton__party *party, uint32_t count);

/* Takes a reader out of the party. NULL: none is left. */
struct baton_task *baton__party_take(struct baton__party *party);

/* The readers are gone: frees their party, if they have one. */
void baton__party_end(struct baton_readers *readers);

#endif
