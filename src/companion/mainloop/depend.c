/* SPDX-License-Identifier: MIT */
/*
 * Dependencies: edges between the records of sources, the search for a cycle, and its names.
 */
#include "companion/mainloop/depend.h"
#include "companion/mainloop/places.h"

#include <errno.h>
#include <stdlib.h>

/* An edge lies in two lists: the parent's `children`, and the child's `parents`. */
struct baton__edge {
	struct baton__dependent *parent;
	struct baton__dependent *child;
	struct baton__edge *next_child;
	struct baton__edge *next_parent;
	struct baton__edge **child_link; /* the pointer to this edge in the parent's list */
	struct baton__edge **parent_link;
};

/* Adds one to the child's busy parents, or takes one off, and places the child. */
static void block(struct baton__mainloop *loop, struct baton__dependent *child, bool more)
{
	struct baton_source *source = child->source;

	child->blockers += more ? (size_t)1 : (size_t)-1;
	/* The child's word is unchanged, so the child is only placed, not settled. Relaxed: a
	 * source whose word another thread has changed is settled when it is absorbed. */
	if (child->blockers == (more ? 1 : 0))
		baton__source_place(loop, source, load_relaxed(&source->_state));
}

/* Notes whether the source is busy. A change holds its children back, or lets them go on. */
static void note_busy(struct baton__mainloop *loop, struct baton__dependent *dependent, bool busy)
{
	if (dependent->busy == busy)
		return;
	dependent->busy = busy;
	/* Bounded by the children. */
	for (struct baton__edge *edge = dependent->children; edge; edge = edge->next_child)
		block(loop, edge->child, busy);
}

void baton__source_settle(struct baton__mainloop *loop, struct baton_source *source, uint64_t word)
{
	if (source->_dependent)
		note_busy(loop, source->_dependent,
		          word & (BATON__SOURCE_ACTIVE | BATON__SOURCE_RUNNING));
	baton__source_place(loop, source, word);
}

/* ---- Records ---- */

/* Makes `record` the record of runs that are under way: of the runs that have `old` or, if `old` is
 * NULL, of the runs of `source`. */
static void note_run(struct baton__mainloop *loop, const struct baton_source *source,
                     const struct baton__dependent *old, struct baton__dependent *record)
{
	/* Bounded by the nested runs. */
	for (struct baton__source_run *run = loop->running; run; run = run->below)
		if (old ? run->dependent == old : run->source == source)
			run->dependent = record;
}

static struct baton__dependent *dependent_record(struct baton__mainloop *loop,
                                                 struct baton_source *source)
{
	struct baton__dependent *record = source->_dependent;

	if (record)
		return record;
	record = calloc(1, sizeof(*record));
	if (!record)
		return NULL;
	record->source = source;
	record->next = loop->dependents;
	record->prev = &loop->dependents;
	if (record->next)
		record->next->prev = &record->next;
	loop->dependents = record;
	source->_dependent = record;
	note_run(loop, source, NULL, record);
	return record;
}

static void record_free(struct baton__mainloop *loop, struct baton__dependent *record)
{
	note_run(loop, NULL, record, NULL);
	*record->prev = record->next;
	if (record->next)
		record->next->prev = record->prev;
	free(record);
}

/* Sets or clears PARENT. */
static void set_parent(struct baton_source *source, bool parent)
{
	uint64_t word = load_relaxed(&source->_state); /* validated by the CAS */

	/* Ends: a CAS fails only because of another thread's start, stop or post. Relaxed: the
	 * owner settles the source afterwards, by a later load of the word. */
	while (!cas_relaxed(&source->_state, &word,
	                    parent ? word | BATON__SOURCE_PARENT : word & ~BATON__SOURCE_PARENT))
		;
}

/* Frees a record without edges, and clears the source's pointer to the record. */
static void drop_if_bare(struct baton__mainloop *loop, struct baton__dependent *record)
{
	if (!record->children && record->source)
		set_parent(record->source, false);
	if (record->children || record->parents || !record->source)
		return;
	record->source->_dependent = NULL;
	record_free(loop, record);
}

/* Takes the edge out of its two lists, and frees it. */
static void cut(struct baton__mainloop *loop, struct baton__edge *edge)
{
	struct baton__dependent *parent = edge->parent;
	struct baton__dependent *child = edge->child;

	*edge->child_link = edge->next_child;
	if (edge->next_child)
		edge->next_child->child_link = edge->child_link;
	*edge->parent_link = edge->next_parent;
	if (edge->next_parent)
		edge->next_parent->parent_link = edge->parent_link;
	free(edge);
	if (parent->busy && child->source)
		block(loop, child, false);
	drop_if_bare(loop, parent);
	drop_if_bare(loop, child);
}

