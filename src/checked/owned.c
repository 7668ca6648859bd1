/* SPDX-License-Identifier: MIT */
/* The checks of what the library allocates: pools, executors, wheels, limbos, boards, watchdogs,
 * fan-outs. */
#include "checked/owned.h"

#include "checked/records.h"

/* `call` has made, or ended, the object. */
static void note_owned(const void *object, bool gone, const char *call)
{
	struct baton__record *record;

	baton__records_lock(object, BATON__RECORD_OWNED);
	record = baton__records_get(object, BATON__RECORD_OWNED);
	if (record) {
		record->gone = gone;
		baton__records_note(record, call);
	}
	baton__records_unlock(object, BATON__RECORD_OWNED);
}

void baton__check_made(const void *object, const void *executor, const char *call)
{
	note_owned(object, false, call);
	if (executor)
		note_owned(executor, false, call);
}

void baton__check_ended(const void *object, const void *executor, const char *call)
{
	note_owned(object, true, call);
	if (executor)
		note_owned(executor, true, call);
}

void baton__check_owned(const void *object, const char *call)
{
	struct baton__mistake mistake = {.text = ""};
	const struct baton__record *record;

	if (!object)
		BATON_MISUSE(call, "was given NULL: create the object first");
	baton__records_lock(object, BATON__RECORD_OWNED);
	record = baton__records_find(object, BATON__RECORD_OWNED);
	if (record && record->gone)
		baton__mistake(&mistake, "",
		               "the object at %p was ended by %s (thread %d): do not use it after "
		               "that",
		               object, record->call, (int)record->thread);
	baton__records_unlock(object, BATON__RECORD_OWNED);
	if (mistake.text[0])
		BATON_MISUSE(call, mistake.text);
}
