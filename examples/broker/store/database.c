/* SPDX-License-Identifier: MIT */
/* The SQLite file; see database.h. */
#include "store/database.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <sqlite3.h>

#include "common/log.h"

#define DATABASE_APPLICATION 0x6261746f /* "bato": no other program's file */

/*
 * The tables. The script at index n brings a file of version n to version n + 1. A script that a
 * release has had is never changed: a change is a new script.
 *
 * All ids and rows are numbers of one sequence (store_draw()). The rows of a session are in the
 * order of its messages, and lie together. A message is kept once, whatever the number of its rows;
 * the broker counts its uses in memory, and deletes it with the last one. What a crash has left
 * behind (a message without uses, a row without a session) goes at the next start.
 */
static const char *const upgrades[] = {
	"CREATE TABLE sessions (id INTEGER PRIMARY KEY, client BLOB NOT NULL);"
	"CREATE TABLE subscriptions (session INTEGER, filter BLOB, qos INTEGER NOT NULL,"
	" PRIMARY KEY (session, filter)) WITHOUT ROWID;"
	"CREATE TABLE messages (id INTEGER PRIMARY KEY, qos INTEGER NOT NULL,"
	" topic BLOB NOT NULL, payload BLOB NOT NULL);"
	"CREATE TABLE queue (session INTEGER, row INTEGER, message INTEGER NOT NULL,"
	" qos INTEGER NOT NULL, retain INTEGER NOT NULL, state INTEGER NOT NULL,"
	" packet_id INTEGER NOT NULL, PRIMARY KEY (session, row)) WITHOUT ROWID;"
	"CREATE TABLE received (session INTEGER, packet_id INTEGER,"
	" PRIMARY KEY (session, packet_id)) WITHOUT ROWID;"
	"CREATE TABLE retained (message INTEGER PRIMARY KEY);",
	/*
	 * MQTT 5. Times are seconds. `expiry` and `delay` are spans, 4294967295 is for ever; a
	 * will's expiry begins when it is published. `away`, `expires` and `due` are of the wall
	 * clock, 0 is never; a session's `away` is 0 while its client is there. kind: 1 is a group
	 * of a shared subscription. options: 1 no local, 2 retain as published. identifiers:
	 * variable byte integers, one behind the other.
	 */
	"ALTER TABLE sessions ADD COLUMN expiry INTEGER NOT NULL DEFAULT 4294967295;"
	"ALTER TABLE sessions ADD COLUMN away INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE sessions ADD COLUMN kind INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE subscriptions ADD COLUMN options INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE subscriptions ADD COLUMN identifier INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE messages ADD COLUMN properties BLOB NOT NULL DEFAULT x'';"
	"ALTER TABLE messages ADD COLUMN expires INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE queue ADD COLUMN identifiers BLOB NOT NULL DEFAULT x'';"
	"CREATE TABLE wills (id INTEGER PRIMARY KEY, session INTEGER NOT NULL,"
	" due INTEGER NOT NULL, delay INTEGER NOT NULL, qos INTEGER NOT NULL,"
	" retain INTEGER NOT NULL, expiry INTEGER NOT NULL, topic BLOB NOT NULL,"
	" payload BLOB NOT NULL, properties BLOB NOT NULL);",
	/* The user name of a session's client; empty: it has none. */
	"ALTER TABLE sessions ADD COLUMN user BLOB NOT NULL DEFAULT x'';",
};

#define DATABASE_VERSION (int)(sizeof(upgrades) / sizeof(*upgrades))

