/* SPDX-License-Identifier: MIT */
/*
 * Clients that keep their sessions and are killed again and again, anywhere in a handshake, on both
 * sides of the broker. Each does what the standard asks of it: then nothing is lost, nothing comes
 * twice at QoS 2, and what comes again says so. E2E_SEED=n: the same once more; a failure's line
 * has it in the client's name.
 */
#include "client.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server.h"

enum { PAIRS = 4, TOTAL = 400, WINDOW = 8, OLD = 8 };

struct actor {
	struct client *client;
	char words[48];
	unsigned int steps; /* packets until it is killed */
};

struct sender {
	struct actor actor;
	char topic[8];
	struct sent {
		unsigned int number, id, qos;
		bool received; /* PUBREC has come: it is for PUBREL to be said again */
	} sent[WINDOW];        /* and not acknowledged to the end, the oldest first */
	unsigned int count, next;
};

struct receiver {
	struct actor actor;
	bool come[TOTAL];
	unsigned int come_count, held_count;
	int last;                          /* that came at QoS 2 */
	unsigned int held[UINT16_MAX + 1]; /* by packet id: number + 1, from PUBLISH to PUBREL */
};

static unsigned int state;

static unsigned int any(unsigned int below)
{
	return (unsigned int)rand_r(&state) % below;
}

/* ---- who is killed ---- */

static void actor_enter(struct actor *actor, bool present)
{
	actor->client = client_join_present(actor->words, present);
	actor->steps = 1 + any(any(2) == 0 ? 6 : 60);
}

/* Its next connection may be a take-over; else it is closed or reset, or ends within a packet. */
static void actor_die(struct actor *actor)
{
	static struct client *old[OLD];
	static unsigned int at;

	switch (any(4)) {
	case 0:
		if (old[at] != NULL)
			client_vanish(old[at]);
		old[at] = actor->client;
		at = (at + 1) % OLD;
		break;
	case 1:
		client_kill(actor->client);
		break;
	case 2:
		client_send(actor->client, "\x34\x20\0", 3);
		/* fallthrough */
	default:
		client_vanish(actor->client);
	}
}

/* NULL: nothing has come, or this was its last step, and it is another connection now. */
static const char *actor_next(struct actor *actor, bool *died)
{
	const char *got;

	*died = --actor->steps == 0;
	if (*died) {
		actor_die(actor);
		actor_enter(actor, true);
		return NULL;
	}
	got = client_next(actor->client, 0);
	check(got != NULL || !actor->client->ended, "%s: was disconnected", actor->client->name);
	actor->steps += got == NULL;
	return got;
}

/* ---- who sends ---- */

static void sender_publish(const struct sender *sender, const struct sent *sent, const char *dup)
{
	say(sender->actor.client, "PUBLISH %sq%u id%u %s %u", dup, sent->qos, sent->id,
	    sender->topic, sent->number);
}

/* The lowest that is free: ids are used again as soon as they may be. */
static unsigned int sender_id(const struct sender *sender)
{
	unsigned int id = 1;

	for (unsigned int i = 0; i < sender->count; i++)
		if (sender->sent[i].id == id) {
			id++;
			i = UINT32_MAX;
		}
	return id;
}

static void sender_fill(struct sender *sender, unsigned int lowest)
{
	while (sender->count < WINDOW && sender->next < TOTAL) {
		struct sent *sent = &sender->sent[sender->count];

		*sent = (struct sent){sender->next++, sender_id(sender), lowest + any(3 - lowest),
		                      false};
		sender->count++;
		sender_publish(sender, sent, "");
	}
}

static void sender_resume(const struct sender *sender)
{
	for (unsigned int i = 0; i < sender->count; i++) {
		if (sender->sent[i].received)
			say(sender->actor.client, "PUBREL %u", sender->sent[i].id);
		else
			sender_publish(sender, &sender->sent[i], "dup ");
	}
}

static void sender_take(struct sender *sender, const char *got)
{
	const struct client *client = sender->actor.client;
	struct sent *sent = sender->sent;
	unsigned int id = 0, i = 0;

	check(sscanf(got, "%*s %u", &id) == 1, "%s: got %s", client->name, got);
	while (i < sender->count && sent[i].id != id)
		i++;
	check(i < sender->count, "%s: got %s for nothing", client->name, got);
	if (strncmp(got, "PUBREC ", 7) == 0 && sent[i].qos == 2) {
		sent[i].received = true;
		say(sender->actor.client, "PUBREL %u", id);
		return;
	}
	check(strncmp(got, sent[i].qos == 1 ? "PUBACK " : "PUBCOMP ", 7) == 0, "%s: got %s",
	      client->name, got);
	sender->count--;
	memmove(sent + i, sent + i + 1, (sender->count - i) * sizeof(*sent));
}

