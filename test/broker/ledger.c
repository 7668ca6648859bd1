/* SPDX-License-Identifier: MIT */
/* Clients with a ledger; see ledger.h. */
#include "ledger.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "client.h"
#include "server.h"

#define WINDOW 4
#define TOPICS 4
#define IDS 5       /* the publisher's packet ids: one more than are under way */
#define AWAY_FROM 8 /* the subscriber is away while these are published */
#define AWAY_TO 14

enum progress {
	UNSENT,
	SENT,     /* waits for PUBACK or PUBREC */
	RELEASED, /* waits for PUBCOMP */
	COMPLETE,
};

struct ledger {
	ledger_revive_fn revive;
	unsigned int deaths;
	struct client *publisher;
	struct client *subscriber; /* NULL: away */
	struct client *third;
	enum progress progress[LEDGER_MESSAGES];
	unsigned int came[LEDGER_MESSAGES]; /* to the subscriber's application */
	int held[65536];                    /* QoS 2: the message whose PUBREL waits, plus 1 */
	int last[TOPICS];                   /* of each topic that has come first */
	bool subscribed;
	unsigned int step; /* of the third client */
	bool asked;
};

/*
 * Topics in turn: at QoS 1 and 2, and retained ones at QoS 1 and 2. (One topic at both would be in
 * no order: a repetition at QoS 1 is passed on again, one at QoS 2 is not.)
 */

static unsigned int qos_of(int message)
{
	return 1U + (unsigned int)message % 2;
}

static bool retained(int message)
{
	return message % TOPICS >= 2;
}

static void say_publish(struct ledger *ledger, int message, bool again)
{
	client_say(ledger->publisher, "PUBLISH %s%sq%u id%d t/%d %d", again ? "dup " : "",
	           retained(message) ? "retain " : "", qos_of(message), message % IDS + 1,
	           message % TOPICS, message);
}

/* ---- A broker that dies ---- */

/* `known`: the broker has said before that it keeps the session. */
static void await_welcome(struct client **client, const char *words, bool known)
{
	const char *next;

	*client = client_try(words);
	client_say(*client, "CONNECT %s", words);
	next = client_next(*client, story_limit(CLIENT_PATIENCE_MS));
	if (next == NULL && !(*client)->ended)
		story_fail("%s: no CONNACK", words);
	if (next != NULL && (known || strcmp(next, "CONNACK 0 0") != 0) &&
	    strcmp(next, "CONNACK 1 0") != 0)
		story_fail("%s: %s", words, next);
}

static void publisher_come(struct ledger *ledger)
{
	await_welcome(&ledger->publisher, "publisher alive=0", ledger->progress[0] != UNSENT);
	for (int i = 0; i < LEDGER_MESSAGES; i++)
		if (ledger->progress[i] == SENT)
			say_publish(ledger, i, true);
		else if (ledger->progress[i] == RELEASED)
			client_say(ledger->publisher, "PUBREL %d", i % IDS + 1);
}

static void subscriber_come(struct ledger *ledger)
{
	await_welcome(&ledger->subscriber, "subscriber alive=0", ledger->subscribed);
	if (!ledger->subscribed)
		client_say(ledger->subscriber, "SUBSCRIBE 60000 t/+:2");
}

static bool ended(const struct client *client)
{
	return client != NULL && client->ended;
}

static void ledger_revive(struct ledger *ledger)
{
	const long long end = story_clock() + story_limit(CLIENT_PATIENCE_MS);
	const bool away = ledger->subscriber == NULL;
	int status;

	while (server_alive(&status))
		if ((story_sleep(1), story_clock() > end))
			story_fail("the broker has closed a client");
	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
		story_fail("the broker has ended, wait status %d: %s", status, server_said());
	ledger->deaths++;
	ledger->revive();
	publisher_come(ledger);
	if (!away)
		subscriber_come(ledger);
	ledger->third = NULL;
	ledger->asked = false;
}

/* ---- The publisher ---- */

/* The message that is under way with this packet id. */
static int message_of(const struct ledger *ledger, int id)
{
	for (int i = id - 1; i < LEDGER_MESSAGES && id > 0; i += IDS)
		if (ledger->progress[i] == SENT || ledger->progress[i] == RELEASED)
			return i;
	return -1;
}

static void publisher_hear(struct ledger *ledger, const char *words)
{
	int id = 0, message;
	const bool received = sscanf(words, "PUBREC %d", &id) == 1;

	if (!received)
		(void)(sscanf(words, "PUBACK %d", &id) == 1 ||
		       sscanf(words, "PUBCOMP %d", &id) == 1);
	message = message_of(ledger, id);
	if (message < 0)
		story_fail("publisher: %s", words);
	ledger->progress[message] = received ? RELEASED : COMPLETE;
	if (received)
		client_say(ledger->publisher, "PUBREL %d", id);
}

