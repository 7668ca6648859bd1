/* SPDX-License-Identifier: MIT */
/*
 * New topics, subscribers that come and go, and retained messages, all at once. In each round
 * numbers are published to a topic, one after the other, some of them retained, while readers
 * subscribe to it. What a reader gets has to be what it would get if the broker did all this in
 * some order, one after the other:
 *
 *   first   the last number that was retained before its subscription, flagged so; or nothing,
 *           where there is none, or where the first live one is retained and has come in its place
 *   then    all later ones live, each once, none left out, in order
 *   again   after a second SUBSCRIBE, of another QoS: the one that is retained then, likewise
 *
 * and nothing more behind its UNSUBACK. One that has subscribed before all rounds gets everything
 * live. Other processes let more topics and filters begin and end meanwhile. E2E_SEED=n: the same
 * rounds once more.
 */
#include "client.h"

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server.h"

#define MILLISECONDS 6000
#define READERS 3
#define STEADY READERS /* the one that stays */
#define PUBLISHERS 2
#define DISTURBERS 2
#define NUMBERS 16
#define BALLAST 6000 /* topics that filters with wildcards come by: more than in one task */

struct reader {
	struct client *client;
	char name[16];
	char filter[48]; /* this round's */
	unsigned int qos;
	int least;       /* all before this number was accepted before its SUBSCRIBE */
	int next;        /* the live number that has to come; -1: none has come yet */
	int flagged;     /* what has come as retained since its last SUBSCRIBE; -1: nothing */
	bool superseded; /* or a live one was retained instead */
	bool first;      /* its first SUBSCRIBE in this round */
};

static struct {
	unsigned int seed;
	uint64_t random;
	unsigned int round;
	char topic[32];
	bool retained[NUMBERS]; /* this round's numbers */
	int said;
	int accepted; /* so many have been acknowledged */
	struct client *publishers[PUBLISHERS];
	unsigned int publisher; /* who publishes */
	struct reader readers[READERS + 1];
	pid_t disturbers[DISTURBERS];
} race;

#define right(condition, format, ...)                                                              \
	check(condition, "seed %u, round %u, topic %s: " format, race.seed, race.round,            \
	      race.topic, __VA_ARGS__)

static unsigned int below(unsigned int bound)
{
	race.random ^= race.random << 13;
	race.random ^= race.random >> 7;
	race.random ^= race.random << 17;
	return (unsigned int)(race.random >> 33) % bound;
}

static bool one_in(unsigned int bound)
{
	return below(bound) == 0;
}

/* ---- Publishing ---- */

static void await_accepted(void)
{
	while (race.accepted < race.said)
		expect(race.publishers[race.publisher], "PUBACK %d", ++race.accepted);
}

/*
 * The other one goes on, once all is accepted: it has been acknowledged, or its client has left and
 * is gone, so that the topic may end.
 */
static void change_publisher(void)
{
	struct client **publisher = &race.publishers[race.publisher];

	if (one_in(2)) {
		leave(*publisher);
		race.accepted = race.said;
		*publisher = join(race.publisher == 0 ? "p0 clean" : "p1 clean");
	}
	await_accepted();
	race.publisher = (race.publisher + 1) % PUBLISHERS;
}

static void publish_next(bool retained)
{
	struct client *publisher = race.publishers[race.publisher];

	race.retained[race.said] = retained;
	race.said++;
	say(publisher, "PUBLISH %sq1 id%d %s %u %d", retained ? "retain " : "", race.said,
	    race.topic, race.round, race.said - 1);
}

/* -1: none */
static int last_retained_before(int number)
{
	do
		number--;
	while (number >= 0 && !race.retained[number]);
	return number;
}

/* ---- Reading ---- */

static void join_reader(struct reader *reader)
{
	char words[32];

	snprintf(words, sizeof(words), "%s clean", reader->name);
	reader->client = join(words);
}

static void begin_subscription(struct reader *reader, bool first)
{
	reader->qos = below(2);
	reader->flagged = -1;
	reader->superseded = false;
	reader->first = first;
	if (first) {
		reader->least = race.accepted;
		reader->next = -1;
	}
	say(reader->client, "SUBSCRIBE 7 %s:%u", reader->filter, reader->qos);
}

