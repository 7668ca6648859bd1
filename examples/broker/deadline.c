/* SPDX-License-Identifier: MIT */
/*
 * What a client must do in time: send a CONNECT, finish a packet that it began, be heard of (keep
 * alive), take some of what waits for it. A deadline only moves away while the client does what it
 * should, so the loop looks at the earliest one that it knows of, and finds then the next.
 */
#include "connection.h"

#include "broker.h"
#include "log.h"
#include "loop.h"

static uint64_t seconds(unsigned int count)
{
	return (uint64_t)count * 1000;
}

static const struct broker_options *options_of(const struct connection *connection)
{
	return &connection->loop->broker->options;
}

/* What it must do first, and by when. UINT64_MAX: nothing. */
static uint64_t deadline_next(const struct connection *connection, const char **what)
{
	const struct broker_options *options = options_of(connection);
	uint64_t first = UINT64_MAX, at;

	*what = NULL;
	if (connection->writing > 0) {
		first = connection->progressed + seconds(options->stuck_timeout);
		*what = "stuck: took nothing for --stuck-timeout seconds";
	}
	if (connection->paused)
		return first; /* it is we who do not read */
	at = connection->opened + seconds(options->connect_timeout);
	if (connection->session == NULL && at < first) {
		first = at;
		*what = "no CONNECT within --connect-timeout seconds";
	}
	at = connection->begun + seconds(options->packet_timeout);
	if (connection->input_size > 0 && at < first) {
		first = at;
		*what = "a packet not finished within --packet-timeout seconds";
	}
	at = connection->seen + connection->silence_max;
	if (connection->silence_max > 0 && at < first) {
		first = at;
		*what = "silent for longer than its keep alive allows";
	}
	return first;
}

uint64_t connection_deadline(const struct connection *connection)
{
	const char *what;

	return connection->closing ? UINT64_MAX : deadline_next(connection, &what);
}

void connection_check(struct connection *connection, uint64_t now)
{
	const char *what;
	size_t left;

	if (connection->closing)
		return;
	left = uv_stream_get_write_queue_size((uv_stream_t *)&connection->tcp);
	if (connection->writing > 0 && left != connection->left) {
		connection->left = left;
		connection->progressed = now;
	}
	if (deadline_next(connection, &what) <= now)
		connection_fail(connection, what);
}

void connection_progress(struct connection *connection)
{
	connection->left = uv_stream_get_write_queue_size((uv_stream_t *)&connection->tcp);
	connection->progressed = uv_now(&connection->loop->uv);
}
