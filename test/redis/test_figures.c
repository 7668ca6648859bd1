/* SPDX-License-Identifier: MIT */
/* baton-queue, which prints the figures of a queue. */
#include "pair.h"
#include "programs.h"

#include <criterion/criterion.h>

#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define FOREIGN 65

TestSuite(figures, .init = pair_start, .fini = pair_stop, .timeout = 60);

static const char *printed(const char *form)
{
	struct program self = start("baton-queue", "--queue", "test", form, NULL);
	int status = await_end(&self);

	cr_assert_eq(status, 0, "%d: %s", status, contents(self.err));
	return contents(self.out);
}

static void has(const char *text, const char *part)
{
	cr_assert(strstr(text, part), "no '%s' in: %s", part, text);
}

Test(figures, the_table_names_what_is_wrong)
{
	const char *text;

	submit_kind("a", 2);
	submit_kind("b", BATON_RULES_DEFAULT);
	text = printed(NULL);
	has(text, "queue            test\nwaiting          2  slow 1  default 1\n");
	has(text, "\nleader epoch     0  nobody leads\n");
	has(text, "\nreaders          0\n");
	settle(scheduler);
	server_text(&server, "HSET {test}:readers late 0-0");
	text = printed(NULL);
	cr_assert_null(strstr(text, "nobody leads"));
	has(text, "\nrunning          2\n");
	has(text, "\nreaders          1  slowest: late\n");
	server_text(&server, "HSET {test}:readers late 1-0 %s 0-0", "a\"\nb");
	has(printed(NULL), "\nreaders          2  slowest: ?\n");
}

static bool fits(const char *text, const char *pattern)
{
	regex_t compiled;
	bool fit;

	cr_assert_eq(regcomp(&compiled, pattern, REG_EXTENDED | REG_NOSUB), 0);
	fit = regexec(&compiled, text, 0, NULL, 0) == 0;
	regfree(&compiled);
	return fit;
}

#define NAME "[a-zA-Z_:][a-zA-Z0-9_:]*"
#define LABEL "[a-zA-Z_][a-zA-Z0-9_]*=\"([^\"\\\\]|\\\\[\\\\\"n])*\""

/* The name of a line's metric. */
static void read_name(const char *line, char name[80])
{
	if (sscanf(line, "# %*s %79s", name) != 1)
		snprintf(name, 80, "%.*s", (int)strcspn(line, "{ "), line);
}

/*
 * The text format, version 0.0.4: a metric's lines follow each other, and begin with HELP and TYPE;
 * a sample is a name, labels, a number; each sample is there once; the last line has an end. The
 * name of what only grows ends with _total.
 */
static int read_metrics(char *text)
{
	char seen[4096] = " ";
	char last[80] = "";
	char type[16] = "";
	char *line = text;
	int samples = 0;

	cr_assert_eq(text[strlen(text) - 1], '\n');
	for (char *end; (end = strchr(line, '\n')); line = end + 1) {
		char name[80], word[84];

		*end = '\0';
		read_name(line, name);
		if (strcmp(name, last) != 0) {
			cr_assert(fits(line, "^# HELP " NAME " [^\\\\]+$"), "%s", line);
			snprintf(word, sizeof(word), " %s ", name);
			cr_assert_null(strstr(seen, word), "%s comes twice", name);
			strcat(seen, word);
			snprintf(last, sizeof(last), "%s", name);
			type[0] = '\0';
		} else if (line[0] == '#') {
			cr_assert(fits(line, "^# TYPE " NAME " (gauge|counter)$"), "%s", line);
			cr_assert_str_eq(type, "", "one TYPE, before the samples");
			sscanf(line, "# TYPE %*s %15s", type);
			cr_assert_eq(strcmp(type, "counter") == 0, fits(name, "_total$"), "%s",
			             name);
		} else {
			cr_assert(fits(line, "^" NAME "\\{" LABEL "(," LABEL ")*\\} "
			                     "[0-9]+(\\.[0-9]+)?$"),
			          "%s", line);
			cr_assert_str_neq(type, "", "%s", line);
			samples++;
		}
	}
	cr_assert_eq(*line, '\0');
	return samples;
}

Test(figures, the_text_for_prometheus_follows_its_grammar)
{
	char text[8192];

	make_queue();
	snprintf(text, sizeof(text), "%s", printed("--prometheus"));
	has(text, "\nbaton_queue_waiting_tasks{queue=\"test\",class=\"medium\"} 2\n");
	has(text, "\nbaton_queue_waiting_tasks{queue=\"test\",class=\"interactive\"} 10\n");
	has(text, "# TYPE baton_queue_ended_tasks_total counter\n"
	          "baton_queue_ended_tasks_total{queue=\"test\",how=\"done\"} 0\n");
	has(text, "\nbaton_queue_submitted_tasks_total{queue=\"test\"} 28\n");
	has(text, "\nbaton_queue_lease_seconds{queue=\"test\"} 2.400000\n");
	cr_assert_eq(read_metrics(text), 3 + 2 + 19);
}

/* `text` begins with a value of JSON, as far as the program has any: what follows it. */
static const char *after_value(const char *text)
{
	const char *at = text;

	if (*at == '"')
		return strchr(at + 1, '"') + 1;
	if (*at != '{')
		return text + strspn(text, "0123456789.");
	do {
		at++;
		cr_assert_eq(*at, '"', "a name: %s", at);
		at = strchr(at + 1, '"') + 1;
		cr_assert_eq(strncmp(at, ": ", 2), 0, "%s", at);
		cr_assert_neq(after_value(at + 2), at + 2, "a value: %s", at);
		at = after_value(at + 2);
	} while (*at == ',' && *++at == ' ');
	cr_assert_eq(*at, '}', "%s", at);
	return at + 1;
}

Test(figures, the_json_is_json)
{
	const char *text;

	make_queue();
	text = printed("--json");
	cr_assert_str_eq(after_value(text), "\n");
	has(text, "{\"queue\": \"test\", \"waiting\": 25, \"waiting_by_class\": {\"fast\": 1, "
	          "\"medium\": 2, \"slow\": 3, \"default\": 9, \"interactive\": 10}");
	has(text, "\"lease_seconds\": 2.400000, ");
	has(text, "\"effects_max\": 0}");
}

Test(figures, the_program_ends_with_the_statuses_that_its_help_tells)
{
	struct program self = start("baton-queue", "--no-such-option", NULL);
	char command[256];

	fails(&self, USAGE, "Usage: baton-queue");
	self = start("baton-queue", "more", NULL);
	fails(&self, USAGE, "Usage: baton-queue");
	self = start_nowhere("baton-queue", NULL);
	fails(&self, NO_REDIS, "no Redis at /no/redis");
	server_text(&server, "SET {test}:queue foreign");
	self = start("baton-queue", "--queue", "test", NULL);
	fails(&self, FOREIGN, "{test}:queue holds a string");
	cr_assert_str_eq(contents(self.out), "");
	server_text(&server, "DEL {test}:queue");
	self = start("baton-queue", "--help", NULL);
	cr_assert_eq(await_end(&self), 0);
	has(contents(self.out), "65: a key of the queue's name holds something else");
	snprintf(command, sizeof(command),
	         "${QUEUE_PROGRAMS:-build/examples/queue}/baton-queue --socket %s >/dev/full 2>&1",
	         server.socket);
	cr_assert_eq(WEXITSTATUS(system(command)), OUTPUT_MISSING);
}