static void take_retained(struct reader *reader, int number)
{
	right(reader->flagged == -1, "%s got the retained %d after %d", reader->name, number,
	      reader->flagged);
	right(race.retained[number] && number >= last_retained_before(reader->least),
	      "%s got %d as retained", reader->name, number);
	if (reader->next != -1)
		right(!reader->first && number == last_retained_before(reader->next),
		      "%s got the retained %d behind %d", reader->name, number, reader->next - 1);
	reader->flagged = number;
}

static void take_live(struct reader *reader, int number)
{
	const int before = last_retained_before(number);

	if (reader->next != -1)
		right(number == reader->next, "%s got %d, not %d", reader->name, number,
		      reader->next);
	else
		right(number >= reader->least && (reader->flagged == before ||
		                                  (reader->flagged == -1 && race.retained[number])),
		      "%s got %d behind %d, which %d had replaced", reader->name, number,
		      reader->flagged, before);
	if (race.retained[number])
		reader->superseded = true;
	reader->next = number + 1;
}

/* True: `got` is the message with this number, live. */
static bool take(struct reader *reader, const char *got, int last)
{
	const char *at = strstr(got, " q");
	unsigned int qos = 9, id, round;
	char topic[64];
	int number, found = 0;

	if (at != NULL && sscanf(at, " q%u", &qos) == 1 && qos == 0)
		found = sscanf(at + 3, "%63s %u %d", topic, &round, &number);
	else if (qos == 1)
		found = sscanf(at + 3, " id%u %63s %u %d", &id, topic, &round, &number) - 1;
	right(found == 3 && strcmp(topic, race.topic) == 0 && round == race.round && number >= 0 &&
	              number < race.said,
	      "%s got %s", reader->name, got);
	if (qos == 1)
		say(reader->client, "PUBACK %u", id);
	if (strncmp(got, "PUBLISH retain ", 15) == 0) {
		take_retained(reader, number);
		return false;
	}
	take_live(reader, number);
	if (number == last)
		right(qos == reader->qos, "%s got %d at QoS %u", reader->name, number, qos);
	return number == last;
}

/* Until this answer has come, or, NULL, the live message with this number. */
static void read_until(struct reader *reader, const char *answer, int last)
{
	for (;;) {
		const char *got = client_next(reader->client, story_limit(CLIENT_PATIENCE_MS));

		right(got != NULL, "%s got nothing, not %s %d (%d is next)", reader->name,
		      answer != NULL ? answer : "number", last, reader->next);
		if (answer != NULL && strncmp(got, answer, strlen(answer)) == 0)
			return;
		if (take(reader, got, last) && answer == NULL)
			return;
	}
}

/* ---- A round ---- */

/* A topic that is new, or that was there before and ended, or is about to. */
static void choose_topic(void)
{
	static const char *const filters[] = {"n%u/x", "n%u/+", "n%u/#", "n%u/x/#", "+/x"};
	const unsigned int number = one_in(2) ? below(3) : 10 + race.round;

	snprintf(race.topic, sizeof(race.topic), "n%u/x", number);
	for (int i = 0; i < READERS; i++)
		snprintf(race.readers[i].filter, sizeof(race.readers[i].filter), filters[below(5)],
		         number);
	race.readers[STEADY].next = 0;
	race.said = 0;
	race.accepted = 0;
}

static void publish_and_subscribe(void)
{
	const int numbers = 1 + (int)below(6);
	bool subscribed[READERS] = {false};

	for (int i = 0; i <= numbers; i++) {
		for (int k = 0; k < READERS; k++) {
			if (!subscribed[k] && (i == numbers || one_in(3))) {
				begin_subscription(&race.readers[k], true);
				subscribed[k] = true;
			}
		}
		if (i == numbers)
			break;
		publish_next(one_in(2));
		if (one_in(4))
			await_accepted();
		if (one_in(6))
			change_publisher();
	}
}

static void await_all(void)
{
	await_accepted();
	for (int i = 0; i < READERS; i++)
		read_until(&race.readers[i], "SUBACK 7", -1);
	publish_next(false);
	for (int i = 0; i < READERS; i++) {
		struct reader *reader = &race.readers[i];

		read_until(reader, NULL, race.said - 1);
		right(reader->first || reader->flagged != -1 || reader->superseded ||
		              last_retained_before(race.said) == -1,
		      "%s did not get what is retained again", reader->name);
	}
	await_accepted();
}

static void subscribe_again(void)
{
	const int first = (int)below(READERS);

	for (int i = 0; i < READERS; i++) {
		if (i == first)
			publish_next(one_in(2));
		begin_subscription(&race.readers[i], false);
	}
	await_all();
}

