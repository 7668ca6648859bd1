/* SPDX-License-Identifier: MIT */
/*
 * The broker's options, from the command line and a file. common/option_table.c has a row for each
 * of them, of which the command line, the file's keys, the defaults and `--help` are made.
 */
#ifndef BROKER_OPTIONS_H
#define BROKER_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mqtt/names.h"

#define BROKER_NO_PORT UINT32_MAX
#define OPTIONS_INFLIGHT_MAX 32767
#define OPTIONS_LISTENERS_MAX 16

/*
 * What a reload may change while other threads read it. Each member is an atomic word, and is read
 * by limit_of() (env.h) at each use: a thread may see one limit of the new file beside another of
 * the old file, and no limit depends on another.
 */
struct broker_limits {
	size_t window;                /* most messages of QoS 1 and 2 on their way to one client */
	size_t sessions_max;          /* with clean session 0 */
	size_t filters_max;           /* subscriptions of one client */
	size_t filter_bytes_max;      /* and their memory */
	size_t retained_max;          /* messages */
	size_t retained_bytes_max;    /* and their memory */
	size_t packet_max;            /* bytes of one packet from a client */
	size_t strangers_max;         /* memory of all clients that were not let in yet */
	size_t buffered_max;          /* memory that waits for one subscriber's socket */
	size_t queued_max;            /* messages that wait for one session */
	size_t queued_bytes_max;      /* and their memory */
	size_t queued_total_max;      /* the same of all sessions together */
	unsigned int connect_timeout; /* seconds, as those below: to send a CONNECT */
	unsigned int packet_timeout;  /* to finish a packet that it has begun */
	unsigned int stuck_timeout;   /* to take some of the output that waits */
	unsigned int stop_timeout;    /* to take its output when the broker shuts down */
	unsigned int session_expiry;  /* for a client that is away to come back; 0: for ever */
	unsigned int keep_alive_max;  /* MQTT 5: the longest keep alive; 0: any */
	unsigned int batch_ms;
	bool anonymous;  /* clients without a user name are let in, too */
	bool retain;     /* messages may be retained */
	bool queue_qos0; /* QoS 0, too, waits for a client that is away */
};

struct broker_listener {
	char *host; /* NULL: all addresses of this machine */
	unsigned int port;
	bool tls;
};

struct broker_options {
	struct broker_limits limits;
	struct broker_listener listeners[OPTIONS_LISTENERS_MAX]; /* those of `host`, too */
	size_t listeners_count;
	char *host;
	unsigned int port;
	unsigned int tls_port; /* for TLS, which `port` does not speak; BROKER_NO_PORT: none */
	unsigned int threads;
	unsigned int workers;
	size_t connect_max;       /* bytes of a client's CONNECT */
	unsigned int receive_max; /* MQTT 5: PUBLISHes of one client that are not answered yet */
	unsigned int alias_max;   /* MQTT 5: topic aliases of one client */
	size_t logins_max;        /* log-ins whose passwords wait to be checked */
	struct slice *denied;     /* filters that are refused, and all filters that they cover */
	size_t denied_count;
	bool local; /* nobody said who may come: everybody, from this machine alone */
	bool certificate_required; /* of clients, by TLS */
	bool identity;             /* its common name is the client's user name */
	bool stats;
	char *store; /* a file; NULL: none */
	char *durability;
	char *board; /* a file; "-": memory; NULL: none */
	/* The main thread's: a reload changes them. */
	char *password_file; /* NULL: none */
	char *access_file;   /* NULL: none */
	char *tls_cert;      /* NULL: no TLS */
	char *tls_key;
	char *tls_ca;  /* NULL: clients are not asked for certificates */
	char *tls_crl; /* NULL: none */
	char *log_level;
	unsigned int log_types; /* bits: the levels, "none", "all"; 0: not given, see `log_level` */
	unsigned int log_places;     /* bits of enum log_place; 0: not given */
	char *log_file;              /* NULL: none */
	unsigned int stats_interval; /* seconds between two issues of $SYS; 0: none */
	/* The command line's alone. */
	char *config;
	bool check_config;
	bool check_store;
};

/* Takes a line about an error. */
typedef void options_say_fn(const char *line);

/*
 * Reads the command line and the file that it names. -1: go on; otherwise the exit status: 0 after
 * --help, 2 after errors. All errors are said.
 */
int options_parse(struct broker_options *options, int argc, char **argv, options_say_fn *say);

/* `say` for the start: to stderr. */
void options_say_stderr(const char *line);

/*
 * A reload, on the main thread: `to`, which all threads read, takes over what may change. Tells
 * the keys of the options that have changed, and of those that have changed and need a restart.
 */
void options_take(struct broker_options *to, struct broker_options *from, options_say_fn *changed,
                  options_say_fn *fixed);
void options_free(struct broker_options *options);

#endif
