/* SPDX-License-Identifier: MIT */
/* The command line. */
#ifndef BROKER_OPTIONS_H
#define BROKER_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mqtt/names.h"

#define BROKER_NO_PORT UINT32_MAX
#define OPTIONS_INFLIGHT_MAX 32767

struct broker_options {
	const char *host;
	unsigned int port;
	unsigned int tls_port; /* for TLS, which `port` does not speak; BROKER_NO_PORT: none */
	unsigned int threads;
	unsigned int workers;
	unsigned int window; /* most messages of QoS 1 and 2 on their way to one subscriber */
	unsigned int stats_interval;  /* seconds between two issues of $SYS; 0: none */
	unsigned int connect_timeout; /* seconds, as those below: to send a CONNECT */
	unsigned int packet_timeout;  /* to finish a packet that it has begun */
	unsigned int stuck_timeout;   /* to take some of the output that waits */
	unsigned int stop_timeout;    /* to take its output when the broker shuts down */
	unsigned int session_expiry;  /* for a client that is away to come back; 0: for ever */
	size_t sessions_max;          /* with clean session 0 */
	size_t filters_max;           /* subscriptions of one client */
	size_t filter_bytes_max;      /* and their memory */
	size_t retained_max;          /* messages */
	size_t retained_bytes_max;    /* and their memory */
	size_t packet_max;            /* bytes of one packet from a client */
	size_t connect_max;           /* bytes of its CONNECT */
	size_t strangers_max;         /* memory of all clients that were not let in yet */
	size_t logins_max;            /* log-ins whose passwords wait to be checked */
	size_t buffered_max;          /* memory that waits for one subscriber's socket */
	size_t queued_max;            /* messages that wait for one session */
	size_t queued_bytes_max;      /* and their memory */
	size_t queued_total_max;      /* the same of all sessions together */
	struct slice *denied; /* filters that are refused, and all filters that they cover */
	size_t denied_count;
	const char *password_file; /* NULL: none */
	const char *tls_cert;      /* NULL: no TLS */
	const char *tls_key;
	const char *log_level; /* a word, or a file with one */
	bool anonymous;        /* clients without a user name are let in, too */
	bool queue_qos0;       /* QoS 0, too, waits for a client that is away */
	bool stats;
	const char *store; /* a file; NULL: none */
	const char *durability;
	unsigned int batch_ms;
	bool check_store;
	const char *board; /* a file; "-": memory; NULL: none */
};

/* -1: go on; otherwise the exit status: 0 after --help, 2 after an error, which is printed. */
int options_parse(struct broker_options *options, int argc, char **argv);
void options_free(struct broker_options *options);

#endif
