/* SPDX-License-Identifier: MIT */
/*
 * Timers. A session pings its client at a fixed rate, and is closed when the client has been silent
 * for a while. Both timers run as tasks of the session's resource, so they need no lock. Each
 * packet only moves a deadline. The clock is virtual, so a minute passes at once.
 */
#include <baton.h>
#include <baton/timers.h>

#include <stdio.h>

struct session {
	struct baton_resource resource;
	struct baton_timer keep_alive;
	struct baton_timer ping;
	int pings;
	int closed;
};

static int ping_due(struct baton_timer *timer)
{
	baton_container_of(timer, struct session, ping)->pings++;
	return 0;
}

static int client_is_silent(struct baton_timer *timer)
{
	struct session *session = baton_container_of(timer, struct session, keep_alive);

	/* Called in a task of the session, so `ping` will not run after this. */
	baton_timer_disarm(&session->ping);
	session->closed = 1;
	return 0;
}

int main(void)
{
	struct session session = {.resource = BATON_RESOURCE_INIT(NULL)};
	struct baton_timers
		*timers; /* a NULL wheel would be the default wheel, on the real clock */

	if (baton_timers_create(&(struct baton_timers_options){.source = BATON_TIMERS_VIRTUAL},
	                        &timers))
		return 1;
	baton_timer_init(&session.keep_alive, timers, &session.resource, client_is_silent);
	baton_timer_init(&session.ping, timers, &session.resource, ping_due);
	if (baton_timer_arm_every(&session.ping, 10 * BATON_SECOND, 10 * BATON_SECOND,
	                          BATON_TIMER_SKIP))
		return 1;
	/* A packet comes each second for a minute, and then none. */
	for (int i = 0; i < 60; i++) {
		if (baton_timer_arm_after(&session.keep_alive, 15 * BATON_SECOND))
			return 1;
		BATON_IGNORE(baton_timers_advance(timers, BATON_SECOND));
	}
	printf("after a minute: %d pings, closed: %d\n", session.pings, session.closed);
	BATON_IGNORE(baton_timers_advance(timers, 60 * BATON_SECOND));
	printf("after another one: %d pings, closed: %d\n", session.pings, session.closed);
	/* Silent after 59 s: the session is closed at 74 s, after the ping at 70 s. */
	if (session.pings != 7 || !session.closed)
		return 1;
	return baton_timers_destroy(timers) ? 1 : 0;
}
