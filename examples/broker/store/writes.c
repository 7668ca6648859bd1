/* SPDX-License-Identifier: MIT */
/* Writes; see writes.h. */
#include "store/writes.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <baton/resource.h>

#include "common/must.h"
#include "store/inside.h"

struct slice slice_copy(char **end, struct slice text)
{
	const struct slice copy = {*end, text.size};

	if (text.size > 0)
		memcpy(*end, text.bytes, text.size);
	*end += text.size;
	return copy;
}

struct note {
	struct store_write write;
	enum database_statement statement;
	struct database_record record;
	store_told_fn told;
	void *arg;
};

static int note_apply(struct store *store, struct store_write *write)
{
	const struct note *note = baton_container_of(write, struct note, write);
	const enum database_statement last =
		note->statement == DATABASE_END_SESSION ? DATABASE_END_RECEIVED : note->statement;
	int status = 0;

	for (enum database_statement at = note->statement; at <= last && status == 0; at++)
		if (at != DATABASE_NOTHING)
			status = database_run(store_database(store), at, &note->record);
	return status;
}

static void note_done(struct store_write *write, bool kept)
{
	struct note *note = baton_container_of(write, struct note, write);

	note->told(note->arg, kept);
	free(note);
}

/* `more`: bytes behind the note. */
static struct note *note_create(enum database_statement statement,
                                const struct database_record *record, size_t more)
{
	struct note *note = must_alloc(sizeof(*note) + more);

	note->write.apply = note_apply;
	note->statement = statement;
	if (record != NULL)
		note->record = *record;
	return note;
}

void store_note(struct store *store, enum database_statement statement,
                const struct database_record *record)
{
	struct note *note;
	size_t more = 0;
	char *end;

	for (size_t i = 0; i < DATABASE_TEXTS; i++)
		more += record->texts[i].size;
	note = note_create(statement, record, more);
	end = (char *)(note + 1);
	for (size_t i = 0; i < DATABASE_TEXTS; i++)
		note->record.texts[i] = slice_copy(&end, record->texts[i]);
	store_submit(store, &note->write);
}

void store_note_then(struct store *store, enum database_statement statement,
                     const struct database_record *record, store_told_fn told, void *arg)
{
	struct note *note = note_create(statement, record, 0);

	note->write.done = note_done;
	note->told = told;
	note->arg = arg;
	store_submit(store, &note->write);
}

int64_t store_time(void)
{
	static const int64_t unset = 1700000000; /* November 2023: this program is younger */
	const int64_t now = (int64_t)time(NULL);

	return now < unset ? 0 : now;
}

/* ---- Messages ---- */

static int message_apply_rows(struct database *database, const struct store_message *message)
{
	int status = 0;

	for (size_t i = 0; i < message->count && status == 0; i++) {
		const struct store_row *row = &message->rows[i];

		const struct database_record record = {
			.numbers = {(int64_t)row->session, (int64_t)row->row, (int64_t)message->id,
		                    row->qos, row->retain},
			.texts = {row->identifiers},
		};

		status = database_run(database, DATABASE_ADD_ROW, &record);
	}
	return status;
}

static int message_apply(struct store *store, struct store_write *write)
{
	const struct store_message *message =
		baton_container_of(write, struct store_message, write);
	const struct database_record record = {
		.numbers = {(int64_t)message->id, message->qos, message->expires},
		.texts = {message->topic, message->payload, message->properties}};
	struct database *database = store_database(store);
	int status = 0;

	if (message->id != 0)
		status = database_run(database, DATABASE_ADD_MESSAGE, &record);
	if (status == 0)
		status = message_apply_rows(database, message);
	if (status == 0 && message->outdated != 0)
		status = database_run(database, DATABASE_UNRETAIN,
		                      STORE_NUMBERS((int64_t)message->outdated));
	if (status == 0 && message->retained)
		status = database_run(database, DATABASE_RETAIN,
		                      STORE_NUMBERS((int64_t)message->id));
	if (status == 0 && message->received_by != 0)
		status = database_run(
			database, message->packet_id != 0 ? DATABASE_ADD_ID : DATABASE_END_WILL,
			STORE_NUMBERS((int64_t)message->received_by, message->packet_id));
	return status;
}

struct store_message *store_message_create(size_t count, size_t bytes, store_done_fn done,
                                           void *arg)
{
	struct store_message *message =
		must_alloc(sizeof(*message) + count * sizeof(*message->rows) + bytes);

	message->write.apply = message_apply;
	message->write.done = done;
	message->arg = arg;
	message->count = count;
	return message;
}