void baton__dependent_end(struct baton__mainloop *loop, struct baton__dependent *dependent)
{
	/* The source may be gone: without this pointer cut does not touch it. */
	dependent->source = NULL;
	while (dependent->children)
		cut(loop, dependent->children);
	while (dependent->parents)
		cut(loop, dependent->parents);
	record_free(loop, dependent);
}

/* Ends the dependencies of a source that is still there. */
static void end_of(struct baton__mainloop *loop, struct baton_source *source)
{
	struct baton__dependent *record = source->_dependent;

	source->_dependent = NULL;
	set_parent(source, false);
	baton__dependent_end(loop, record);
}

void baton__dependents_end(struct baton__mainloop *loop)
{
	while (loop->dependents)
		end_of(loop, loop->dependents->source);
}

/* ---- Cycles ---- */

/* One half of the search for a path: down from the child's record, or up from the parent's. */
struct half {
	struct baton__dependent *record; /* the half follows its edges now */
	struct baton__dependent *last;   /* the end of the queue of records */
	struct baton__edge *edge;        /* the next edge of the record */
	uint64_t mark;                   /* `searched` of the records that this half has met */
	bool up;
};

static struct baton__edge *first_edge(const struct half *half)
{
	return half->up ? half->record->parents : half->record->children;
}

static void begin_half(struct half *half, struct baton__dependent *record, uint64_t mark, bool up)
{
	*half = (struct half){.record = record, .last = record, .mark = mark, .up = up};
	half->edge = first_edge(half);
	record->searched = mark;
	record->found = NULL;
	record->queue = NULL;
}

/* Takes the next edge of the half; NULL: every path was followed to its end. Breadth first. */
static struct baton__edge *next_edge(struct half *half)
{
	struct baton__edge *edge;

	/* Ends: each record is met once. */
	while (!half->edge) {
		half->record = half->record->queue;
		if (!half->record)
			return NULL;
		half->edge = first_edge(half);
	}
	edge = half->edge;
	half->edge = half->up ? edge->next_parent : edge->next_child;
	return edge;
}

/* Follows the edge. True: the other half has met the record at its end. */
static bool follow(struct half *half, const struct baton__edge *edge, const struct half *other)
{
	struct baton__dependent *record = half->up ? edge->parent : edge->child;

	if (record->searched == other->mark)
		return true;
	if (record->searched == half->mark)
		return false;
	record->searched = half->mark;
	record->found = half->record;
	record->queue = NULL;
	half->last->queue = record;
	half->last = record;
	return false;
}

/* Both halves have met, at this edge. Afterwards `found` leads from the upper half's first record
 * along the whole path to the lower half's. */
static void join_halves(struct baton__edge *edge)
{
	struct baton__dependent *from = edge->parent;
	struct baton__dependent *next;

	/* Bounded by the path. */
	for (struct baton__dependent *record = edge->child; record; record = next) {
		next = record->found;
		record->found = from;
		from = record;
	}
}

/*
 * Is there a path of edges from `below` down to `above`? If so, `found` leads along one such path
 * from `above` to `below`. The search follows one edge down from `below` and one up from `above`
 * alternately, and ends when one half has no edge left. So the search takes two steps for each edge
 * of the smaller half. A forest of n sources is built in about n log n steps, in any order: each
 * edge joins two trees, and the smaller half is no larger than the smaller tree.
 */
static bool leads(struct baton__mainloop *loop, struct baton__dependent *below,
                  struct baton__dependent *above)
{
	struct half halves[2];

	begin_half(&halves[0], below, ++loop->searches, false);
	begin_half(&halves[1], above, ++loop->searches, true);
	if (below == above)
		return true;
	/* Ends: each half takes each edge once. */
	for (unsigned half = 0;; half ^= 1) {
		struct baton__edge *edge = next_edge(&halves[half]);

		if (!edge)
			return false;
		loop->edges_looked++;
		if (follow(&halves[half], edge, &halves[half ^ 1])) {
			join_halves(edge);
			return true;
		}
	}
}

static void name_cycle(struct baton__mainloop *loop, const struct baton__dependent *parent)
{
	loop->cycle_count = 0;
	/* Bounded by the path that leads() has found. */
	for (; parent; parent = parent->found) {
		const char *name = parent->source->_name;

		if (loop->cycle_count < BATON_MAINLOOP_CYCLE_MAX)
			loop->cycle[loop->cycle_count] = name ? name : "";
		loop->cycle_count++;
	}
}

