/* SPDX-License-Identifier: MIT */
/*
 * Watches of descriptors. Some are everybody's: started, stopped and made ready by every thread.
 * Others belong to one client, which waits for a run, stops the watch, and spoils its memory as
 * soon as the header allows.
 *
 * Checked: a watch's function never overlaps itself or others of its resource; a watch that was
 * stopped is not entered once its memory is the client's; a watch that is started on a descriptor
 * that is ready runs.
 */
#include "mod.h"

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "actor.h"
#include "cell.h"
#include "random.h"
#include "report.h"
#include "sabotage.h"

#define WATCH_MAGIC 0x3a7c4U
#define WATCHES 6
#define PLACES 3

struct watch {
	struct baton_io io;
	struct baton_future ran; /* private: of the first run */
	uint32_t magic;
	uint32_t place;
	bool private;
	atomic_bool told;
	_Atomic uint64_t runs;
};

static struct {
	struct baton_resource resource;
	struct baton_resource_config config;
	atomic_int inside;
} places[PLACES];
static struct watch watches[WATCHES];
static int fds[WATCHES];
static bool ended;

static int run(struct baton_io *io)
{
	struct watch *watch = baton_container_of(io, struct watch, io);
	uint64_t *random = &actor_self()->random;

	if (watch->magic != WATCH_MAGIC)
		report(NULL, NULL, "a watch runs whose memory was given back");
	if (ended)
		report(NULL, NULL, "a watch runs after all were stopped");
	if (atomic_fetch_add(&places[watch->place].inside, 1))
		report(NULL, NULL, "two watches of a resource run at once");
	atomic_fetch_add(&watch->runs, 1);
	if (!watch->private && random_one_in(random, 4))
		BATON_IGNORE(baton_io_stop(io).met);
	if (!sabotage_now(BREAK_MOD_IO))
		atomic_fetch_sub(&places[watch->place].inside, 1);
	if (watch->private && !atomic_exchange(&watch->told, true))
		(void)baton_future_complete(&watch->ran, 0, NULL);
	return 0;
}

static void dropped(struct baton_io *io, int error)
{
	report(NULL, NULL, "a watch's run is dropped: %d", error);
}

static void make(struct watch *watch, uint32_t place, bool private)
{
	memset(watch, 0, sizeof(*watch));
	watch->magic = WATCH_MAGIC;
	watch->place = place;
	watch->private = private;
	baton_promise_init(&watch->ran);
	baton_io_init(&watch->io, &places[place].resource, run);
	baton_io_set_dropped(&watch->io, dropped);
}

void watches_start(uint64_t *random, struct baton_executor *executor)
{
	ended = false;
	memset(places, 0, sizeof(places));
	for (uint32_t i = 0; i < PLACES; i++) {
		places[i].config =
			(struct baton_resource_config){.capture_max = BATON_CAPTURE_NONE,
		                                       .executor = executor,
		                                       .quantum = 1 + random_below(random, 5)};
		baton_resource_init(&places[i].resource, &places[i].config);
	}
	for (uint32_t i = 0; i < WATCHES; i++) {
		make(&watches[i], i % PLACES, false);
		MUST((fds[i] = eventfd(random_below(random, 2), EFD_NONBLOCK | EFD_CLOEXEC)) >= 0);
	}
}

/* No other thread uses the watches any more. */
void watches_end(void)
{
	for (uint32_t i = 0; i < WATCHES; i++)
		BATON_IGNORE(baton_io_stop(&watches[i].io).met);
	actor_busy("the end of the watches' resources", 0);
	for (uint32_t i = 0; i < PLACES; i++) {
		MUST(baton_resource_close(&places[i].resource) == 0);
		MUST(baton_resource_await(&places[i].resource) == 0);
	}
	ended = true;
	MUST(baton_io_destroy() == 0);
	actor_idle();
	for (uint32_t i = 0; i < WATCHES; i++)
		MUST(close(fds[i]) == 0);
}

static unsigned how(uint64_t *random)
{
	return (random_one_in(random, 2) ? BATON_IO_READ : BATON_IO_WRITE) |
	       (random_one_in(random, 2) ? BATON_IO_AGAIN : 0U);
}

/* Anybody's. */
void watch_shared(void)
{
	uint64_t *random = &actor_self()->random;
	uint32_t which = random_below(random, WATCHES);
	uint64_t value = 1;
	int error;

	switch (random_below(random, 5)) {
	case 0:
		BATON_IGNORE(baton_io_stop(&watches[which].io).met);
		break;
	case 1:
		(void)!write(fds[which], &value, sizeof(value));
		break;
	case 2:
		(void)!read(fds[which], &value, sizeof(value));
		break;
	default:
		error = baton_io_start(&watches[which].io, fds[which], how(random));
		if (error && error != -EALREADY && error != -EEXIST)
			report(NULL, NULL, "a watch's start: %d", error);
		break;
	}
}

static void *nothing(void *arg)
{
	return arg;
}

/* A client's, outside of tasks. */
void watch_private(void)
{
	uint64_t *random = &actor_self()->random;
	struct watch *watch = cell_take();
	int fd = eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC);
	int error;

	MUST(fd >= 0);
	make(watch, random_below(random, PLACES), true);
	error = baton_io_start(&watch->io, fd, how(random));
	if (error)
		report(NULL, NULL, "a client's start of a watch: %d", error);
	actor_busy("a watch's run", 0);
	if (!random_one_in(random, 4))
		MUST(baton_future_wait(&watch->ran) == 0);
	/* QUEUED, RUNNING: a task that is submitted now comes after the last run. */
	if (baton_io_stop(&watch->io).met >= BATON_STOP_QUEUED)
		MUST(baton_call(&places[watch->place].resource, nothing, NULL, NULL) == 0);
	actor_idle();
	watch->magic = 0;
	MUST(close(fd) == 0);
	cell_give(watch);
}
