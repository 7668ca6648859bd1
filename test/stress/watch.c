/* SPDX-License-Identifier: MIT */
/* The thread that watches whether the round still makes progress, and reports if it does not. */
#include "watch.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "actor.h"
#include "disturber.h"
#include "engine.h"
#include "mod.h"
#include "options.h"
#include "report.h"
#include "site.h"

#define LOOK_US 100000
#define LINE_EVERY 50 /* looks, when stderr is no terminal */

/* ThreadSanitizer's, in its runs only: what this thread reads in between is no race. */
void AnnotateIgnoreReadsBegin(const char *file, int line) __attribute__((weak));
void AnnotateIgnoreReadsEnd(const char *file, int line) __attribute__((weak));

static pthread_t thread;
static atomic_bool leave;
static atomic_int paused;
static _Atomic uint64_t round_number;
static _Atomic uint64_t operations;

void watch_round(uint64_t number, uint64_t done)
{
	atomic_store(&round_number, number);
	atomic_store(&operations, done);
}

void watch_pause(int now)
{
	atomic_store(&paused, now);
}

static uint64_t progress(void)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < actor_count(); i++)
		sum += atomic_load_explicit(&actor_at(i)->deeds, memory_order_relaxed);
	return sum;
}

static void print_waiting(uint64_t now)
{
	uint32_t resource = 0;
	uint64_t longest = 0;

	for (uint32_t i = 0; i < actor_count(); i++) {
		struct actor *actor = actor_at(i);
		uint64_t since = atomic_load(&actor->since_ns);

		if (!atomic_load(&actor->tid) && !actor->stray_count)
			continue;
		fprintf(stderr,
		        "thread %u (tid %d): %u tasks deep, %u futures open, %u awaits to end",
		        actor->number, atomic_load(&actor->tid), actor->depth, actor->open_count,
		        actor->stray_count);
		if (since)
			fprintf(stderr, "; in %s, resource %" PRIu32 ", for %.1f s",
			        atomic_load(&actor->doing), atomic_load(&actor->doing_resource),
			        (double)(now - since) / 1e9);
		fputc('\n', stderr);
		if (since && now - since > longest) {
			longest = now - since;
			resource = atomic_load(&actor->doing_resource);
		}
	}
	fprintf(stderr, "%" PRIu32 " resources live\n", sites_live());
	engines_print();
	mod_print();
	if (resource)
		(void)sites_print();
	else
		resource = sites_print();
	if (resource)
		report_history(resource, ticket_now());
	report_open();
}

/* Somebody has been in one call for too long. */
static const struct actor *stuck(uint64_t now)
{
	for (uint32_t i = 0; i < actor_count(); i++) {
		const struct actor *actor = actor_at(i);
		uint64_t since = atomic_load_explicit(&actor->since_ns, memory_order_relaxed);

		if (atomic_load(&actor->tid) && since && now > since &&
		    now - since > (uint64_t)options.patience * 1000000000U)
			return actor;
	}
	return NULL;
}

static void print_line(bool terminal)
{
	fprintf(stderr,
	        "%sround %" PRIu64 ": %" PRIu64 " operations, %" PRIu64 " finalised, %" PRIu64
	        " signals, %" PRIu64 " stops%s",
	        terminal ? "\r" : "", atomic_load(&round_number),
	        atomic_load(&operations) + progress(), sites_finalised(), disturber_signals(),
	        disturber_stops(), terminal ? " " : "\n");
}

static void *watch_main(void *arg)
{
	bool terminal = isatty(STDERR_FILENO);
	uint64_t moved_ns = now_ns();
	uint64_t seen = 0;
	sigset_t set;

	sigfillset(&set);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	for (uint32_t looks = 1; !atomic_load(&leave); looks++) {
		uint64_t now = now_ns();
		uint64_t sum = progress();
		const struct actor *actor;

		if (sum != seen || atomic_load(&paused))
			moved_ns = now;
		seen = sum;
		actor = stuck(now);
		if (actor || now - moved_ns > (uint64_t)options.patience * 1000000000U) {
			fprintf(stderr, "\nNOTHING MOVES: %s\n",
			        actor ? "a thread is in one call for too long"
			              : "no thread has done anything");
			if (AnnotateIgnoreReadsBegin)
				AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
			print_waiting(now);
			if (AnnotateIgnoreReadsEnd)
				AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
			report(NULL, NULL, "L5: somebody waits for ever");
		}
		if (!options.quiet && (terminal || looks % LINE_EVERY == 0))
			print_line(terminal);
		usleep(LOOK_US);
	}
	if (!options.quiet && terminal)
		fputc('\n', stderr);
	return NULL;
}

void watch_start(void)
{
	MUST(pthread_create(&thread, NULL, watch_main, NULL) == 0);
}

void watch_stop(void)
{
	atomic_store(&leave, true);
	MUST(pthread_join(thread, NULL) == 0);
}
