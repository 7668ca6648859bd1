/* SPDX-License-Identifier: MIT */
/* A publisher and a subscriber who behave; see pair.h. */
#include "pair.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "client.h"
#include "server.h"

#define PAIR_ALONE 300     /* messages before the attack */
#define PAIR_PACE 2        /* milliseconds between two */
#define PAIR_OPEN 50       /* messages at most that have not come yet */
#define PAIR_TIMES 20      /* how much longer a message may take */
#define PAIR_SLACK 2000000 /* microseconds more: programs beside this one take the CPUs */
#define PAIR_COUNTED 20000 /* messages at most */

enum phase { ALONE, ATTACKED, OVER };

/* The two processes share it. */
struct pair {
	_Atomic(enum phase) phase;
	_Atomic unsigned int sent, alone; /* messages; those before the attack */
	_Atomic size_t memory_first, memory_most;
	char failure[256];
	long long took[PAIR_COUNTED]; /* microseconds */
	struct client *publisher, *subscriber;
	pid_t process;
};

static long long microseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000LL + now.tv_nsec / 1000;
}

static void pair_note_memory(struct pair *pair)
{
	const size_t now = server_memory();

	if (now > pair->memory_most)
		pair->memory_most = now;
}

/* Takes what has come, or what comes within the time. False: nothing. */
static bool pair_take(struct pair *pair, const long long *began, unsigned int *came,
                      long long milliseconds)
{
	const char *got = client_next(pair->subscriber, milliseconds);
	unsigned int id, number;

	if (got == NULL && pair->subscriber->ended)
		snprintf(pair->failure, sizeof(pair->failure), "the subscriber was disconnected");
	if (got == NULL)
		return false;
	if (sscanf(got, "PUBLISH q1 id%u pair %u", &id, &number) != 2 || number != *came) {
		snprintf(pair->failure, sizeof(pair->failure), "expected message %u, got %s", *came,
		         got);
		return false;
	}
	client_say(pair->subscriber, "PUBACK %u", id);
	pair->took[number] = microseconds() - began[number];
	++*came;
	return true;
}

/* Each of the publisher's messages is acknowledged, in order. */
static void pair_take_answers(struct pair *pair, unsigned int *answered, long long milliseconds)
{
	const char *got;
	unsigned int id;

	while ((got = client_next(pair->publisher, milliseconds)) != NULL) {
		if (sscanf(got, "PUBACK %u", &id) != 1 || id != *answered % 60000 + 1) {
			snprintf(pair->failure, sizeof(pair->failure),
			         "expected PUBACK %u, got %s", *answered % 60000 + 1, got);
			return;
		}
		if (++*answered == pair->sent && milliseconds > 0)
			return;
	}
	if (pair->publisher->ended)
		snprintf(pair->failure, sizeof(pair->failure), "the publisher was disconnected");
}

/* The process of the pair. */
static void pair_run(struct pair *pair)
{
	static long long began[PAIR_COUNTED];
	unsigned int sent = 0, came = 0, answered = 0;
	long long next = story_clock();

	while (pair->phase != OVER && sent < PAIR_COUNTED && pair->failure[0] == '\0') {
		if (sent - came < PAIR_OPEN && story_clock() >= next) {
			next = story_clock() + PAIR_PACE;
			began[sent] = microseconds();
			client_say(pair->publisher, "PUBLISH q1 id%u pair %u", sent % 60000 + 1,
			           sent);
			pair->sent = ++sent;
		}
		(void)pair_take(pair, began, &came, PAIR_PACE);
		pair_take_answers(pair, &answered, 0);
		if (sent % 10 == 0)
			pair_note_memory(pair);
	}
	while (came < sent && pair->failure[0] == '\0')
		if (!pair_take(pair, began, &came, story_limit(CLIENT_PATIENCE_MS)) &&
		    pair->failure[0] == '\0')
			snprintf(pair->failure, sizeof(pair->failure), "%u of %u have come", came,
			         sent);
	if (answered < sent && pair->failure[0] == '\0')
		pair_take_answers(pair, &answered, story_limit(CLIENT_PATIENCE_MS));
	if (answered < sent && pair->failure[0] == '\0')
		snprintf(pair->failure, sizeof(pair->failure), "%u of %u are acknowledged",
		         answered, sent);
}

struct pair *pair_start(const char *more)
{
	struct pair *pair = mmap(NULL, sizeof(*pair), PROT_READ | PROT_WRITE,
	                         MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	char words[128];

	check(pair != MAP_FAILED, "no memory");
	snprintf(words, sizeof(words), "pair-publisher %s", more);
	pair->publisher = client_join(words);
	snprintf(words, sizeof(words), "pair-subscriber %s", more);
	pair->subscriber = client_join(words);
	client_subscribe(pair->subscriber, "pair:1");
	pair->memory_first = pair->memory_most = server_memory();
	pair->process = fork();
	check(pair->process >= 0, "no process");
	if (pair->process == 0) {
		pair_run(pair);
		_exit(0);
	}
	while (pair->sent < PAIR_ALONE && pair->failure[0] == '\0' &&
	       kill(pair->process, 0) == 0)
		story_sleep(10);
	return pair;
}

void pair_attack(struct pair *pair)
{
	pair->memory_first = pair->memory_most = server_memory();
	pair->alone = pair->sent;
	pair->phase = ATTACKED;
}

void pair_attack_by(struct pair *pair, void (*attack)(unsigned int number), unsigned int processes,
                    long long milliseconds)
{
	pid_t attackers[16];

	pair_attack(pair);
	check(processes <= 16, "too many processes");
	for (unsigned int i = 0; i < processes; i++) {
		attackers[i] = fork();
		check(attackers[i] >= 0, "no process");
		if (attackers[i] == 0) {
			attack(i);
			_exit(0);
		}
	}
	story_sleep(milliseconds);
	for (unsigned int i = 0; i < processes; i++) {
		int status;

		kill(attackers[i], SIGKILL);
		waitpid(attackers[i], &status, 0);
		check(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL,
		      "an attacker has ended before the time: %d", status);
	}
}

static int compare_times(const void *a, const void *b)
{
	const long long left = *(const long long *)a, right = *(const long long *)b;

	return (left > right) - (left < right);
}

/* p99 of these. */
static long long slow_one(long long *times, unsigned int count)
{
	qsort(times, count, sizeof(*times), compare_times);
	return count > 0 ? times[(count - 1) * 99 / 100] : 0;
}

void pair_end(struct pair *pair, size_t memory)
{
	const unsigned int alone = pair->alone, beside = pair->sent - alone;
	long long before, meanwhile, most;
	int status;

	pair_note_memory(pair);
	pair->phase = OVER;
	waitpid(pair->process, &status, 0);
	if (pair->failure[0] != '\0' || status != 0)
		story_fail("the pair: %s (%d)", pair->failure, status);
	before = slow_one(pair->took, alone);
	meanwhile = slow_one(pair->took + alone, beside);
	most = PAIR_TIMES * before + story_scaled(PAIR_SLACK);
	if (getenv("E2E_TRACE") != NULL)
		fprintf(stderr, "pair: %u and %u messages, p99 %lld and %lld us, %zu KiB more\n",
		        alone, beside, before, meanwhile,
		        (pair->memory_most - pair->memory_first) >> 10);
	if (meanwhile > most)
		story_fail("the pair: p99 %lld us, %lld before", meanwhile, before);
	if (pair->memory_most > pair->memory_first + (size_t)story_scaled((long long)memory))
		story_fail("%zu KiB more", (pair->memory_most - pair->memory_first) >> 10);
}