/* An id is used again as soon as it may be. */
static void publisher_go_on(struct ledger *ledger)
{
	int open = 0;

	for (int i = 0; i < LEDGER_MESSAGES && open < WINDOW; i++) {
		if (i >= IDS && ledger->progress[i - IDS] != COMPLETE)
			return;
		if (ledger->progress[i] == UNSENT) {
			ledger->progress[i] = SENT;
			say_publish(ledger, i, false);
		}
		open += ledger->progress[i] != COMPLETE;
	}
}

/* ---- The subscriber ---- */

static void subscriber_take(struct ledger *ledger, int message)
{
	int *last = &ledger->last[message % TOPICS];

	if (++ledger->came[message] > 1)
		return;
	/* One that comes again may be late; one that comes first may not. */
	if (message < *last)
		story_fail("message %d came behind %d", message, *last);
	*last = message;
}

static void subscriber_hear(struct ledger *ledger, const char *words)
{
	const char *topic = strstr(words, " t/");
	unsigned int id = 0;
	int message = 0;

	if (strncmp(words, "SUBACK", 6) == 0) {
		ledger->subscribed = true;
	} else if (sscanf(words, "PUBREL %u", &id) == 1) {
		if (ledger->held[id] != 0)
			subscriber_take(ledger, ledger->held[id] - 1);
		ledger->held[id] = 0;
		client_say(ledger->subscriber, "PUBCOMP %u", id);
	} else if (topic != NULL && strstr(words, " id") != NULL &&
	           sscanf(topic, " t/%*d %d", &message) == 1) {
		id = (unsigned int)atoi(strstr(words, " id") + 3);
		if (strstr(words, " q1 ") != NULL) {
			subscriber_take(ledger, message);
			client_say(ledger->subscriber, "PUBACK %u", id);
			return;
		}
		if (ledger->held[id] != 0 && ledger->held[id] != message + 1)
			story_fail("id %u is another message: %s", id, words);
		ledger->held[id] = message + 1;
		client_say(ledger->subscriber, "PUBREC %u", id);
	} else {
		story_fail("subscriber: %s", words);
	}
}

static int complete_count(const struct ledger *ledger)
{
	int count = 0;

	for (int i = 0; i < LEDGER_MESSAGES; i++)
		count += ledger->progress[i] == COMPLETE;
	return count;
}

static void subscriber_go_on(struct ledger *ledger)
{
	const int count = complete_count(ledger);
	const bool away = ledger->subscribed && count >= AWAY_FROM && count < AWAY_TO;

	if (away && ledger->subscriber != NULL)
		client_vanish(ledger->subscriber);
	if (away)
		ledger->subscriber = NULL;
	else if (ledger->subscriber == NULL)
		subscriber_come(ledger);
}

/* ---- The third client: what it asks for, one after the other ---- */

static const struct {
	const char *says;
	const char *hears[2];
	const char *connect; /* with these words; NULL: it is there */
} deeds[] = {
	{NULL, {"CONNACK 0 0", "CONNACK 1 0"}, "third"},
	{"SUBSCRIBE 1 w:1 x:1 y:2", {"SUBACK 1 1 1 2", NULL}, NULL},
	{"UNSUBSCRIBE 2 x", {"UNSUBACK 2", NULL}, NULL},
	{NULL, {"CONNACK 0 0", NULL}, "third clean"},
	{NULL, {"CONNACK 0 0", "CONNACK 1 0"}, "third"},
	{"SUBSCRIBE 3 y:1 z:1", {"SUBACK 3 1 1", NULL}, NULL},
	{"UNSUBSCRIBE 4 y", {"UNSUBACK 4", NULL}, NULL},
};

#define DEEDS (sizeof(deeds) / sizeof(*deeds))

static void third_go_on(struct ledger *ledger)
{
	const char *connect = deeds[ledger->step < DEEDS ? ledger->step : DEEDS - 1].connect;

	if (ledger->step >= DEEDS || ledger->asked)
		return;
	if (connect != NULL || ledger->third == NULL) {
		/* A clean session that the crash has ended need not be there again. */
		if (connect == NULL)
			connect = "third";
		ledger->third = client_try("third");
		client_say(ledger->third, "CONNECT %s alive=0", connect);
		ledger->asked = deeds[ledger->step].connect != NULL;
		if (ledger->asked || client_next(ledger->third, story_limit(5000)) == NULL)
			return;
	}
	client_say(ledger->third, "%s", deeds[ledger->step].says);
	ledger->asked = true;
}