/* Nothing is retained any more. */
static void clear(void)
{
	const struct reader *steady = &race.readers[STEADY];
	unsigned int id = 0;
	const char *got;

	race.said++;
	say(race.publishers[race.publisher], "PUBLISH retain q1 id%d %s ", race.said, race.topic);
	await_accepted();
	got = client_next(steady->client, story_limit(CLIENT_PATIENCE_MS));
	right(got != NULL && sscanf(got, "PUBLISH q1 id%u n", &id) == 1, "%s got %s", steady->name,
	      got != NULL ? got : "nothing");
	say(steady->client, "PUBACK %u", id);
}

/* Whatever comes behind the UNSUBACK is found by the next read_until(). */
static void end_subscriptions(void)
{
	for (int i = 0; i < READERS; i++) {
		struct reader *reader = &race.readers[i];

		if (one_in(8)) {
			client_kill(reader->client); /* its end is beside its next beginning */
			join_reader(reader);
		} else {
			say(reader->client, "UNSUBSCRIBE 8 %s", reader->filter);
			read_until(reader, "UNSUBACK 8", -1);
		}
	}
	publish_next(false);
	await_accepted();
	read_until(&race.readers[STEADY], NULL, race.said - 1);
	clear();
}

/* ---- What goes on meanwhile ---- */

/* Topics without number that come and go, and filters of them. */
_Noreturn static void disturb(unsigned int number)
{
	const char *const words = number == 0 ? "d0 clean" : "d1 clean";
	struct client *client = join(words);
	const char *got;

	race.random += (uint64_t)(number + 1) << 32;
	for (;;) {
		for (int i = 0; i < 20; i++)
			say(client, "PUBLISH %sq0 z%u/y%u/x %s", one_in(9) ? "retain " : "",
			    below(5), below(20), one_in(2) ? "z" : "");
		say(client, "SUBSCRIBE 1 z%u/+/x:0 z%u/#:0 z%u/y%u/x:0 n%u/x/y:0", below(5),
		    below(5), below(5), below(20), below(9));
		say(client, "UNSUBSCRIBE 2 z0/+/x z1/+/x z2/+/x z3/# z4/# z%u/y%u/x n%u/x/y",
		    below(5), below(20), below(9));
		do {
			got = client_next(client, story_limit(CLIENT_PATIENCE_MS));
			if (got == NULL)
				_exit(EXIT_FAILURE);
		} while (strcmp(got, "UNSUBACK 2") != 0);
		if (one_in(20)) {
			client_kill(client);
			client = join(words);
		}
		story_sleep(1); /* the rounds are what matters */
	}
}

static void begin(void)
{
	const char *seed = getenv("E2E_SEED");

	race.seed = seed != NULL ? (unsigned int)strtoul(seed, NULL, 10)
	                         : (unsigned int)story_clock() ^ (unsigned int)getpid() << 8;
	race.random = race.seed * UINT64_C(0x9e3779b97f4a7c15) | 1;
	fprintf(stderr, "seed %u\n", race.seed);
	start_server("");
	race.publishers[0] = join("p0 clean");
	race.publishers[1] = join("p1 clean");
	for (int i = 0; i <= READERS; i++) {
		snprintf(race.readers[i].name, sizeof(race.readers[i].name), "r%d", i);
		join_reader(&race.readers[i]);
	}
	subscribe(race.readers[STEADY].client, "+/x:1");
	race.readers[STEADY].qos = 1;
	race.readers[STEADY].first = true;
	for (int i = 0; i < BALLAST; i++)
		say(race.publishers[0], "PUBLISH retain q0 ballast/%d x", i);
	for (unsigned int i = 0; i < DISTURBERS; i++) {
		race.disturbers[i] = fork();
		check(race.disturbers[i] >= 0, "fork");
		if (race.disturbers[i] == 0)
			disturb(i);
	}
}

STORY(race_of_topics_subscribers_and_what_is_retained, .timeout = 30)
{
	long long deadline;

	begin();
	deadline = story_clock() + MILLISECONDS;
	while (story_clock() < deadline) {
		race.round++;
		choose_topic();
		publish_and_subscribe();
		await_all();
		if (one_in(2))
			subscribe_again();
		end_subscriptions();
	}
	fprintf(stderr, "%u rounds\n", race.round);
	for (int i = 0; i < DISTURBERS; i++)
		kill(race.disturbers[i], SIGKILL);
	right(server_stop() == 0, "the broker's end: %s", server_said());
}
