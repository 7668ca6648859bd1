/* SPDX-License-Identifier: MIT */
/*
 * The crash matrix: each process of a world is killed, or frozen for longer than its lease, at each
 * step once; CRASH=deep: in several places of its life. And its server is killed.
 */
#include "world.h"

#include <criterion/criterion.h>

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Cases ---- */

#define SUBMITTER 1
#define SCHEDULER SUBMITTERS
#define BACKEND (SUBMITTERS + SCHEDULERS)

static const struct {
	int victim;
	const char *function;
	int count;
} functions[] = {
	{SUBMITTER, "submit", 2},   {SUBMITTER, "forget", 2}, {SCHEDULER, "lead", 1},
	{SCHEDULER, "admit", 2},    {SCHEDULER, "sweep", 2},  {BACKEND, "renew", 2},
	{BACKEND, "take", 2},       {BACKEND, "effect", 2},   {BACKEND, "finish", 2},
	{BACKEND + 1, "finish", 2}, /* with the effect */
};

#define CASES (int)(sizeof(functions) / sizeof(functions[0]) * 6)

#define DEEP 4

/* A scheduler that is not disturbed asks to lead once. */
static bool leads_once(int number)
{
	return strcmp(functions[number / 6].function, "lead") == 0;
}

static void strike_one(int number, int more)
{
	struct world world = {.victim = functions[number / 6].victim};
	struct step step = {
		.function = functions[number / 6].function,
		.phase = (enum phase)(number % 3),
		.count = functions[number / 6].count + (leads_once(number) ? 0 : more),
		.signal = number % 6 < 3 ? SIGKILL : SIGSTOP,
	};

	fprintf(stderr, "%s %s, phase %d\n", step.signal == SIGKILL ? "killed at" : "frozen at",
	        step.function, (int)step.phase);
	world_start(&world, &step, (const char *const[]){"--appendfsync", "always", NULL});
	world_run(&world, NULL);
	world_judge(&world, true);
	world_stop(&world);
}

/* Each fourth case from `part` on: four parts run side by side. */
static void strike_part(int part)
{
	bool deep = getenv("CRASH") && strcmp(getenv("CRASH"), "deep") == 0;

	for (int number = part; number < CASES; number += 4)
		for (int more = 0; more < (deep ? DEEP : 1); more++)
			strike_one(number, more);
}

TestSuite(crash, .timeout = 300);

Test(crash, the_first_quarter_of_all_steps)
{
	strike_part(0);
}

Test(crash, the_second_quarter_of_all_steps)
{
	strike_part(1);
}

Test(crash, the_third_quarter_of_all_steps)
{
	strike_part(2);
}

Test(crash, the_last_quarter_of_all_steps)
{
	strike_part(3);
}

/* ---- The server ---- */

static const char *const always[] = {"--appendfsync", "always", NULL};

static void kill_server(struct world *world)
{
	server_kill(&world->server);
	server_restart(&world->server, always);
	world->struck = true;
}

Test(crash, a_server_that_writes_always_has_all_that_it_accepted)
{
	struct world world = {.victim = -1};
	struct step never = {0};

	world_start(&world, &never, always);
	world_run(&world, kill_server);
	world_judge(&world, true);
	world_stop(&world);
}

/* Takes the last changes from the file, as if they had never reached the disk. */
static void lose_tail(struct world *world)
{
	char path[400];
	char directory[96];
	struct dirent *entry;
	struct stat stat_;
	DIR *files;

	server_kill(&world->server);
	snprintf(directory, sizeof(directory), "%s/appendonlydir", world->server.directory);
	files = opendir(directory);
	cr_assert_not_null(files);
	while ((entry = readdir(files))) {
		snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
		if (strstr(entry->d_name, ".incr.aof") && stat(path, &stat_) == 0)
			cr_assert_eq(truncate(path, stat_.st_size - 3000), 0);
	}
	closedir(files);
	server_restart(&world->server, NULL);
	world->struck = true;
}

Test(crash, what_a_server_lost_with_its_last_second_is_submitted_again)
{
	struct world world = {.victim = -1};
	struct step never = {0};

	world_start(&world, &never, NULL);
	world_run(&world, lose_tail);
	world_judge(&world, false);
	world_stop(&world);
}
