/* SPDX-License-Identifier: MIT */
/* The charges of a connection: its back-pressure, and its lifetime; see connection.h. */
#include "common/atomic.h"
#include "common/hop.h"
#include "common/must.h"
#include "net/connection.h"
#include "net/loop.h"
#include "net/message.h"

/* References of sessions, log-ins and the like; any message costs more than all of these. */
#define CONNECTION_REFERENCES_MAX 64

/*
 * A bit of `charges`: the loop has stopped reading and waits to be told. The loop thread sets the
 * bit while more than CONNECTION_CHARGES_LOW is charged. The release that comes down to
 * CONNECTION_CHARGES_LOW clears the bit, and passes its charge on to the `resume` task instead of
 * ending the charge.
 */
#define CONNECTION_PAUSED ((uint64_t)1 << 63)

void connection_charge(struct connection *connection, uint64_t cost)
{
	/* Relaxed: this count keeps the connection alive; only the last release orders. */
	uint64_t charges = add_relaxed(&connection->charges, cost) + cost;

	/* A paused connection is not paused again: its `resume` may be on its way. The loop ends:
	 * each failed CAS is another thread's charge or release. */
	while (!connection->paused && charges >= CONNECTION_CHARGES_HIGH)
		if (cas_relaxed(&connection->charges, &charges, charges | CONNECTION_PAUSED)) {
			connection->loop->stats.pauses++;
			connection_pause(connection);
		}
}

void connection_worked(struct connection *connection, uint64_t work)
{
	add_relaxed(&connection->work, work); /* a hint */
}

/*
 * Pauses the connection until the loop's tasks that are ready now have run. A charge that is ended
 * at once does that: the charge pauses, its release submits `resume`, and `resume` comes behind
 * these tasks.
 */
static void connection_yield(struct connection *connection)
{
	connection_charge(connection, CONNECTION_CHARGES_HIGH);
	connection_release(connection, CONNECTION_CHARGES_HIGH);
}

/* Pauses the connection if other threads' charges (connection_charge_more) have gone too high. */
static void connection_look_at_charges(struct connection *connection)
{
	if (load_relaxed(&connection->charges) >= CONNECTION_CHARGES_HIGH)
		connection_charge(connection, 0);
}

void connection_pace(struct connection *connection)
{
	connection_look_at_charges(connection);
	if (load_relaxed(&connection->work) < CONNECTION_WORK_MAX)
		return;
	store_relaxed(&connection->work, 0);
	connection_yield(connection);
}

bool connection_quiet(const struct connection *connection)
{
	/* Acquire: all that other threads submitted before their releases is submitted. */
	const uint64_t charges = load_acquire(&connection->charges);

	return (charges & ~CONNECTION_PAUSED) < CONNECTION_REFERENCES_MAX;
}

void connection_charge_more(struct connection *connection, uint64_t cost)
{
	add_relaxed(&connection->charges, cost);
}

static int connection_run_resume(struct baton_task *task)
{
	struct connection *connection = baton_container_of(task, struct connection, resume);

	connection_release(connection, connection->resume_cost);
	if (!connection->closing)
		connection_read_on(connection);
	return 0;
}

void connection_release(struct connection *connection, uint64_t cost)
{
	uint64_t charges = load_relaxed(&connection->charges);
	uint64_t left;
	bool resume;

	do {
		left = charges - cost;
		resume = (charges & CONNECTION_PAUSED) != 0 &&
		         (left & ~CONNECTION_PAUSED) <= CONNECTION_CHARGES_LOW;
		if (resume)
			left = charges & ~CONNECTION_PAUSED;
		/* Release: this thread's use; acquire: all uses, before the connection ends. */
	} while (!cas_acq_rel(&connection->charges, &charges, left));
	if (resume) {
		connection->resume_cost = cost;
		hop(&connection->resource, &connection->resume, connection_run_resume, "resume");
	} else if (left == 0) {
		must(baton_submit(&connection->loop->resource, &connection->end), "end");
	}
}

void connection_charge_init(struct connection *connection)
{
	connection->charges = CONNECTION_REFERENCE;
}
