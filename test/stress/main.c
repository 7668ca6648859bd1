/* SPDX-License-Identifier: MIT */
/*
 * The stress program: threads do everything that the public interface allows, at random, with
 * resources, pools and futures that come and go, are signalled and stopped, and all that happens is
 * checked against the laws of baton-laws(7). Rounds of the core (round.c) and of the modules
 * (mod_round.c) take turns. `stress --help` has the options.
 */
#include <baton/pool.h>
#include <baton/timer.h>
#include <baton/timers.h>

#include <inttypes.h>
#include <stdio.h>

#include "actor.h"
#include "disturber.h"
#include "mod.h"
#include "options.h"
#include "report.h"
#include "round.h"
#include "site.h"
#include "watch.h"

#define ROUND_NS 1000000000U

int main(int argc, char **argv)
{
	uint64_t operations = 0;
	uint64_t rounds = 0;
	uint64_t number;
	uint64_t begin;
	uint64_t end;

	options_parse(argc, argv);
	number = options.round >= 0 ? (uint64_t)options.round : 0;
	fprintf(stderr, "stress: seed %" PRIu64 "\n", options.seed);
	report_on_crash();
	disturber_install();
	watch_start();
	begin = now_ns();
	end = begin + (uint64_t)(options.seconds * 1e9);
	for (;;) {
		uint64_t now = now_ns();
		uint64_t left = UINT64_MAX / 8;
		uint64_t length = end - now;

		if (options.tasks ? operations >= options.tasks : now >= end)
			break;
		if (options.tasks)
			left = options.tasks - operations;
		report_round(number);
		if (options.tasks || end - now > ROUND_NS)
			length = ROUND_NS;
		if (options.modules_only || (!options.core_only && number % 2))
			operations += mod_round_run(number, left, length);
		else
			operations += round_run(number, left, length);
		rounds++;
		if (options.round < 0)
			number++;
		watch_round(number, operations);
	}
	watch_stop();
	MUST(baton_timers_default_destroy() == 0);
	MUST(baton_pool_default_destroy() == 0);
	printf("%" PRIu64 " operations in %.1f s, %" PRIu64 " rounds, %" PRIu64
	       " resources finalised, %" PRIu64 " signals, %" PRIu64 " stops: no violation\n",
	       operations, (double)(now_ns() - begin) / 1e9, rounds, sites_finalised(),
	       disturber_signals(), disturber_stops());
	return 0;
}
