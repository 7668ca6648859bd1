/* SPDX-License-Identifier: MIT */
/*
 * Groups whose members die, come back, leave and enter at random, anywhere in a handshake, and a
 * model of what each message may do: at QoS 1 it comes to some member, at QoS 2 to one member,
 * once. E2E_SEED=n: the same once more; a failure's line has it in the client's name.
 */
#include "client.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server.h"
#include "shared.h"
#include "store_file.h"

enum { GROUPS = 2, MEMBERS = 4, TOTAL = 600, WINDOW = 8, OLD = 8 };

struct member {
	struct client *client;
	char words[48];
	bool clean;
	bool enters_again;  /* leaves its group now and then */
	unsigned int steps; /* packets until it dies */
	unsigned int held_count;
	unsigned int held[UINT16_MAX + 1]; /* by packet id: number + 1, from PUBLISH to PUBREL */
};

struct group {
	char topic[8];
	struct client *sender;
	unsigned int next, open;
	unsigned int qos_of[TOTAL], came[TOTAL];
	struct member members[MEMBERS];
};

static struct group groups[GROUPS];
static unsigned int state, last_id;

static unsigned int any(unsigned int below)
{
	return (unsigned int)rand_r(&state) % below;
}

static const char *filter_of(const struct group *group, bool with_qos)
{
	char filter[16];

	snprintf(filter, sizeof(filter), "%s%s", group->topic, with_qos ? ":2" : "");
	return shared("g", filter);
}

/* ---- Members ---- */

static void member_enter(const struct group *group, struct member *member, bool present)
{
	member->client = client_join_present(member->words, present);
	member->steps = 1 + any(any(2) == 0 ? 6 : 80);
	if (!present)
		client_say(member->client, "SUBSCRIBE %u %s", 1 + ++last_id % 60000,
		           filter_of(group, true));
}

static void member_die(const struct group *group, struct member *member)
{
	static struct client *old[OLD];
	static unsigned int at;

	switch (any(4)) {
	case 0: /* the next connection takes over */
		if (old[at] != NULL)
			client_vanish(old[at]);
		old[at] = member->client;
		at = (at + 1) % OLD;
		break;
	case 1:
		client_kill(member->client);
		break;
	case 2:
		client_send(member->client, "\x34\x20\0", 3);
		/* fallthrough */
	default:
		client_vanish(member->client);
	}
	if (member->clean) {
		memset(member->held, 0, sizeof(member->held));
		member->held_count = 0;
	}
	member_enter(group, member, !member->clean);
}

static void member_take(struct group *group, struct member *member, const char *got)
{
	const char *name = member->client->name;
	const bool dup = strncmp(got, "PUBLISH dup ", 12) == 0;
	unsigned int qos = 0, id = 0, number = TOTAL;

	check(sscanf(strstr(got, " q"), " q%u id%u %*s %u", &qos, &id, &number) == 3 &&
	              number < TOTAL && id <= UINT16_MAX && qos == group->qos_of[number],
	      "%s: got %s", name, got);
	if (qos == 1) {
		group->came[number]++;
		say(member->client, "PUBACK %u", id);
		return;
	}
	check(dup || member->held[id] == 0, "%s: got %s again, without dup", name, got);
	if (member->held[id] == 0) {
		check(group->came[number] == 0, "%s: got %s, which came before", name, got);
		group->came[number]++;
		member->held[id] = number + 1;
		member->held_count++;
	}
	check(member->held[id] == number + 1, "%s: got %s, and %u before, with that id", name, got,
	      member->held[id] - 1);
	say(member->client, "PUBREC %u", id);
}

