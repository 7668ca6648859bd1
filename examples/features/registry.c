/* SPDX-License-Identifier: MIT */
/*
 * Chat rooms by name. A room exists while a guest is in it. A guest that enters asks the registry
 * for the room, which makes the room if need be, and holds a reference while inside. Each sentence
 * is a task of the room. When the last guest leaves, the room's resource closes, its tasks run, and
 * then the room is freed. No guest can speak to a room that is gone.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <baton.h>
#include <baton/registry.h>

#define GUESTS 4
#define VISITS 20000
#define ROOMS 3

struct room {
	struct baton_registry_entry entry; /* first of all */
	unsigned long said;                /* touched by the room's tasks */
};

static unsigned long opened, closed, written;

/* A task of the registry's resource. No other thread sees the room yet. */
static int room_open(struct baton_registry_entry *entry, void *arg)
{
	(void)entry;
	(void)arg;
	opened++;
	return 0;
}

/* All guests have left, and all tasks of the room have run. Runs on any thread. */
static void room_close(struct baton_registry_entry *entry, void *arg)
{
	(void)arg;
	__atomic_fetch_add(&written, ((struct room *)entry)->said, __ATOMIC_RELAXED);
	__atomic_fetch_add(&closed, 1, __ATOMIC_RELAXED);
}

static void *say(void *arg)
{
	((struct room *)arg)->said++;
	return NULL;
}

static void *guest(void *arg)
{
	static const char *const names[ROOMS] = {"kitchen", "library", "garden"};
	static const size_t lengths[ROOMS] = {7, 7, 6};
	struct baton_registry *rooms = arg;

	for (int i = 0; i < VISITS; i++) {
		struct baton_registry_entry *room;

		if (baton_registry_acquire(rooms, names[i % ROOMS], lengths[i % ROOMS], &room))
			abort();
		if (baton_post(&room->resource, say, room)) /* safe: the guest has a reference */
			abort();
		if (baton_registry_unref(room))
			abort();
	}
	return NULL;
}

int main(void)
{
	const struct baton_registry_options options =
		BATON_REGISTRY_OPTIONS_INIT(sizeof(struct room), room_open, room_close, NULL);
	struct baton_registry *rooms;
	pthread_t guests[GUESTS];

	if (baton_registry_create(&options, &rooms))
		return 1;
	for (int i = 0; i < GUESTS; i++)
		if (pthread_create(&guests[i], NULL, guest, rooms))
			return 1;
	for (int i = 0; i < GUESTS; i++)
		pthread_join(guests[i], NULL);
	if (baton_registry_destroy(rooms)) /* waits for the last rooms */
		return 1;
	printf("%d guests, %d visits each: rooms opened %lu times, closed %lu times; "
	       "%lu of %d sentences written down\n",
	       GUESTS, VISITS, opened, closed, written, GUESTS * VISITS);
	return opened != closed || written != GUESTS * VISITS;
}
