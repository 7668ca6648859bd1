/* SPDX-License-Identifier: MIT */
/* The carried value. See carried.h. */
#include "thread/carried.h"

#include <baton/carried.h>

#include <errno.h>

/* The name of the running function, for `of`. The frame `outer` may be made while it runs. */
static uintptr_t running(const struct baton__thread *self)
{
	const uintptr_t top = baton__top_function(self->top);

	if (top == BATON_INLINE_BARE)
		return 0; /* no baton */
	return top == (uintptr_t)&self->outer ? (uintptr_t)self->outer.resource | BATON_INLINE_BARE
	                                      : top;
}

static void set_entries(struct baton__thread *self, struct baton__carried *first)
{
	self->carried = first;
	if (first)
		self->wary |= BATON_INLINE_CARRIES;
	else
		self->wary &= ~BATON_INLINE_CARRIES;
}

/* Takes out the entries above `first`. */
static void drop_above(struct baton__thread *self, struct baton__carried *first)
{
	/* Ends with the list. */
	while (self->carried != first) {
		struct baton__carried *entry = self->carried;

		self->carried = entry->outer;
		if (entry->node)
			baton__node_free(entry);
	}
	set_entries(self, first);
}

/* The running function's entry. NULL: it has none. */
static struct baton__carried *own_entry(struct baton__thread *self)
{
	const uintptr_t of = running(self);
	struct baton__carried *entry = self->carried;

	/* Bounded by the functions on this stack. */
	while (entry && entry->of != of)
		entry = entry->outer;
	if (entry)
		drop_above(self, entry); /* carried.dead */
	return entry;
}

void *baton__carried_find(struct baton__thread *self)
{
	const struct baton__carried *entry = own_entry(self);

	return entry ? entry->value : NULL;
}

void baton__carry_begin(struct baton__carried *carried, void *value)
{
	struct baton__thread *self = baton__self;

	*carried = (struct baton__carried){value, running(self), self->carried, false};
	set_entries(self, carried);
}

void baton__carry_end(struct baton__carried *carried)
{
	struct baton__thread *self = baton__self;

	drop_above(self, carried->outer);
}

void baton__carry_nothing(struct baton__thread *self)
{
	drop_above(self, NULL);
}

BATON_EXPORT int baton_set_carried(void *value)
{
	struct baton__thread *self = baton__self;
	struct baton__carried *entry = own_entry(self);

	if (entry && !value && entry->node) {
		drop_above(self, entry->outer);
		return 0;
	}
	if (!entry && value) {
		int error = baton__thread_attach();

		if (error)
			return error;
		self = baton__self;
		entry = baton__node_alloc(sizeof(*entry));
		if (!entry)
			return -ENOMEM;
		*entry = (struct baton__carried){value, running(self), self->carried, true};
		set_entries(self, entry);
	}
	if (entry)
		entry->value = value;
	return 0;
}

BATON_EXPORT void *baton_carried(void)
{
	return baton__carried();
}