static void third_hear(struct ledger *ledger, const char *words)
{
	const char *const *hears = deeds[ledger->step].hears;

	if (strcmp(words, hears[0]) != 0 && (hears[1] == NULL || strcmp(words, hears[1]) != 0))
		story_fail("third: step %u: %s", ledger->step, words);
	ledger->step++;
	ledger->asked = false;
}

/* ---- All three ---- */

static void hear(struct ledger *ledger, struct client *client,
                 void (*fn)(struct ledger *ledger, const char *words))
{
	const char *next;
	char words[1024];

	while (client != NULL && (next = client_next(client, 0)) != NULL) {
		snprintf(words, sizeof(words), "%s", next);
		fn(ledger, words);
	}
}

static void await_input(const struct ledger *ledger)
{
	struct pollfd fds[3] = {{ledger->publisher->fd, POLLIN, 0},
	                        {ledger->subscriber ? ledger->subscriber->fd : -1, POLLIN, 0},
	                        {ledger->third ? ledger->third->fd : -1, POLLIN, 0}};

	(void)poll(fds, 3, 20);
}

/* Is there anything that the subscriber has still to get? */
static bool all_came(const struct ledger *ledger)
{
	for (int i = 0; i < LEDGER_MESSAGES; i++)
		if (ledger->came[i] == 0)
			return false;
	return true;
}

static void ledger_turn(struct ledger *ledger)
{
	subscriber_go_on(ledger);
	if (ledger->subscribed)
		publisher_go_on(ledger);
	third_go_on(ledger);
	await_input(ledger);
	hear(ledger, ledger->publisher, publisher_hear);
	hear(ledger, ledger->subscriber, subscriber_hear);
	if (ledger->asked)
		hear(ledger, ledger->third, third_hear);
	if (ended(ledger->publisher) || ended(ledger->subscriber) || ended(ledger->third))
		ledger_revive(ledger);
}

/* All are complete, so the last one of each topic is retained. */
static void judge_retained(void)
{
	struct client *late = client_join("late clean");

	for (int i = LEDGER_MESSAGES - 2; i < LEDGER_MESSAGES; i++) {
		client_say(late, "SUBSCRIBE 1 t/%d:0", i % TOPICS);
		client_expect(late, "SUBACK 1 0");
		client_expect(late, "PUBLISH retain q0 t/%d %d", i % TOPICS, i);
	}
}

/* The third client is subscribed to z alone. */
static void judge_third(struct ledger *ledger)
{
	struct client *publisher = client_join("judge clean");

	if (ledger->third != NULL)
		client_vanish(ledger->third);
	client_publish(publisher, 1, "w 0");
	client_publish(publisher, 1, "x 1");
	client_publish(publisher, 1, "y 2");
	client_publish(publisher, 1, "z 3");
	ledger->third = client_join_present("third", true);
	client_expect_received(ledger->third, "z 3");
	client_expect_silence(ledger->third, 20);
}

struct ledger *ledger_run(ledger_revive_fn revive)
{
	struct ledger *ledger = calloc(1, sizeof(*ledger));
	const long long end = story_clock() + story_limit(5000);

	ledger->revive = revive;
	for (int i = 0; i < TOPICS; i++)
		ledger->last[i] = -1;
	publisher_come(ledger);
	subscriber_come(ledger);
	while (complete_count(ledger) < LEDGER_MESSAGES || !all_came(ledger) ||
	       ledger->step < DEEDS) {
		if (story_clock() > end)
			story_fail("%d of %d are complete, the third client at step %u",
			           complete_count(ledger), LEDGER_MESSAGES, ledger->step);
		ledger_turn(ledger);
	}
	return ledger;
}

unsigned int ledger_judge(struct ledger *ledger)
{
	unsigned int deaths;

	/* What may still come: repetitions, and the rest of the handshakes. */
	for (int i = 0; i < 5; i++)
		ledger_turn(ledger);
	for (int i = 0; i < LEDGER_MESSAGES; i++)
		if (qos_of(i) == 2 && ledger->came[i] != 1)
			story_fail("message %d of QoS 2 came %u times", i, ledger->came[i]);
	judge_retained();
	judge_third(ledger);
	client_vanish(ledger->publisher);
	client_vanish(ledger->subscriber);
	client_vanish(ledger->third);
	deaths = ledger->deaths;
	free(ledger);
	return deaths;
}
