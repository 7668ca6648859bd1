/* SPDX-License-Identifier: MIT */
/*
 * The descriptors that a loop's sources watch, and the kernel's epoll instance. The host polls the
 * instance; the loop's eventfd is one entry of it. The owner only.
 *
 * Invariants:
 * descriptor.wanted: `wanted` of a descriptor counts, for each side, the sources that are
 *    `_watched`: those in place WATCHED, and those that an event has made READY.
 * descriptor.told: A descriptor whose kernel entry differs from `wanted` is in the list `changed`,
 *    unless all its sources are READY. The owner empties the list before it asks the kernel, and
 *    before it leaves the loop to the host. So a source that is `again`, runs and is watched again
 *    costs no call of the kernel. The kernel is told at once of a source that is not active any
 *    more.
 * descriptor.once: While none of its sources is `again`, the entry is EPOLLONESHOT: with the event
 *    the kernel disables the entry. A disabled entry reports nothing, whatever becomes of its
 *    descriptor, so the entry may stay: a source that is not `again`, runs and is started again
 *    costs one call of the kernel, not two.
 * descriptor.number: An entry names a number, never a source: an entry that outlives its source, or
 *    its descriptor, names no memory.
 * descriptor.closed: Sources of numbers that are closed, and that have no record, share one record,
 *    which the kernel refuses. So the table has no more places than the process has had numbers.
 *    baton__descriptor_same is false for such a source: each look at the source asks the kernel.
 */
#ifndef BATON_SRC_DESCRIPTOR_H
#define BATON_SRC_DESCRIPTOR_H

#include "companion/mainloop/mainloop.h"

struct baton__descriptor {
	struct baton_source_link watching; /* sources in place WATCHED */
	uint32_t wanted[2];                /* READABLE, WRITABLE */
	uint32_t again;                    /* how many of these sources are `again` */
	uint32_t armed;                    /* events of the kernel's entry; 0: none, or disabled */
	int fd;
	bool disabled; /* the kernel has an entry, which its event has disabled */
	bool verify;   /* since a start: the number may be another file's now */
	bool changed;
	struct baton__descriptor *next_changed;
};

/* Creates the epoll instance. Errors: -EMFILE, -ENFILE, -ENOMEM, -ENOSPC. */
int baton__descriptors_init(struct baton__mainloop *loop);

/* Closes the instance, and frees the records. Call when no source is watched. */
void baton__descriptors_deinit(struct baton__mainloop *loop);

/* The source's descriptor, or NULL if there is no memory. The source is `_watched` from now on; the
 * caller appends it to `watching`. */
struct baton__descriptor *baton__descriptor_watch(struct baton__mainloop *loop,
                                                  struct baton_source *source);

/* Ends the watch of a source that is `_watched`. */
void baton__descriptor_leave(struct baton__mainloop *loop, struct baton_source *source);

/*
 * Tells the kernel of a source that is not `_watched` and has become inactive: from now on its
 * descriptor may be closed. (The kernel keeps the entry of a closed descriptor while a duplicate is
 * open, in a forked child perhaps, and then takes no DEL any more.)
 */
void baton__descriptor_left(struct baton__mainloop *loop, struct baton_source *source);

/* Is the source `_watched` for the descriptor that it has now? */
bool baton__descriptor_same(const struct baton_source *source);

/* A source that is `_watched` has been started again: the kernel will be told again. */
void baton__descriptor_verify(struct baton__mainloop *loop, const struct baton_source *source);

/* Tells the kernel what has changed (descriptor.told). */
void baton__descriptors_tell(struct baton__mainloop *loop);

/* Asks the kernel: sources whose descriptors are ready become READY. */
void baton__descriptors_poll(struct baton__mainloop *loop);

/* Some source in place WATCHED; NULL: there is none. For the loop's end. */
struct baton_source *baton__descriptors_any(struct baton__mainloop *loop);

#endif
