/* SPDX-License-Identifier: MIT */
/*
 * A site is a resource, and what the checker keeps beside it, in one cell. Sites stand in places. A
 * thread that finds a site in a place pins it, uses it, and unpins it. A retired site is closed and
 * finalised. The last unpin gives the cell back, and puts a new site into the place.
 *
 * The pins order nothing between two users (relaxed in, release out, acquire for the last alone).
 */
#ifndef BATON_TEST_STRESS_SITE_H
#define BATON_TEST_STRESS_SITE_H

#include <baton/all.h>

#include <stdbool.h>
#include <stdint.h>

struct engine;
struct note;

struct site {
	struct baton_resource resource;
	struct baton_resource_stats stats;
	struct baton_task finaliser;
	struct engine *engine;
	uint32_t number; /* from 1 up; used once */
	uint32_t place;
	uint32_t capture_max;
	bool counted; /* has stats */
	/* The shadow: plain members, touched by tasks alone. If one task did not happen before the
	 * next, ThreadSanitizer would report it. */
	uint32_t owner; /* the actor that is in a task, plus 1 */
	uint32_t runs;
	uint64_t version;
	uint64_t version_again;
	bool inside; /* between enter and leave; always true without them */
	/* Not the shadow's. */
	uint32_t finalised;
	struct note *closing;
};

_Static_assert(sizeof(struct site) <= 384, "a cell");

/* A config's enter and leave: the site is in one pair at a time. */
void site_context_enter(struct baton_resource *resource);
void site_context_leave(struct baton_resource *resource);

void sites_start(uint32_t count);
void sites_await_start(void);

/* No new sites; closes all there are. Then sites_live() comes to 0. */
void sites_stop(void);
bool sites_stopping(void);
uint32_t sites_live(void);
void sites_end(void);

/* Prints the sites that are retired and not gone. Returns the number of one of these sites, or
 * 0. */
uint32_t sites_print(void);
uint64_t sites_finalised(void);

/* Retires the sites on that engine; NULL: all sites. */
void sites_retire(struct engine *engine);

/* Pins the site of a random place; some places are hot. NULL: there is none just now. */
struct site *site_pin(uint64_t *random);
void site_pin_again(struct site *site);
void site_unpin(struct site *site);

/* Closes a pinned site in one of several ways, if this thread is the first that retires it. */
void site_retire(struct site *site, uint64_t *random);

/* Called when the task of the note is entered, and when its function is about to return. */
void site_enter(struct site *site, struct note *note);
void site_leave(struct site *site, struct note *note);

#endif
