/* SPDX-License-Identifier: MIT */
/*
 * Groups whose members die, come back, leave and enter at random, anywhere in a handshake, and a
 * model of what each message may do: at QoS 1 it comes to some member, at QoS 2 to one member,
 * once. With a store the broker dies, too: by kill -9 at random, or at each call by which it
 * changes the store (E2E_DEEP=1; else at some). E2E_SEED=n: the same once more; a failure's line
 * has it in the client's name.
 */
#include "client.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "disk.h"
#include "server.h"
#include "shared.h"
#include "store_file.h"

enum { GROUPS = 2, MEMBERS = 4, TOTAL = 600, WINDOW = 8, OLD = 8 };

enum progress { UNSENT, SENT, RELEASED, COMPLETE };

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
	char words[48];
	unsigned int next, open;
	enum progress progress[TOTAL];
	unsigned int qos_of[TOTAL], came[TOTAL];
	struct member members[MEMBERS];
};

static struct group groups[GROUPS];
static unsigned int state, last_id, total, deaths;
static bool broker_died, members_die;
static uint64_t strike; /* at which call of the broker its disk kills it; 0: never */

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
	member->steps = members_die ? 1 + any(any(2) == 0 ? 6 : 80) : UINT32_MAX;
	client_say(member->client, "SUBSCRIBE %u %s", 1 + ++last_id % 60000,
	           filter_of(group, true));
}

static void member_forget(struct member *member)
{
	memset(member->held, 0, sizeof(member->held));
	member->held_count = 0;
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
	if (member->clean)
		member_forget(member);
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

	broker_died = broker_died || member->client->ended;
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

static void sender_say(const struct group *group, unsigned int number, const char *dup)
{
	client_say(group->sender, "PUBLISH %sq%u id%u %s %u", dup, group->qos_of[number],
	           number + 1, group->topic, number);
}

static void sender_hear(struct group *group, const char *got)
{
	unsigned int id = 0;
	enum progress *progress;

	check(sscanf(got, "%*s %u", &id) == 1 && id > 0 && id <= group->next, "%s: got %s",
	      group->words, got);
	progress = &group->progress[id - 1];
	if (strncmp(got, "PUBREC", 6) == 0) {
		*progress = RELEASED;
		client_say(group->sender, "PUBREL %u", id);
		return;
	}
	group->open -= *progress != COMPLETE;
	*progress = COMPLETE;
}

static bool sender_step(struct group *group)
{
	const char *got = client_next(group->sender, 0);

	broker_died = broker_died || group->sender->ended;
	if (got != NULL)
		sender_hear(group, got);
	while (group->open < WINDOW && group->next < total) {
		group->qos_of[group->next] = 1 + any(2);
		group->progress[group->next] = SENT;
		sender_say(group, group->next, "");
		group->next++;
		group->open++;
	}
	return got != NULL;
}

static void sender_resume(struct group *group)
{
	group->sender = client_join_present(group->words, true);
	for (unsigned int i = 0; i < group->next; i++)
		if (group->progress[i] == SENT)
			sender_say(group, i, "dup ");
		else if (group->progress[i] == RELEASED)
			client_say(group->sender, "PUBREL %u", i + 1);
}

/* ---- All ---- */

/* The broker is dead, or about to be. */
static void revive(void)
{
	const long long end = story_clock() + story_limit(CLIENT_PATIENCE_MS);
	int status;

	while (server_alive(&status))
		if ((story_sleep(1), story_clock() > end))
			story_fail("%s and the others: one was disconnected", groups[0].words);
	if (strike > 0)
		disk_at(0, DISK_NOTHING);
	store_begin("--max-inflight 5");
	broker_died = false;
	deaths++;
	for (unsigned int i = 0; i < GROUPS; i++) {
		for (unsigned int k = 0; k < MEMBERS; k++) {
			struct member *member = &groups[i].members[k];

			client_vanish(member->client);
			if (member->clean)
				member_forget(member);
			member_enter(&groups[i], member, !member->clean);
		}
		client_vanish(groups[i].sender);
		sender_resume(&groups[i]);
	}
}

static void begin(unsigned int at, unsigned int seed, bool clean)
{
	struct group *group = &groups[at];

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
	snprintf(group->words, sizeof(group->words), "p%u-seed-%u", at, seed);
	group->sender = join_new(group->words);
}

/* A clean session may have lost what it was sent at QoS 2. */
static bool complete(const struct group *group, bool clean)
{
	if (group->next < total || group->open > 0)
		return false;
	for (unsigned int i = 0; i < total; i++)
		if (group->came[i] == 0 && !(clean && group->qos_of[i] == 2))
			return false;
	for (unsigned int i = 0; i < MEMBERS; i++)
		if (group->members[i].held_count > 0 && !group->members[i].clean)
			return false;
	return true;
}

static unsigned int complete_count(bool clean)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < GROUPS; i++)
		count += complete(&groups[i], clean);
	return count;
}

