/* SPDX-License-Identifier: MIT */
/*
 * Chaos: for five minutes schedulers, backends and the server are killed at random, all processes
 * are frozen, the server's clock jumps, and its memory is full. The ledger judges. CRASH=deep: five
 * minutes; otherwise some seconds. SEED=n: the same order of blows again.
 */
#include "world.h"

#include <criterion/criterion.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define HOUR (3600 * (int64_t)BATON_SECOND)
#define SHORT_NS (6 * BATON_SECOND)
#define LONG_NS (300 * BATON_SECOND)
#define END_NS (240 * BATON_SECOND)
#define BLOW_MS 150 /* between two blows, on average */

enum blow { KILL, FREEZE, SERVER, CLOCK, MEMORY, BLOWS };

struct chaos {
	struct world world;
	uint64_t seed;
	uint64_t blow_at;
	uint64_t thaw_at[PROCESSES]; /* 0: it is not frozen */
	uint64_t free_at;            /* the server's memory; 0: it is not full */
	int submitters;              /* begun so far: each has ids of its own */
	unsigned blows[BLOWS];
	volatile int64_t *skew;
	bool calm;
};

static const struct step never = {0};
static const char *const always[] = {"--appendfsync", "always", NULL};
static char skew_path[] = "/tmp/baton-chaos.XXXXXX";

static uint64_t draw(struct chaos *chaos, uint64_t below)
{
	chaos->seed ^= chaos->seed << 13;
	chaos->seed ^= chaos->seed >> 7;
	chaos->seed ^= chaos->seed << 17;
	return chaos->seed % below;
}

/* ---- Blows ---- */

/* A submitter is never killed: its ledger would not say which of its tasks must be over. */
static void kill_one(struct chaos *chaos)
{
	int number = SUBMITTERS + (int)draw(chaos, SCHEDULERS + BACKENDS);

	if (chaos->world.pids[number])
		kill(chaos->world.pids[number], SIGKILL);
}

static void freeze_one(struct chaos *chaos)
{
	int number = (int)draw(chaos, PROCESSES);

	if (!chaos->world.pids[number])
		return;
	kill(chaos->world.pids[number], SIGSTOP);
	chaos->thaw_at[number] = world_clock_ns() + draw(chaos, 2 * FROZEN_NS);
}

static void set_memory(struct chaos *chaos, const char *most)
{
	freeReplyObject(server_ask(&chaos->world.server, "CONFIG SET maxmemory %s", most));
}

static void strike(struct chaos *chaos)
{
	/* The server is killed less often: nothing else happens without it. */
	static const enum blow drawn[] = {KILL,   KILL,   KILL,  KILL,  FREEZE, FREEZE,
	                                  FREEZE, FREEZE, CLOCK, CLOCK, MEMORY, SERVER};
	enum blow blow = drawn[draw(chaos, sizeof(drawn) / sizeof(drawn[0]))];

	chaos->blows[blow]++;
	switch (blow) {
	case KILL:
		kill_one(chaos);
		break;
	case FREEZE:
		freeze_one(chaos);
		break;
	case SERVER:
		server_kill(&chaos->world.server);
		server_restart(&chaos->world.server, always);
		break;
	case CLOCK:
		*chaos->skew = (int64_t)draw(chaos, (uint64_t)(4 * HOUR)) - 2 * HOUR;
		break;
	default:
		set_memory(chaos, "1");
		chaos->free_at = world_clock_ns() + draw(chaos, BATON_SECOND / 2);
	}
}

/* ---- A world that goes on ---- */

static void begin_again(struct chaos *chaos, int number)
{
	struct world *world = &chaos->world;

	chaos->thaw_at[number] = 0;
	world->pids[number] = 0;
	if (number >= SUBMITTERS || !chaos->calm)
		world->pids[number] = world_begin(
			world, number < SUBMITTERS ? -++chaos->submitters : number, &never);
}

static void look_after(struct chaos *chaos)
{
	uint64_t now = world_clock_ns();
	int status;

	for (int i = 0; i < PROCESSES; i++) {
		if (chaos->thaw_at[i] && (chaos->calm || now > chaos->thaw_at[i])) {
			chaos->thaw_at[i] = 0;
			kill(chaos->world.pids[i], SIGCONT);
		}
		if (!chaos->world.pids[i] || waitpid(chaos->world.pids[i], &status, WNOHANG) <= 0)
			continue;
		cr_assert(i < SUBMITTERS ? WIFEXITED(status) && WEXITSTATUS(status) == 0
		                         : WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL,
		          "process %d has failed: %x", i, (unsigned)status);
		begin_again(chaos, i);
	}
	if (chaos->free_at && (chaos->calm || now > chaos->free_at)) {
		chaos->free_at = 0;
		set_memory(chaos, "0");
	}
}

static void live(struct chaos *chaos, uint64_t until)
{
	while (world_clock_ns() < until && !(chaos->calm && world_is_over(&chaos->world))) {
		if (!chaos->calm && world_clock_ns() > chaos->blow_at) {
			strike(chaos);
			chaos->blow_at = world_clock_ns() + draw(chaos, 2 * BLOW_MS) * MS;
		}
		look_after(chaos);
		world_read_reports(&chaos->world);
		world_look_at_limits(&chaos->world);
		usleep(LOOK_US);
	}
}

static void open_skew(struct chaos *chaos)
{
	int fd = mkstemp(skew_path);

	cr_assert(fd >= 0 && ftruncate(fd, sizeof(int64_t)) == 0);
	chaos->skew = mmap(NULL, sizeof(int64_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	cr_assert_neq((void *)(uintptr_t)chaos->skew, MAP_FAILED);
	close(fd);
	server_skew = skew_path;
}

Test(chaos, whatever_happens_each_effect_happens_once, .timeout = 900)
{
	const char *seed = getenv("SEED");
	struct chaos chaos = {.world = {.victim = -1, .struck = true}, .submitters = PROCESSES};

	chaos.seed = seed ? strtoull(seed, NULL, 10) : world_clock_ns();
	cr_log_info("SEED=%llu", (unsigned long long)chaos.seed);
	fprintf(stderr, "SEED=%llu\n", (unsigned long long)chaos.seed);
	open_skew(&chaos);
	world_start(&chaos.world, &never, always);
	live(&chaos, world_clock_ns() + (getenv("CRASH") ? LONG_NS : SHORT_NS));
	chaos.calm = true;
	live(&chaos, world_clock_ns() + END_NS);
	cr_assert(world_is_over(&chaos.world), "not over: %d accepted, %d over",
	          ledger_judge(chaos.world.ledger, "SELECT count(*) FROM accepted"),
	          ledger_judge(chaos.world.ledger, "SELECT count(*) FROM over"));
	world_read_reports(&chaos.world);
	world_read_effects(&chaos.world);
	fprintf(stderr, "%d tasks; killed %u, frozen %u, server killed %u, clock %u, memory %u\n",
	        ledger_judge(chaos.world.ledger, "SELECT count(*) FROM effect"), chaos.blows[KILL],
	        chaos.blows[FREEZE], chaos.blows[SERVER], chaos.blows[CLOCK], chaos.blows[MEMORY]);
	cr_assert_geq(ledger_judge(chaos.world.ledger, "SELECT count(*) FROM effect"),
	              SUBMITTERS * TASKS);
	world_judge(&chaos.world, true);
	world_stop(&chaos.world);
	unlink(skew_path);
}
