/* SPDX-License-Identifier: MIT */
/*
 * What the tests and the library between the broker and its disk (disk.c) share: a file that both
 * have mapped. The tests change it while the broker runs.
 */
#ifndef BROKER_DISK_H
#define BROKER_DISK_H

#include <stdint.h>

enum disk_action {
	DISK_NOTHING,
	DISK_KILL,      /* the process, before the call */
	DISK_KILL_TORN, /* the same, after half of a write */
	DISK_EIO,       /* the call fails */
	DISK_FULL,      /* a write fails, with ENOSPC */
};

struct disk_plan {
	uint64_t calls; /* atomic: writes, truncations, syncs and unlinks of the store so far */
	uint64_t at;    /* the number of the call for which there is an action; 0: none */
	uint32_t action;
	uint32_t sockets; /* reads and writes of sockets count, too */
	uint32_t always;  /* an action for each call from now on */
	char file[256];   /* the store; its other files begin likewise */
	char trace[256];  /* a file that gets a disk_record for each call; empty: none */
};

enum disk_kind {
	DISK_WRITE,
	DISK_TRUNCATE,
	DISK_SYNC,
	DISK_UNLINK,
};

/* Followed by `size` bytes of a write. */
struct disk_record {
	uint32_t kind;
	uint32_t size;
	uint64_t offset;
	char end[16]; /* of the file's name: "", "-wal", "-journal" */
};

#endif
