/* SPDX-License-Identifier: MIT */
/*
 * Wills and a broker that is killed at each call by which it changes its store (E2E_DEEP=1; else at
 * some): the will of a client that was welcome is published once, if not by the broker that is
 * killed, then by the next one.
 */
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "disk.h"
#include "server.h"
#include "store_file.h"

#define CLIENTS 9

enum fate { NOT_WELCOME, STAYS, VANISHES, LEAVES };

/* One of the three fates, or the broker has died before the CONNACK. */
static enum fate live(unsigned int number)
{
	struct client *client = client_try("leaver");
	const char *got;

	if (client->ended)
		return NOT_WELCOME;
	client_say(client, "CONNECT leaver%u clean will=w message=%u wq=1", number, number);
	got = client_next(client, story_limit(CLIENT_PATIENCE_MS));
	if (got == NULL)
		return NOT_WELCOME;
	check(strcmp(got, "CONNACK 0 0") == 0, "got %s", got);
	switch (number % 3) {
	case 0:
		return STAYS;
	case 1:
		client_vanish(client);
		return VANISHES;
	default:
		client_say(client, "DISCONNECT");
		while (client_next(client, story_limit(CLIENT_PATIENCE_MS)) != NULL)
			continue;
		return LEAVES;
	}
}

static void judge(const enum fate fates[CLIENTS], uint64_t call)
{
	unsigned int counts[CLIENTS] = {0};
	struct client *heir = resume("heir");
	const char *got;

	while ((got = client_next(heir, 300)) != NULL) {
		const char *number = strrchr(got, ' ');

		check(strncmp(got, "PUBLISH", 7) == 0 && atoi(number) < CLIENTS, "got %s", got);
		counts[atoi(number)]++;
	}
	for (unsigned int i = 0; i < CLIENTS; i++) {
		const bool owed = fates[i] == STAYS || fates[i] == VANISHES;

		check(counts[i] <= 1 && (counts[i] == 1 || !owed),
		      "killed at call %u: will %u, fate %d, came %u times", (unsigned int)call, i,
		      (int)fates[i], counts[i]);
	}
}

/* False: there are fewer calls. */
static bool strike(uint64_t call)
{
	enum fate fates[CLIENTS];
	struct client *heir;
	bool struck;

	store_begin("");
	heir = join_new("heir");
	subscribe(heir, "w:1");
	leave(heir);
	disk_at(call, call % 2 == 0 ? DISK_KILL : DISK_KILL_TORN);
	for (unsigned int i = 0; i < CLIENTS; i++)
		fates[i] = live(i);

	struck = disk_struck();
	disk_at(0, DISK_NOTHING);
	store_kill();
	store_begin("");
	judge(fates, call);
	store_kill();
	store_remove();
	return struck;
}

STORY(disk_killed_while_clients_leave_wills, .timeout = 300, .mosquitto = "has a store of its own")
{
	const unsigned int stride = getenv("E2E_DEEP") != NULL ? 1 : 3;
	uint64_t call = 1;

	(void)disk_use();
	while (strike(call))
		call += stride;
	check(call > 10, "only %u calls", (unsigned int)call);
}
