/* SPDX-License-Identifier: MIT */
/* The notes from which histories are made: each thread appends to chunks of its own. */
#include "note.h"

#include <stdlib.h>
#include <string.h>

#include "actor.h"
#include "report.h"
#include "site.h"

#define CHUNK 256

struct note_chunk {
	struct note_chunk *next;
	uint32_t count;
	struct note notes[CHUNK];
};

static _Atomic uint64_t tickets = 1;

uint64_t ticket(void)
{
	return atomic_fetch_add_explicit(&tickets, 1, memory_order_relaxed);
}

uint64_t ticket_now(void)
{
	return atomic_load_explicit(&tickets, memory_order_relaxed);
}

struct note *note_begin(enum note_kind kind, struct site *site)
{
	struct actor *self = actor_self();
	struct note_chunk *chunk = self->notes;
	struct note *note;

	if (!chunk || chunk->count == CHUNK) {
		chunk = calloc(1, sizeof(*chunk));
		MUST(chunk);
		chunk->next = self->notes;
		self->notes = chunk;
	}
	note = &chunk->notes[chunk->count++];
	note->kind = (uint8_t)kind;
	note->site = site;
	note->resource = site ? site->number : 0;
	note->engine = site ? site->engine : NULL;
	note->helpable = site && site->capture_max != BATON_CAPTURE_NONE;
	note->actor = self->number;
	note->result = NOTE_PENDING;
	note->end = NOTE_NEVER;
	note->begin = ticket();
	return note;
}

int note_end(struct note *note, int result)
{
	note->result = result;
	note->end = ticket();
	return result;
}

void note_each(void (*visit)(struct note *note, void *arg), void *arg)
{
	for (uint32_t i = 0; i < actor_count(); i++)
		for (struct note_chunk *chunk = actor_at(i)->notes; chunk; chunk = chunk->next)
			for (uint32_t n = 0; n < chunk->count; n++)
				visit(&chunk->notes[n], arg);
}

void note_forget_all(void)
{
	for (uint32_t i = 0; i < actor_count(); i++) {
		struct actor *actor = actor_at(i);

		while (actor->notes) {
			struct note_chunk *chunk = actor->notes;

			actor->notes = chunk->next;
			free(chunk);
		}
	}
}

const char *note_kind_name(enum note_kind kind)
{
	static const char *const names[] = {
		[NOTE_SUBMIT] = "submit",
		[NOTE_LATER] = "submit_later",
		[NOTE_BATCH] = "submit_batch",
		[NOTE_POST] = "post",
		[NOTE_ASYNC] = "async",
		[NOTE_CALL] = "call",
		[NOTE_TRY_CALL] = "try_call",
		[NOTE_THEN] = "then",
		[NOTE_JOB] = "job",
		[NOTE_PROMISE] = "promise",
		[NOTE_CREATE] = "created",
		[NOTE_CANCEL_PENDING] = "cancel_pending",
		[NOTE_CLOSE] = "close",
		[NOTE_CLOSE_THEN] = "close_then",
		[NOTE_FINALISER] = "finaliser",
		[NOTE_AWAIT] = "await",
		[NOTE_CANCEL] = "cancel",
		[NOTE_WAIT] = "wait",
		[NOTE_ENDED] = "given back",
	};

	return names[kind];
}
