/* SPDX-License-Identifier: MIT */
/* An item: a task of a module's sort, in one cell. */
#ifndef BATON_TEST_STRESS_MOD_ITEM_H
#define BATON_TEST_STRESS_MOD_ITEM_H

#include "mod.h"

#define ITEM_MAGIC 0x17e317e3U
#define ITEM_UNDOS 4

enum item_kind { ITEM_LABELLED, ITEM_UNDOABLE, ITEM_WINDOWED };

struct item_undo {
	struct baton_undo undo;
	struct item *item;
};

struct item {
	union {
		struct baton_task task; /* each of them begins with one */
		struct baton_labelled labelled;
		struct baton_windowed windowed;
	};
	struct baton_future future;
	struct ground *ground;
	struct baton_group *group;
	struct baton_deadline *deadline;
	uint64_t due_ns; /* the deadline's */
	uint64_t sequence;
	uint64_t cancel_done; /* the ground's, before the submit */
	uint64_t tag_begun;   /* the shared tag's cancels that had begun when it was stamped */
	uint64_t tag_done;    /* and those that had returned before it was */
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
	bool own_tag; /* of one thread; nobody keeps account of its cancels */
	bool detached;
	bool flies;
	unsigned flags;
	atomic_uint references;
	atomic_bool tried;
};

_Static_assert(sizeof(struct item) <= 448, "a cell");

struct item *item_new(struct ground *ground, enum item_kind kind, bool has_future);
void item_label(struct item *item);

/* Submits in a random way; what is refused is checked and given back. */
int item_submit(struct item *item);

/* The function is entered: all that can be checked then. Ends: what it must leave. */
void item_enter(struct item *item);

/* Is over, as far as its ground's account goes; the memory goes with the last reference. */
void item_unref(struct item *item);

/* It has been cancelled: had somebody a reason? */
void item_justify(const struct item *item);

int window_run(struct baton_task *task);
void item_use_log(struct ground *ground);
int item_undo_run(struct baton_task *task);

#endif
