/* SPDX-License-Identifier: MIT */
/*
 * The database of a store: its file, its tables by version, its transactions. One thread at a time.
 * The functions return 0 or an SQLite code, if not said otherwise.
 */
#ifndef BROKER_DATABASE_H
#define BROKER_DATABASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mqtt/names.h"

#define DATABASE_NUMBERS 7
#define DATABASE_TEXTS 3

struct sqlite3;
struct sqlite3_stmt;

enum database_statement {
	DATABASE_BEGIN,
	DATABASE_COMMIT,
	DATABASE_ROLLBACK,
	DATABASE_FREE_PAGES,
	DATABASE_COMPACT,
	DATABASE_ADD_SESSION,  /* id, expiry, away, kind; client id, user name */
	DATABASE_SESSION_AWAY, /* id, expiry, away */
	DATABASE_END_SESSION,  /* id; as the next three */
	DATABASE_END_SUBSCRIPTIONS,
	DATABASE_END_ROWS,
	DATABASE_END_RECEIVED,
	/* id, session, due, delay, QoS, retain, expiry; topic, payload, properties */
	DATABASE_ADD_WILL,
	DATABASE_WILL_DUE,           /* id, due */
	DATABASE_END_WILL,           /* id */
	DATABASE_SUBSCRIBE,          /* session, QoS, options, identifier; filter */
	DATABASE_UNSUBSCRIBE,        /* session; filter */
	DATABASE_ADD_MESSAGE,        /* id, QoS, expires; topic, payload, properties */
	DATABASE_END_MESSAGE,        /* id */
	DATABASE_ADD_ROW,            /* session, row, message, QoS, retain; identifiers */
	DATABASE_SEND_ROW,           /* session, row, packet id */
	DATABASE_RECEIVE_ROW,        /* session, row */
	DATABASE_TAKE_ROW,           /* session, row, packet id, its group, retain; identifiers */
	DATABASE_GIVE_ROW,           /* session, row, its group, retain */
	DATABASE_END_ROW,            /* session, row */
	DATABASE_ADD_ID,             /* session, packet id */
	DATABASE_END_ID,             /* the same */
	DATABASE_RETAIN,             /* message */
	DATABASE_UNRETAIN,           /* message */
	DATABASE_READ_LAST,          /* -> the highest number drawn */
	DATABASE_READ_SESSIONS,      /* -> as DATABASE_ADD_SESSION */
	DATABASE_READ_SUBSCRIPTIONS, /* -> as DATABASE_SUBSCRIBE */
	DATABASE_READ_MESSAGES,      /* -> as DATABASE_ADD_MESSAGE */
	DATABASE_READ_ROWS,          /* -> as DATABASE_ADD_ROW; state, packet id behind `retain` */
	DATABASE_READ_IDS,           /* -> session, packet id */
	DATABASE_READ_RETAINED,      /* -> message */
	DATABASE_READ_WILLS,         /* -> as DATABASE_ADD_WILL */
	DATABASE_STATEMENTS,
	DATABASE_NOTHING = DATABASE_STATEMENTS
};

#define DATABASE_FOREVER INT64_C(4294967295) /* an expiry */
#define DATABASE_GROUP 1                     /* a session's kind: a group (session/group.h) */

/* The states of a row. */
enum database_state {
	DATABASE_QUEUED,
	DATABASE_SENT,     /* has its packet id */
	DATABASE_RECEIVED, /* QoS 2: PUBREC has come; the message is not needed any more */
};

struct database {
	struct sqlite3 *handle;
	struct sqlite3_stmt *statements[DATABASE_STATEMENTS];
};

/* What a statement is given, or what a read finds: numbers, then texts. */
struct database_record {
	int64_t numbers[DATABASE_NUMBERS];
	struct slice texts[DATABASE_TEXTS];
};

/*
 * Opens the file, and makes or upgrades its tables. `synchronous`: a commit lasts until the disk
 * has it. Returns 0 or a negative errno; logs errors.
 */
int database_open(struct database *database, const char *path, bool synchronous);
void database_close(struct database *database);

/* Runs a statement. */
int database_run(struct database *database, enum database_statement statement,
                 const struct database_record *record);

/* Calls `found` for each record of a read; the record lives until it returns. */
typedef void (*database_found_fn)(void *arg, const struct database_record *record);
int database_read(struct database *database, enum database_statement statement,
                  database_found_fn found, void *arg);

/* Runs a read that finds one number at most, and returns the number, or 0. */
int64_t database_number(struct database *database, enum database_statement statement);

/* The last error, in words. */
const char *database_error(const struct database *database);

/* --check-store: prints what is in the file and what is wrong with it. 0: nothing; else 1. */
int database_check(const char *path);

#endif