static bool member_step(struct group *group, struct member *member)
{
	const char *got = client_next(member->client, 0);
	unsigned int id = 0;

	check(got != NULL || !member->client->ended, "%s: was disconnected", member->client->name);
	if (got == NULL)
		return false;
	if (sscanf(got, "PUBREL %u", &id) == 1) {
		member->held_count -= member->held[id] != 0;
		member->held[id] = 0;
		say(member->client, "PUBCOMP %u", id);
	} else if (strncmp(got, "PUBLISH", 7) == 0) {
		member_take(group, member, got);
	}
	if (member->enters_again && any(40) == 0) {
		say(member->client, "UNSUBSCRIBE %u %s", 1 + ++last_id % 60000,
		    filter_of(group, false));
		say(member->client, "SUBSCRIBE %u %s", 1 + ++last_id % 60000,
		    filter_of(group, true));
	}
	if (--member->steps == 0)
		member_die(group, member);
	return true;
}

/* ---- Senders ---- */

static bool sender_step(struct group *group)
{
	const char *got = client_next(group->sender, 0);
	unsigned int id = 0;

	if (got != NULL && sscanf(got, "PUBREC %u", &id) == 1)
		say(group->sender, "PUBREL %u", id);
	else if (got != NULL)
		group->open--;
	while (group->open < WINDOW && group->next < TOTAL) {
		const unsigned int qos = 1 + any(2);

		group->qos_of[group->next] = qos;
		say(group->sender, "PUBLISH q%u id%u %s %u", qos, group->next + 1, group->topic,
		    group->next);
		group->next++;
		group->open++;
	}
	return got != NULL;
}

static void begin(unsigned int at, unsigned int seed, bool clean)
{
	struct group *group = &groups[at];
	char words[48];

	snprintf(group->topic, sizeof(group->topic), "t%u", at);
	for (unsigned int i = 0; i < MEMBERS; i++) {
		struct member *member = &group->members[i];

		member->clean = clean && i % 2 == 1;
		member->enters_again = i > 1; /* the group lives */
		snprintf(member->words, sizeof(member->words), "m%u-%u-seed-%u%s", at, i, seed,
		         member->clean ? " clean" : "");
		member_enter(group, member, false);
		expect(member->client, "SUBACK %u 2", 1 + last_id % 60000);
	}
	snprintf(words, sizeof(words), "p%u-seed-%u clean", at, seed);
	group->sender = join(words);
}

/* A clean session may have lost what it was sent at QoS 2. */
static bool complete(const struct group *group, bool clean)
{
	if (group->next < TOTAL || group->open > 0)
		return false;
	for (unsigned int i = 0; i < TOTAL; i++)
		if (group->came[i] == 0 && !(clean && group->qos_of[i] == 2))
			return false;
	for (unsigned int i = 0; i < MEMBERS; i++)
		if (group->members[i].held_count > 0 && !group->members[i].clean)
			return false;
	return true;
}

static void tell(bool clean)
{
	const char *given = getenv("E2E_SEED");
	const unsigned int seed = given != NULL ? (unsigned int)strtoul(given, NULL, 10)
	                                        : (unsigned int)story_clock() % 100000;
	long long moved_at = story_clock();
	unsigned int done = 0;

	state = seed;
	story_here(__FILE__, __LINE__);
	for (unsigned int i = 0; i < GROUPS; i++)
		begin(i, seed, clean);
	while (done < GROUPS || story_clock() < moved_at + 100) {
		unsigned int moved = 0;

		done = 0;
		for (unsigned int i = 0; i < GROUPS; i++) {
			moved += sender_step(&groups[i]);
			for (unsigned int k = 0; k < MEMBERS; k++)
				moved += member_step(&groups[i], &groups[i].members[k]);
			done += complete(&groups[i], clean);
		}
		if (moved > 0)
			moved_at = story_clock();
		else
			story_sleep(1);
		check(story_clock() < moved_at + story_limit(CLIENT_PATIENCE_MS),
		      "%s and the others: nothing comes any more", groups[0].members[0].words);
	}
}

STORY(shared_chaos_loses_and_doubles_nothing, .timeout = 60, .mosquitto = "loses some")
{
	tell(false);
}

STORY(shared_chaos_with_clean_sessions, .timeout = 60, .mosquitto = "loses some")
{
	tell(true);
}

STORY(shared_chaos_with_a_store, .timeout = 120, .mosquitto = "has a store of its own")
{
	store_start("--max-inflight 5");
	tell(true);
}