static bool turn(bool clean)
{
	unsigned int moved = 0;

	for (unsigned int i = 0; i < GROUPS && !broker_died; i++) {
		moved += sender_step(&groups[i]);
		for (unsigned int k = 0; k < MEMBERS; k++)
			moved += member_step(&groups[i], &groups[i].members[k]);
	}
	if (moved == 0)
		story_sleep(1);
	return moved > 0 || complete_count(clean) < GROUPS;
}

/* Until nothing more is to come, and nothing more comes. `lives`: the broker has so many. */
static void tell(bool clean, unsigned int lives)
{
	const char *given = getenv("E2E_SEED");
	const unsigned int seed = given != NULL ? (unsigned int)strtoul(given, NULL, 10)
	                                        : (unsigned int)story_clock() % 100000;
	const long long began = story_clock();
	long long moved_at;
	bool moved;

	memset(groups, 0, sizeof(groups));
	state = seed;
	story_here(__FILE__, __LINE__);
	for (unsigned int i = 0; i < GROUPS; i++)
		begin(i, seed, clean);
	if (strike > 0)
		disk_at(strike, DISK_KILL);
	moved_at = story_clock();
	while (story_clock() < moved_at + 100) {
		if (deaths + 1 < lives && groups[0].next > deaths * total / lives) {
			store_kill();
			broker_died = true;
		}
		moved = turn(clean) || broker_died;
		if (broker_died)
			revive();
		if (moved)
			moved_at = story_clock();
		check(story_clock() < began + story_limit(10 * CLIENT_PATIENCE_MS),
		      "%s and the others: something does not come", groups[0].words);
	}
	check(complete_count(clean) == GROUPS, "%s and the others: it ended", groups[0].words);
}

STORY(shared_chaos_loses_and_doubles_nothing, .timeout = 700, .mosquitto = "loses some")
{
	total = TOTAL;
	members_die = true;
	tell(false, 1);
}

STORY(shared_chaos_with_clean_sessions, .timeout = 700, .mosquitto = "loses some")
{
	total = TOTAL;
	members_die = true;
	tell(true, 1);
}

STORY(shared_chaos_with_a_store, .timeout = 700, .mosquitto = "has a store of its own")
{
	total = TOTAL;
	members_die = true;
	store_start("--max-inflight 5");
	tell(true, 1);
}

STORY(shared_chaos_survives_kill, .timeout = 700, .five = "says bytes of its own",
      .mosquitto = "has a store of its own")
{
	total = TOTAL;
	members_die = true;
	store_start("--max-inflight 5");
	tell(false, 12);
	check(deaths == 11, "the broker has died %u times", deaths);
}

STORY(shared_chaos_survives_kill_with_clean_sessions, .timeout = 700,
      .five = "says bytes of its own", .mosquitto = "has a store of its own")
{
	total = TOTAL;
	members_die = true;
	store_start("--max-inflight 5");
	tell(true, 12);
	check(deaths == 11, "the broker has died %u times", deaths);
}

/* At each call by which the broker changes its file. */
STORY(shared_disk_killed_at_each_call, .timeout = 1200, .five = "says bytes of its own",
      .mosquitto = "has a store of its own")
{
	const unsigned int stride = getenv("E2E_DEEP") != NULL ? 1 : 7;
	bool struck = true;

	total = 12;
	(void)disk_use();
	for (strike = 1; struck; strike += stride) {
		store_begin("--max-inflight 5");
		tell(strike % 2 == 0, 1);
		struck = disk_struck();
		disk_at(0, DISK_NOTHING);
		store_kill();
		store_remove();
		check(struck || strike > 20, "only %u calls", (unsigned int)strike);
	}
}