static const char *const texts[DATABASE_STATEMENTS] = {
	[DATABASE_BEGIN] = "BEGIN IMMEDIATE",
	[DATABASE_COMMIT] = "COMMIT",
	[DATABASE_ROLLBACK] = "ROLLBACK",
	[DATABASE_FREE_PAGES] = "PRAGMA freelist_count",
	[DATABASE_COMPACT] = "PRAGMA incremental_vacuum(64)",
	[DATABASE_ADD_SESSION] = "REPLACE INTO sessions (id, expiry, away, kind, client, user)"
				 " VALUES (?1, ?2, ?3, ?4, ?8, ?9)",
	[DATABASE_SESSION_AWAY] = "UPDATE sessions SET expiry = ?2, away = ?3 WHERE id = ?1",
	[DATABASE_END_SESSION] = "DELETE FROM sessions WHERE id = ?1",
	[DATABASE_END_SUBSCRIPTIONS] = "DELETE FROM subscriptions WHERE session = ?1",
	[DATABASE_END_ROWS] = "DELETE FROM queue WHERE session = ?1",
	[DATABASE_END_RECEIVED] = "DELETE FROM received WHERE session = ?1",
	[DATABASE_ADD_WILL] = "REPLACE INTO wills (id, session, due, delay, qos, retain, expiry,"
			      " topic, payload, properties)"
			      " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
	[DATABASE_WILL_DUE] = "UPDATE wills SET due = ?2 WHERE id = ?1",
	[DATABASE_END_WILL] = "DELETE FROM wills WHERE id = ?1",
	[DATABASE_SUBSCRIBE] =
		"REPLACE INTO subscriptions (session, qos, options, identifier, filter)"
		" VALUES (?1, ?2, ?3, ?4, ?8)",
	[DATABASE_UNSUBSCRIBE] = "DELETE FROM subscriptions WHERE session = ?1 AND filter = ?8",
	[DATABASE_ADD_MESSAGE] =
		"REPLACE INTO messages (id, qos, expires, topic, payload, properties)"
		" VALUES (?1, ?2, ?3, ?8, ?9, ?10)",
	[DATABASE_END_MESSAGE] = "DELETE FROM messages WHERE id = ?1",
	[DATABASE_ADD_ROW] =
		"REPLACE INTO queue (session, row, message, qos, retain, state, packet_id,"
		" identifiers) VALUES (?1, ?2, ?3, ?4, ?5, 0, 0, ?8)",
	[DATABASE_SEND_ROW] =
		"UPDATE queue SET state = 1, packet_id = ?3 WHERE session = ?1 AND row = ?2",
	[DATABASE_RECEIVE_ROW] = "UPDATE queue SET state = 2 WHERE session = ?1 AND row = ?2",
	[DATABASE_TAKE_ROW] = "UPDATE queue SET session = ?1, state = 1, packet_id = ?3,"
			      " retain = ?5, qos = ?6, identifiers = ?8"
			      " WHERE session = ?4 AND row = ?2",
	[DATABASE_GIVE_ROW] = "UPDATE queue SET session = ?3, state = 0, packet_id = 0,"
			      " retain = ?4, identifiers = x''"
			      " WHERE session = ?1 AND row = ?2",
	[DATABASE_END_ROW] = "DELETE FROM queue WHERE session = ?1 AND row = ?2",
	[DATABASE_ADD_ID] = "REPLACE INTO received VALUES (?1, ?2)",
	[DATABASE_END_ID] = "DELETE FROM received WHERE session = ?1 AND packet_id = ?2",
	[DATABASE_RETAIN] = "REPLACE INTO retained VALUES (?1)",
	[DATABASE_UNRETAIN] = "DELETE FROM retained WHERE message = ?1",
	[DATABASE_READ_LAST] = "SELECT max(ifnull((SELECT max(id) FROM sessions), 0),"
			       " ifnull((SELECT max(id) FROM messages), 0),"
			       " ifnull((SELECT max(row) FROM queue), 0),"
			       " ifnull((SELECT max(id) FROM wills), 0))",
	[DATABASE_READ_SESSIONS] =
		"SELECT id, expiry, away, kind, client, user FROM sessions ORDER BY id",
	[DATABASE_READ_SUBSCRIPTIONS] = "SELECT session, qos, options, identifier, filter"
					" FROM subscriptions ORDER BY session",
	[DATABASE_READ_MESSAGES] =
		"SELECT id, qos, expires, topic, payload, properties FROM messages ORDER BY id",
	[DATABASE_READ_ROWS] = "SELECT session, row, message, qos, retain, state, packet_id,"
			       " identifiers FROM queue ORDER BY session, row",
	[DATABASE_READ_IDS] = "SELECT session, packet_id FROM received ORDER BY session",
	[DATABASE_READ_RETAINED] = "SELECT message FROM retained",
	[DATABASE_READ_WILLS] = "SELECT id, session, due, delay, qos, retain, expiry, topic,"
				" payload, properties FROM wills ORDER BY id",
};

const char *database_error(const struct database *database)
{
	return database->handle != NULL ? sqlite3_errmsg(database->handle) : "no memory";
}

static int database_bind(struct sqlite3_stmt *statement, const struct database_record *record)
{
	const int last = sqlite3_bind_parameter_count(statement);
	int status = SQLITE_OK;

	for (int i = 1; i <= last && i <= DATABASE_NUMBERS && status == SQLITE_OK; i++)
		status = sqlite3_bind_int64(statement, i, record->numbers[i - 1]);
	for (int i = DATABASE_NUMBERS + 1; i <= last && status == SQLITE_OK; i++) {
		const struct slice text = record->texts[i - DATABASE_NUMBERS - 1];

		/* An empty text is no NULL. The text lives until the statement is reset. */
		status = sqlite3_bind_blob64(statement, i, text.size > 0 ? text.bytes : "",
		                             text.size, SQLITE_STATIC);
	}
	return status;
}

