/* SPDX-License-Identifier: MIT */
/* Shared subscriptions: equally much for equally fast members, less for slow ones; many members. */
#include "client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server.h"
#include "shared.h"

enum { MEMBERS = 4, COUNT = 4000, BURST = 100 };

static struct client *publisher, *members[MEMBERS];
static unsigned int came[MEMBERS];
static bool seen[COUNT];

static void gather(unsigned int qos, unsigned int count)
{
	char words[32];

	publisher = join("publisher clean");
	for (unsigned int i = 0; i < count; i++) {
		snprintf(words, sizeof(words), "member%u clean", i);
		members[i] = join(words);
		snprintf(words, sizeof(words), "t:%u", qos);
		subscribe(members[i], shared("g", words));
	}
}

/* Messages from `first` on; each comes once. The publisher's acknowledgements are awaited. */
static void publish_burst(unsigned int qos, int first)
{
	for (int i = first; i < first + BURST; i++)
		if (qos == 0)
			say(publisher, "PUBLISH q0 t %d", i);
		else
			say(publisher, "PUBLISH q1 id%d t %d", i - first + 1, i);
	for (int i = 1; qos > 0 && i <= BURST; i++)
		expect(publisher, "PUBACK %d", i);
}

/* Takes one message, if there is any. */
static bool take(unsigned int member, long long milliseconds)
{
	const char *got = client_next(members[member], milliseconds);
	unsigned int id = 0;
	int number = -1;

	if (got == NULL)
		return false;
	if (strncmp(got, "PUBLISH q1", 10) == 0) {
		check(sscanf(got, "PUBLISH q1 id%u t %d", &id, &number) == 2, "got %s", got);
		say(members[member], "PUBACK %u", id);
	} else {
		check(sscanf(got, "PUBLISH q0 t %d", &number) == 1, "got %s", got);
	}
	check(number >= 0 && number < COUNT && !seen[number], "%s again", got);
	seen[number] = true;
	came[member]++;
	return true;
}

static unsigned int total(void)
{
	unsigned int sum = 0;

	for (unsigned int i = 0; i < MEMBERS; i++)
		sum += came[i];
	return sum;
}

static void equals(unsigned int qos)
{
	gather(qos, MEMBERS);
	for (int first = 0; first < COUNT; first += BURST) {
		const long long end = story_clock() + story_limit(CLIENT_PATIENCE_MS);

		publish_burst(qos, first);
		while (total() < (unsigned int)first + BURST) {
			for (unsigned int i = 0; i < MEMBERS; i++)
				while (take(i, 0))
					;
			check(story_clock() < end, "%u of %d came", total(), first + BURST);
		}
	}
	for (unsigned int i = 0; i < MEMBERS; i++)
		/* Those that this process looks at first are a little faster. */
		check(came[i] > COUNT / MEMBERS * 3 / 4 && came[i] < COUNT / MEMBERS * 5 / 4,
		      "%s got %u of %d", members[i]->name, came[i], COUNT);
}

STORY(shared_by_equals_is_equal_at_qos_0, .timeout = 60)
{
	equals(0);
}

STORY(shared_by_equals_is_equal_at_qos_1, .timeout = 60)
{
	equals(1);
}

/* The first member acknowledges one message where the other takes all that there are. */
STORY(shared_with_a_slow_member_is_mostly_the_other_s, .timeout = 60,
      .mosquitto = "gives both the same")
{
	start_server("--max-inflight 8");
	gather(1, 2);
	for (int first = 0; first < COUNT; first += BURST) {
		const long long end = story_clock() + story_limit(CLIENT_PATIENCE_MS);

		publish_burst(1, first);
		(void)take(0, 0);
		/* All but what waits in the slow one's window. */
		while (total() + 8 < (unsigned int)first + BURST) {
			while (take(1, 1))
				;
			check(story_clock() < end, "%u of %d came", total(), first + BURST);
		}
	}
	check(came[0] <= COUNT / BURST && came[0] >= COUNT / BURST / 2, "the slow one got %u",
	      came[0]);
}

/* One takes nothing at all: its window fills, and comes to the other when it is closed. */
STORY(shared_with_a_stuck_member_is_the_other_s, .timeout = 60,
      .mosquitto = "drops what a member that has gone has not acknowledged")
{
	start_server("--max-inflight 8 --connect-timeout 2");
	gather(1, 2);
	for (int first = 0; first < 1000; first += BURST) {
		publish_burst(1, first);
		while (total() + 8 < (unsigned int)first + BURST)
			(void)take(1, story_limit(CLIENT_PATIENCE_MS));
	}
	check(total() == 1000 - 8, "%u came", total());
	check(!take(1, 50), "the window was larger");
	client_vanish(members[0]);
	while (total() < 1000)
		check(take(1, story_limit(CLIENT_PATIENCE_MS)), "%u came", total());
	check(!take(1, 50), "one more came");
}

/* Each message costs the group as little as with few members. */
STORY(shared_by_a_thousand_members, .timeout = 60)
{
	enum { MANY = 1000 };
	static struct client *many[MANY];
	double cpu[2];
	char words[32];

	start_server("");
	publisher = join("publisher clean");
	for (int i = 0; i < MANY; i++) {
		snprintf(words, sizeof(words), "member%d clean", i);
		many[i] = join(words);
		subscribe(many[i], shared("g", "t:0"));
		if (i == 9 || i == MANY - 1) {
			const double began = server_cpu_seconds();

			for (int k = 0; k < 20000; k++)
				say(publisher, "PUBLISH q0 t %d", k);
			ping(publisher);
			cpu[i == MANY - 1] = server_cpu_seconds() - began;
		}
	}
	for (int i = 0; i < MANY; i++) {
		const int share = i < 10 ? 2020 : 20;
		int count = 0;

		while (count < share && client_next(many[i], CLIENT_PATIENCE_MS) != NULL)
			count++;
		check(count == share, "member %d got %d", i, count);
	}
	check(cpu[1] < 5 * cpu[0] + (double)story_scaled(1),
	      "ten members cost %.2f s of CPU, a thousand %.2f s", cpu[0], cpu[1]);
}

STORY(shared_by_a_thousand_groups, .timeout = 60)
{
	enum { GROUPS = 1000 };
	struct client *clients[2];
	char name[16], words[32];

	start_server("");
	publisher = join("publisher clean");
	clients[0] = join("a clean");
	clients[1] = join("b clean");
	for (int i = 0; i < GROUPS; i++)
		for (int k = 0; k < 2; k++) {
			snprintf(name, sizeof(name), "g%d", i);
			snprintf(words, sizeof(words), "t%d/+:1", i % 100);
			subscribe(clients[k], shared(name, words));
		}
	for (int i = 0; i < 200; i++) { /* in each of these groups it is the other one's turn */
		struct client *client = clients[i / 100];

		publish(publisher, 1, "t%d/x %d", i % 100, i);
		snprintf(words, sizeof(words), "t%d/x %d", i % 100, i);
		for (int k = 0; k < GROUPS / 100; k++)
			expect_received(client, words);
		ping(client);
	}
	expect_silence(clients[0], 50);
	expect_silence(clients[1], 50);
}
