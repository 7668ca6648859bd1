/* SPDX-License-Identifier: MIT */
/* $SYS: figures by the names of mosquitto, and what they count. */
#include "client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server.h"

/* Figures that come from both brokers; `least` to `most`: after the messages of the story. */
static struct figure {
	const char *name;
	double least;
	double most;
	bool seen;
} figures[] = {
	{"bytes/received", 200, 1e6, false},
	{"bytes/sent", 100, 1e6, false},
	{"clients/connected", 1, 2, false},
	{"clients/disconnected", 1, 1, false},
	{"clients/expired", 0, 0, false},
	{"clients/maximum", 2, 4, false},
	{"clients/total", 2, 3, false},
	/* 11 PUBLISHes, 3 CONNECTs, a SUBSCRIBE or two, DISCONNECTs. */
	{"messages/received", 15, 60, false},
	{"messages/sent", 14, 1000, false},
	{"publish/messages/received", 10, 11, false},
	{"publish/messages/sent", 1, 1000, false},
	{"publish/messages/dropped", 0, 0, false},
	{"publish/bytes/received", 55, 55, false},
	{"publish/bytes/sent", 1, 1e6, false},
	{"retained messages/count", 1, 1000, false},
	{"store/messages/bytes", 5, 1e6, false},
	{"subscriptions/count", 2, 3, false},
	{"uptime", 1, 100, false},
	{"load/bytes/received/1min", 100, 1e6, false},
	{"load/bytes/sent/5min", 10, 1e6, false},
	{"load/connections/1min", 1, 4, false},
	{"load/messages/received/15min", 0.9, 60, false},
	{"load/messages/sent/1min", 10, 1e4, false},
	{"load/publish/dropped/1min", 0, 0, false},
	{"load/publish/received/1min", 5, 11.1, false}, /* all in the first minute */
	{"load/publish/received/5min", 1, 2.25, false},
	{"load/publish/received/15min", 0.3, 0.75, false},
	{"load/publish/sent/1min", 1, 1e5, false},
	{"load/sockets/1min", 1, 5, false},
};

#define FIGURES (sizeof(figures) / sizeof(figures[0]))

/* Notes a figure that is as it should be: its first values may be of a moment before. */
static void note(const char *got)
{
	const char *name = strstr(got, "$SYS/broker/");

	for (size_t i = 0; name != NULL && i < FIGURES; i++) {
		const size_t size = strlen(figures[i].name);
		const char *text = name + strlen("$SYS/broker/");

		if (strncmp(text, figures[i].name, size) == 0 && text[size] == ' ') {
			const double value = strtod(text + size, NULL);

			/* An average that has risen too far would come down again. */
			check(value <= figures[i].most || strncmp(text, "load/publish/", 13) != 0,
			      "got %s", got);
			figures[i].seen = figures[i].seen ||
			                  (value >= figures[i].least && value <= figures[i].most);
		}
	}
}

static const struct figure *unseen(void)
{
	for (size_t i = 0; i < FIGURES; i++)
		if (!figures[i].seen)
			return &figures[i];
	return NULL;
}

STORY(figures_have_the_names_of_mosquitto, .timeout = 40)
{
	const long long end = story_clock() + story_limit(20000);
	struct client *client;

	start_server(server_is_mosquitto() ? "" : "--stats-interval 1");
	client = join("away");
	subscribe(client, "a:1");
	leave(client);
	client = join("writer clean");
	for (int i = 0; i < 10; i++)
		publish(client, 1, i == 0 ? "a 12345" : "nobody 12345");
	say(client, "PUBLISH retain q0 kept 12345");
	ping(client);
	client = join("reader clean");
	subscribe(client, "^$SYS/broker/#:0");
	while (unseen() != NULL) {
		const char *got = client_next(client, story_limit(CLIENT_PATIENCE_MS));

		check(got != NULL, "nothing comes; %s is missing", unseen()->name);
		note(got);
		check(story_clock() < end, "%s is missing, or has another value", unseen()->name);
	}
}

/* What comes by a topic of its own is in README.md. */
STORY(figures_are_in_the_readme, .timeout = 20, .mosquitto = "has other topics")
{
	static char readme[200000];
	FILE *file = fopen("examples/broker/README.md", "r");
	struct client *client;
	unsigned int seen = 0;

	if (file == NULL)
		story_skip("examples/broker/README.md is not here");
	readme[fread(readme, 1, sizeof(readme) - 1, file)] = '\0';
	fclose(file);
	start_server("--stats-interval 1 --stats");
	client = join("reader clean");
	subscribe(client, "^$SYS/broker/#:0");
	for (const char *got; (got = client_next(client, story_limit(1500))) != NULL && seen < 140;
	     seen++) {
		char name[128], *end;
		const char *at = strstr(got, "$SYS/broker/");

		check(at != NULL, "got %s", got);
		snprintf(name, sizeof(name), "`%s", at + strlen("$SYS/broker/"));
		if (strncmp(name, "`load/", 6) == 0)
			strcpy(strrchr(name, '/'), "/+`");
		else if (strncmp(name, "`topics/hottest/", 16) == 0)
			strcpy(name, "`topics/hottest/1` to `5`");
		else if (strncmp(name, "`baton/", 7) == 0 &&
		         strncmp(name, "`baton/pool/", 12) != 0 &&
		         strncmp(name, "`baton/visits", 13) != 0)
			snprintf(name, sizeof(name), "`baton/KIND/%s", strrchr(at, '/') + 1);
		end = strncmp(name, "`uptime ", 8) == 0 || strncmp(name, "`version ", 9) == 0
		              ? strchr(name, ' ')
		              : strrchr(name, ' ');
		if (end != NULL && strstr(name, "to `5`") == NULL)
			strcpy(end, "`");
		check(strstr(readme, name) != NULL, "%s is not in README.md: %s", name, got);
	}
	check(seen >= 120, "%u topics", seen);
}