static struct database_record database_row(struct sqlite3_stmt *statement)
{
	struct database_record record = {0};
	int numbers = 0, blobs = 0;

	for (int i = 0; i < sqlite3_column_count(statement); i++)
		if (sqlite3_column_type(statement, i) == SQLITE_BLOB)
			record.texts[blobs++] =
				(struct slice){sqlite3_column_blob(statement, i),
			                       (size_t)sqlite3_column_bytes(statement, i)};
		else
			record.numbers[numbers++] = sqlite3_column_int64(statement, i);
	return record;
}

static int database_step(struct database *database, enum database_statement which,
                         database_found_fn found, void *arg)
{
	struct sqlite3_stmt *statement = database->statements[which];
	int status;

	while ((status = sqlite3_step(statement)) == SQLITE_ROW) {
		const struct database_record record = database_row(statement);

		if (found != NULL)
			found(arg, &record);
	}
	(void)sqlite3_reset(statement);
	return status == SQLITE_DONE ? SQLITE_OK : status;
}

int database_run(struct database *database, enum database_statement statement,
                 const struct database_record *record)
{
	int status =
		record != NULL ? database_bind(database->statements[statement], record) : SQLITE_OK;

	return status == SQLITE_OK ? database_step(database, statement, NULL, NULL) : status;
}

int database_read(struct database *database, enum database_statement statement,
                  database_found_fn found, void *arg)
{
	return database_step(database, statement, found, arg);
}

static void database_take_number(void *arg, const struct database_record *record)
{
	*(int64_t *)arg = record->numbers[0];
}

int64_t database_number(struct database *database, enum database_statement statement)
{
	int64_t number = 0;

	return database_read(database, statement, database_take_number, &number) == SQLITE_OK
	               ? number
	               : 0;
}

/* The number that a PRAGMA or a SELECT gives; -1: an error. */
static int64_t database_ask(const struct database *database, const char *sql)
{
	struct sqlite3_stmt *statement;
	int64_t number = -1;

	if (sqlite3_prepare_v2(database->handle, sql, -1, &statement, NULL) != SQLITE_OK)
		return -1;
	if (sqlite3_step(statement) == SQLITE_ROW)
		number = sqlite3_column_int64(statement, 0);
	return sqlite3_finalize(statement) == SQLITE_OK ? number : -1;
}

static int database_execute(const struct database *database, const char *sql)
{
	return sqlite3_exec(database->handle, sql, NULL, NULL, NULL);
}

/* Brings the tables from that version to ours, in one transaction. */
static int database_upgrade(const struct database *database, int version)
{
	char sql[96];
	int status = database_execute(database, "BEGIN IMMEDIATE");

	for (; status == SQLITE_OK && version < DATABASE_VERSION; version++)
		status = database_execute(database, upgrades[version]);
	snprintf(sql, sizeof(sql), "PRAGMA user_version = %d; PRAGMA application_id = %d; COMMIT",
	         DATABASE_VERSION, DATABASE_APPLICATION);
	return status == SQLITE_OK ? database_execute(database, sql) : status;
}

/* Why the file cannot be used, or NULL. Its version is there then. */
static const char *database_objection(const struct database *database, int *version)
{
	const char *file = sqlite3_db_filename(database->handle, "main");
	int64_t found, program, tables;

	/* SQLite opens such a file to read it alone, and fails later for another reason. */
	if (sqlite3_db_readonly(database->handle, "main") == 1)
		return "this process may not write it";
	found = database_ask(database, "PRAGMA user_version");
	program = database_ask(database, "PRAGMA application_id");
	tables = database_ask(database, "SELECT count(*) FROM sqlite_schema");
	if (found < 0 || program < 0 || tables < 0)
		return sqlite3_errmsg(database->handle);
	*version = (int)found;
	/* ":memory:" is gone with the process. */
	if (file == NULL || file[0] == '\0')
		return "not a file";
	if (tables > 0 && program != DATABASE_APPLICATION)
		return "not a store of this broker";
	if (found > DATABASE_VERSION)
		return "a store of a newer version of this broker";
	return NULL;
}

static int database_fail(struct database *database, const char *path, const char *why)
{
	const int code = sqlite3_errcode(database->handle) & 0xff;
	const int error = code == SQLITE_CANTOPEN || code == SQLITE_IOERR
	                          ? sqlite3_system_errno(database->handle)
	                          : 0;

	log_event(LOG_LEVEL_ERROR, "store_failed", log_text("file", path), log_text("reason", why),
	          log_text("detail", error != 0 ? strerror(error) : NULL));
	database_close(database);
	return -EIO;
}

