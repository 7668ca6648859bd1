/* SPDX-License-Identifier: MIT */
/* Memory that was needed once, and what the broker does when it has nothing to do. */
#include "client.h"

#include <stdio.h>
#include <string.h>

#include "server.h"

enum { AWAY = 4, MESSAGES = 100000, TOPICS = 5000, STEP = 50 };

/* Messages for clients that are away, mixed with topics, which stay for a while. */
static void keep_many(struct client *publisher)
{
	char payload[201];

	memset(payload, 'x', sizeof(payload) - 1);
	payload[sizeof(payload) - 1] = '\0';
	for (int i = 1; i <= MESSAGES; i++) {
		say(publisher, "PUBLISH q1 id%d b%d/%d %s", i % 60000 + 1, i % AWAY, i % TOPICS,
		    payload);
		for (int j = i - STEP + 1; i % STEP == 0 && j <= i; j++)
			expect(publisher, "PUBACK %d", j % 60000 + 1);
	}
}

STORY(memory_of_a_burst_goes_back, .timeout = 60,
      .mosquitto = "gives back no more than the end of its heap")
{
	static const char *const names[AWAY] = {"a0", "a1", "a2", "a3"};
	const long long patience = story_limit(20000);
	struct client *publisher, *client;
	char words[32];
	size_t before, burst;
	long long end;
	double cpu;

	if (story_scaled(1) > 1)
		story_skip("a sanitizer's memory is its own");
	start_server("--max-queued 1000000 --stats-interval 0");
	publisher = join("publisher clean");
	before = server_memory();
	for (int i = 0; i < AWAY; i++) {
		client = join_new(names[i]);
		snprintf(words, sizeof(words), "b%d/#:1", i);
		subscribe(client, words);
		leave(client);
	}
	keep_many(publisher);
	burst = server_memory();
	check(burst > before + (30U << 20), "%zu KiB more, no burst", (burst - before) >> 10);
	for (int i = 0; i < AWAY; i++) {
		snprintf(words, sizeof(words), "%s clean", names[i]);
		leave(join(words));
	}
	for (end = story_clock() + patience; server_memory() > before + (16U << 20);
	     story_sleep(100))
		check(story_clock() < end, "%zu KiB more, of %zu", (server_memory() - before) >> 10,
		      (burst - before) >> 10);
	/* That done, it sleeps. */
	story_sleep(1000);
	cpu = server_cpu_seconds();
	story_sleep(5000);
	check(server_cpu_seconds() - cpu < 0.1, "%.2f s of CPU in 5 s of nothing",
	      server_cpu_seconds() - cpu);
	ping(publisher);
}
