/* SPDX-License-Identifier: MIT */
/* An item: a task of a module's sort, in one cell. */
#ifndef BATON_TEST_STRESS_MOD_ITEM_H
#define BATON_TEST_STRESS_MOD_ITEM_H

#include "mod.h"

#include "../parts.h"

#define ITEM_MAGIC 0x17e317e3U
#define ITEM_UNDOS 4

/* The last two have a token. */
enum item_kind { ITEM_LABELLED, ITEM_UNDOABLE, ITEM_READER, ITEM_WINDOWED };
#define ITEM_KINDS 4

struct item_undo {
	struct baton_undo undo;
	struct item *item;
};

struct item_reading {
	struct read_task read;
	struct baton_detached token;
};

struct item {
	union {
		struct baton_task task; /* the first member of all others, too */
		struct stamped stamped;
		struct windowed windowed;
		struct item_reading reading;
	};
	struct baton_future future;
	struct ground *ground;
	struct baton_group *group;
	struct baton_deadline *deadline;
	uint64_t due_ns; /* the deadline's */
	uint64_t sequence;
	uint64_t cancel_done; /* the ground's, before the submit */
	/* cancels of the shared tag that had begun when the item was stamped */
	uint64_t tag_begun;
	/* cancels of the shared tag that had returned before the item was stamped */
	uint64_t tag_done;
	struct item_undo undos[ITEM_UNDOS];
	uint32_t magic;
	uint32_t batch;
	int32_t status; /* what its function or its completer said */
	int16_t tag;
	uint16_t stream;
	uint8_t kind;
	uint8_t key;
	uint8_t pushed;
	uint8_t runs;
	bool has_future;
	bool bound_counts;
	bool own_tag; /* the tag is one thread's own, and its cancels are not counted */
	bool detached;
	bool flies;
	unsigned flags;
	atomic_uint references;
	atomic_bool tried;
};

_Static_assert(sizeof(struct item) <= 448, "a cell");

struct item *item_new(struct ground *ground, enum item_kind kind, bool has_future);
/* Labelled: with a lane, bytes, perhaps a tag; a reader or not. */
struct item *item_labelled(struct ground *ground, bool has_future);

/* Submits the item in a random way. A refusal is checked, and the item is given back. */
int item_submit(struct item *item);

/* enter: the function is entered; checks what must hold then. ends: the function is about to
 * return; checks what it must leave. */
void item_enter(struct item *item);
void item_read(struct item *item); /* of a reader */

/* over: the ground's counters count the item as over. unref: the last reference gives the memory
 * back. */
void item_unref(struct item *item);

/* The item was cancelled: checks that some call can have cancelled it. */
void item_justify(const struct item *item);

int window_run(struct baton_task *task);
/* The item has detached itself: somebody completes it. Last touch. */
void stash_put(struct item *item);
void item_use_log(struct ground *ground);
int item_undo_run(struct baton_task *task);

#endif