BATON_EXPORT size_t baton_mainloop_cycle(const struct baton_mainloop *handle, const char **names,
                                         size_t names_max)
{
	const struct baton__mainloop *loop = baton__mainloop_of(handle);

	if (!loop)
		return 0;
	for (size_t i = 0; i < names_max && i < loop->cycle_count && i < BATON_MAINLOOP_CYCLE_MAX;
	     i++)
		names[i] = loop->cycle[i];
	return loop->cycle_count;
}

/* ---- Edges ---- */

/* Looks through the parent's edges and the child's alternately: the shorter list ends the
 * search. */
static struct baton__edge *edge_of(struct baton__mainloop *loop, const struct baton_source *parent,
                                   const struct baton_source *child)
{
	struct baton__edge *down = parent->_dependent ? parent->_dependent->children : NULL;
	struct baton__edge *up = child->_dependent ? child->_dependent->parents : NULL;

	for (; down && up; down = down->next_child, up = up->next_parent) {
		loop->edges_looked++;
		if (down->child->source == child)
			return down;
		if (up->parent->source == parent)
			return up;
	}
	return NULL;
}

/* Links a new edge, and settles what the edge changes for parent and child. */
static void link_edge(struct baton__mainloop *loop, struct baton__edge *edge)
{
	struct baton_source *parent = edge->parent->source;

	edge->next_child = edge->parent->children;
	edge->child_link = &edge->parent->children;
	if (edge->next_child)
		edge->next_child->child_link = &edge->next_child;
	edge->parent->children = edge;
	edge->next_parent = edge->child->parents;
	edge->parent_link = &edge->child->parents;
	if (edge->next_parent)
		edge->next_parent->parent_link = &edge->next_parent;
	edge->child->parents = edge;
	set_parent(parent, true);
	if (edge->parent->busy)
		block(loop, edge->child, true);
	/* Relaxed: as in block. A record that is new has not been settled yet. */
	note_busy(loop, edge->parent,
	          load_relaxed(&parent->_state) & (BATON__SOURCE_ACTIVE | BATON__SOURCE_RUNNING));
}

static int depend(struct baton__mainloop *loop, struct baton_source *parent,
                  struct baton_source *child)
{
	struct baton__dependent *above = dependent_record(loop, parent);
	struct baton__dependent *below = dependent_record(loop, child);
	struct baton__edge *edge = NULL;
	int error = -ENOMEM;

	if (!above || !below)
		goto drop;
	error = -ELOOP;
	if (leads(loop, below, above)) {
		name_cycle(loop, above);
		goto drop;
	}
	error = -ENOMEM;
	edge = calloc(1, sizeof(*edge));
	if (!edge)
		goto drop;
	edge->parent = above;
	edge->child = below;
	link_edge(loop, edge);
	return 0;

drop:
	if (above)
		drop_if_bare(loop, above);
	if (below && below != above)
		drop_if_bare(loop, below);
	return error;
}

/* The loop of a source, for a call of the owner's. NULL: `*error` says why. */
static struct baton__mainloop *own_loop(const struct baton_source *source, int *error)
{
	struct baton__mainloop *loop = baton__mainloop_of(source->_loop);

	*error = -ESHUTDOWN;
	if (loop && !baton_loop_is_owner(loop->executor)) {
		*error = -EPERM;
		return NULL;
	}
	if (loop)
		(void)baton__mainloop_absorb(loop, BATON__ABSORB_ALL);
	return loop;
}

BATON_EXPORT int baton_source_depend(struct baton_source *parent, struct baton_source *child)
{
	int error;
	struct baton__mainloop *loop = own_loop(parent, &error);

	if (!loop)
		return error;
	if (parent->_loop != child->_loop)
		return -EXDEV;
	if (edge_of(loop, parent, child))
		return -EEXIST;
	return depend(loop, parent, child);
}

BATON_EXPORT int baton_source_undepend(struct baton_source *parent, struct baton_source *child)
{
	int error;
	struct baton__mainloop *loop = own_loop(parent, &error);
	struct baton__edge *edge;

	if (!loop)
		return error;
	if (parent->_loop != child->_loop)
		return -EXDEV;
	edge = edge_of(loop, parent, child);
	if (!edge)
		return -ENOENT;
	cut(loop, edge);
	baton__mainloop_settled(loop);
	return 0;
}

void baton__source_undepend(struct baton__mainloop *loop, struct baton_source *source)
{
	if (!source->_dependent)
		return;
	end_of(loop, source);
	baton__mainloop_settled(loop);
}

BATON_EXPORT int baton_source_undepend_all(struct baton_source *source)
{
	int error;
	struct baton__mainloop *loop = own_loop(source, &error);

	if (!loop)
		return error;
	baton__source_undepend(loop, source);
	return 0;
}