/*
 * Of a file that another process has open, the first read fails: "database is locked". A new file
 * is its owner's alone, since it holds what only some clients may read; SQLite gives the WAL the
 * same mode.
 */
static int database_connect(struct database *database, const char *path, int flags)
{
	const mode_t mask = umask(S_IRWXG | S_IRWXO);
	int status = sqlite3_open_v2(path, &database->handle, flags, NULL);

	umask(mask);
	if (status == SQLITE_OK)
		status = database_execute(database, "PRAGMA locking_mode = EXCLUSIVE");
	return status;
}

int database_open(struct database *database, const char *path, bool synchronous)
{
	const char *why;
	int status, version;

	*database = (struct database){0};
	status = database_connect(database, path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
	if (status != SQLITE_OK)
		return database_fail(database, path, database_error(database));
	why = database_objection(database, &version);
	if (why != NULL)
		return database_fail(database, path, why);
	if (version == 0) /* of an empty file alone */
		status = database_execute(database, "PRAGMA auto_vacuum = INCREMENTAL");
	if (status == SQLITE_OK)
		status = database_execute(database, "PRAGMA journal_mode = WAL");
	if (status == SQLITE_OK)
		status = database_execute(database, synchronous ? "PRAGMA synchronous = FULL"
		                                                : "PRAGMA synchronous = OFF");
	if (status == SQLITE_OK && version < DATABASE_VERSION)
		status = database_upgrade(database, version);
	for (int i = 0; i < DATABASE_STATEMENTS && status == SQLITE_OK; i++)
		status = sqlite3_prepare_v3(database->handle, texts[i], -1,
		                            SQLITE_PREPARE_PERSISTENT, &database->statements[i],
		                            NULL);
	return status == SQLITE_OK ? 0 : database_fail(database, path, database_error(database));
}

void database_close(struct database *database)
{
	for (int i = 0; i < DATABASE_STATEMENTS; i++)
		(void)sqlite3_finalize(database->statements[i]);
	(void)sqlite3_close(database->handle);
	*database = (struct database){0};
}

/* ---- --check-store ---- */

static int check_print(void *failed, int columns, char **values, char **names)
{
	(void)columns;
	(void)names;
	if (strcmp(values[0], "ok") == 0)
		return 0;
	printf("damaged: %s\n", values[0]);
	*(bool *)failed = true;
	return 0;
}

int database_check(const char *path)
{
	static const char *const counts[][2] = {
		{"sessions", "SELECT count(*) FROM sessions"},
		{"subscriptions", "SELECT count(*) FROM subscriptions"},
		{"messages", "SELECT count(*) FROM messages"},
		{"rows of queues", "SELECT count(*) FROM queue"},
		{"QoS 2 packet ids received", "SELECT count(*) FROM received"},
		{"retained messages", "SELECT count(*) FROM retained"},
		{"wills", "SELECT count(*) FROM wills"},
		{"messages without a use", "SELECT count(*) FROM messages WHERE id NOT IN"
	                                   " (SELECT message FROM queue) AND id NOT IN"
	                                   " (SELECT message FROM retained)"},
		{"rows without a message", "SELECT count(*) FROM queue WHERE state < 2 AND"
	                                   " message NOT IN (SELECT id FROM messages)"},
		{"rows without a session", "SELECT count(*) FROM queue WHERE session NOT IN"
	                                   " (SELECT id FROM sessions)"},
	};
	struct database database = {0};
	const char *why = NULL;
	bool failed = false;
	int version = 0;

	if (database_connect(&database, path, SQLITE_OPEN_READWRITE) != SQLITE_OK)
		why = database_error(&database);
	else
		why = database_objection(&database, &version);
	if (why == NULL && sqlite3_exec(database.handle, "PRAGMA integrity_check", check_print,
	                                &failed, NULL) != SQLITE_OK)
		why = database_error(&database);
	if (why != NULL)
		printf("%s: %s\n", path, why);
	else
		printf("%s: version %d of %d\n", path, version, DATABASE_VERSION);
	for (size_t i = 0; why == NULL && i < sizeof(counts) / sizeof(*counts); i++) {
		const long long count = database_ask(&database, counts[i][1]);

		if (count >= 0) /* else an older version has no such table */
			printf("%lld %s\n", count, counts[i][0]);
	}
	database_close(&database);
	return why != NULL || failed ? 1 : 0;
}
