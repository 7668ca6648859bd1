/* SPDX-License-Identifier: MIT */
/* A round from beginning to end. */
#include "round.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "actor.h"
#include "cell.h"
#include "deed.h"
#include "disturber.h"
#include "engine.h"
#include "note.h"
#include "options.h"
#include "random.h"
#include "report.h"
#include "share.h"
#include "site.h"
#include "verdict.h"
#include "watch.h"

#define CLIENTS_MAX 256
/* A round's notes are kept in memory: so many tickets at most. */
#define TICKETS_MAX 800000

static atomic_bool leave;

static void *client_main(void *arg)
{
	uint64_t *random = arg;
	struct actor *self = actor_self();

	self->client = true;
	self->random = *random;
	while (!atomic_load_explicit(&leave, memory_order_relaxed)) {
		deed_do();
		if (random_one_in(&self->random, 256))
			usleep(random_below(&self->random, 500));
		if (random_one_in(&self->random, 16))
			deed_collect(false);
	}
	deed_collect(true);
	return NULL;
}

static void run_clients(uint64_t *random, uint64_t operations_max, uint64_t duration_ns)
{
	static const uint32_t counts[] = {2, 2, 3, 4, 6, 8, 16, 32, 64};
	uint32_t count = counts[random_below(random, 9)];
	uint64_t randoms[CLIENTS_MAX];
	pthread_t clients[CLIENTS_MAX];
	uint64_t first_ticket = ticket_now();
	uint64_t first_ns = now_ns();

	if (options.threads)
		count = options.threads;
	atomic_store(&leave, false);
	for (uint32_t i = 0; i < count; i++) {
		randoms[i] = random_stream(*random, i + 1);
		MUST(pthread_create(&clients[i], NULL, client_main, &randoms[i]) == 0);
	}
	/* An operation draws about three tickets. */
	while (now_ns() - first_ns < duration_ns && ticket_now() - first_ticket < TICKETS_MAX &&
	       ticket_now() - first_ticket < operations_max * 3)
		usleep(500);
	atomic_store(&leave, true);
	for (uint32_t i = 0; i < count; i++)
		MUST(pthread_join(clients[i], NULL) == 0);
}

uint64_t round_run(uint64_t number, uint64_t operations_max, uint64_t duration_ns)
{
	static const uint32_t place_counts[] = {4, 30, 200, 2000};
	uint64_t random = random_stream(options.seed, number + 1);
	uint32_t place_count = place_counts[random_below(&random, 4)];
	uint64_t operations;

	actor_self()->client = true;
	actor_self()->random = random_stream(random, 5);
	deeds_weigh(&random);
	engines_start(&random, 1 + random_below(&random, ENGINES_MAX));
	share_start();
	sites_start(options.places ? options.places : place_count);
	disturber_start(&random);
	run_clients(&random, operations_max, duration_ns);
	do {
		sites_stop();
		deed_collect(true);
		usleep(300);
	} while (sites_live() > 0);
	engines_end();
	share_stop();
	disturber_stop();
	sites_end();
	watch_pause(1);
	deed_collect_everybodys();
	deed_all_told();
	operations = verdict();
	cell_check_all();
	note_forget_all();
	actor_recycle();
	watch_pause(0);
	return operations;
}