static bool sender_step(struct sender *sender, unsigned int lowest)
{
	const char *got;
	bool died;

	if (sender->next == TOTAL && sender->count == 0)
		return false;
	got = actor_next(&sender->actor, &died);
	if (died)
		sender_resume(sender);
	if (got != NULL)
		sender_take(sender, got);
	sender_fill(sender, lowest);
	return died || got != NULL;
}

/* ---- who receives ---- */

static void receiver_come(struct receiver *receiver, unsigned int number)
{
	receiver->come_count += !receiver->come[number];
	receiver->come[number] = true;
}

static void receiver_publish(struct receiver *receiver, const char *got)
{
	const char *name = receiver->actor.client->name;
	const bool dup = strncmp(got, "PUBLISH dup ", 12) == 0;
	unsigned int qos = 0, id = 0, number = TOTAL;

	check(sscanf(strstr(got, " q"), " q%u id%u %*s %u", &qos, &id, &number) == 3 &&
	              number < TOTAL && id <= UINT16_MAX,
	      "%s: got %s", name, got);
	if (qos == 1) { /* it may have been said twice: as two, nobody knows */
		receiver_come(receiver, number);
		say(receiver->actor.client, "PUBACK %u", id);
		return;
	}
	check(dup || receiver->held[id] == 0, "%s: got %s again, without dup", name, got);
	if (receiver->held[id] == 0) {
		check(!receiver->come[number], "%s: got %s a second time", name, got);
		check((int)number > receiver->last, "%s: got %s after %d", name, got,
		      receiver->last);
		receiver_come(receiver, number);
		receiver->last = (int)number;
		receiver->held[id] = number + 1;
		receiver->held_count++;
	}
	check(receiver->held[id] == number + 1, "%s: got %s, and %u before, with that id", name,
	      got, receiver->held[id] - 1);
	say(receiver->actor.client, "PUBREC %u", id);
}

static bool receiver_step(struct receiver *receiver)
{
	unsigned int id = 0;
	bool died;
	const char *got;

	if (receiver->come_count == TOTAL && receiver->held_count == 0)
		return false;
	got = actor_next(&receiver->actor, &died);
	if (got == NULL)
		return died;
	if (sscanf(got, "PUBREL %u", &id) == 1) {
		receiver->held_count -= receiver->held[id] != 0;
		receiver->held[id] = 0;
		say(receiver->actor.client, "PUBCOMP %u", id);
	} else {
		receiver_publish(receiver, got);
	}
	return true;
}

static void begin(struct sender *sender, struct receiver *receiver, unsigned int pair,
                  unsigned int seed)
{
	char filter[16];

	snprintf(filter, sizeof(filter), "t%u:2", pair);
	snprintf(sender->topic, sizeof(sender->topic), "t%u", pair);
	snprintf(sender->actor.words, sizeof(sender->actor.words), "p%u-seed-%u", pair, seed);
	snprintf(receiver->actor.words, sizeof(receiver->actor.words), "s%u-seed-%u", pair, seed);
	receiver->last = -1;
	actor_enter(&receiver->actor, false);
	subscribe(receiver->actor.client, filter);
	actor_enter(&sender->actor, false);
}

static void tell(unsigned int lowest_qos)
{
	static struct sender senders[PAIRS];
	static struct receiver receivers[PAIRS];
	const char *given = getenv("E2E_SEED");
	const unsigned int seed = given != NULL ? (unsigned int)strtoul(given, NULL, 10)
	                                        : (unsigned int)story_clock() % 100000;
	long long moved_at = story_clock();
	unsigned int done = 0;

	state = seed;
	story_here(__FILE__, __LINE__);
	for (unsigned int i = 0; i < PAIRS; i++)
		begin(&senders[i], &receivers[i], i, seed);
	while (done < PAIRS) {
		unsigned int moved = 0;

		done = 0;
		for (unsigned int i = 0; i < PAIRS; i++) {
			moved += sender_step(&senders[i], lowest_qos);
			moved += receiver_step(&receivers[i]);
			done += senders[i].count == 0 && receivers[i].come_count == TOTAL &&
			        receivers[i].held_count == 0;
		}
		if (moved > 0)
			moved_at = story_clock();
		else
			story_sleep(1);
		check(story_clock() < moved_at + story_limit(CLIENT_PATIENCE_MS),
		      "%s and the others: nothing comes any more", senders[0].actor.words);
	}
	for (unsigned int i = 0; lowest_qos == 2 && i < PAIRS; i++)
		expect_silence(receivers[i].actor.client, 50);
}

STORY(chaos_loses_nothing, .timeout = 40, .mosquitto = "says some again behind later ones")
{
	tell(1);
}

STORY(chaos_doubles_nothing_at_qos_2, .timeout = 40, .mosquitto = "doubles some")
{
	tell(2);
}
