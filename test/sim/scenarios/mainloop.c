/* SPDX-License-Identifier: MIT */
/*
 * The main loop: threads start and stop sources while the owner runs. The owner sleeps on `alarm`
 * alone, as its host would in poll(): a lost wake leaves a source behind.
 */
#include "support.h"

#include <baton/mainloop.h>

#include "base/atomic.h"
#include "companion/mainloop/mainloop.h"

#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>

#define FAR (1000 * BATON_SECOND)

static struct baton_mainloop loop;
static int told;          /* written before a start, read by the run */
static unsigned runs;     /* under the baton */
static unsigned finished; /* runs of `child` */

static int run(struct baton_source *source)
{
	runs++;
	return 0;
}

static int run_told(struct baton_source *source)
{
	sim_require(told == 1);
	told++;
	runs++;
	return 0;
}

static int run_gone(struct baton_source *source)
{
	runs++;
	sim_retire(source, sizeof(*source));
	return BATON_GONE;
}

static int run_child(struct baton_source *source)
{
	finished++;
	return 0;
}

static const struct baton_source_config running = {.fn = run};
static const struct baton_source_config telling = {.fn = run_told};
static const struct baton_source_config going = {.fn = run_gone};
static const struct baton_source_config childish = {.fn = run_child};
static struct baton_source source = BATON_SOURCE_INIT(&loop, &running, "source");
static struct baton_source other = BATON_SOURCE_INIT(&loop, &running, "other");
static struct baton_source teller = BATON_SOURCE_INIT(&loop, &telling, "teller");
static struct baton_source goer = BATON_SOURCE_INIT(&loop, &going, "goer");
static struct baton_source child = BATON_SOURCE_INIT(&loop, &childish, "child");

static void begin(void)
{
	sim_calm(true);
	sim_require(baton_mainloop_init(&loop, NULL) == 0);
	sim_calm(false);
}

/* Lives as a host's loop does, until the other threads have ended, and nothing is due. */
static void live(void)
{
	for (;;) {
		const bool last = sim_others_ended();

		if (!add_seq_cst(&loop._loop->alarm, 0))
			sim_require(baton_mainloop_run(&loop, 2) >= 0);
		else if (last)
			break;
		else if (!sim_others_ended())
			sim_idle(&loop._loop->alarm);
	}
	sim_join_all();
}

/* Is the source to run now, and does not? */
static bool left(const struct baton_source *one)
{
	const uint64_t word = load_relaxed(&one->_state);

	return word & BATON__SOURCE_ACTIVE && !baton__source_due(word);
}

static void end(int64_t active)
{
	sim_require(!left(&source) && !left(&other) && !left(&child));
	sim_require(baton_mainloop_deinit(&loop) == active);
}

static void start(void *argument)
{
	sim_require(baton_source_start(argument) == 0);
}

static void start_far(void *argument)
{
	sim_require(baton_source_start_after(argument, FAR) == 0);
}

static void start_stop(void *argument)
{
	start(argument);
	sim_require(baton_source_stop(argument).met >= 0);
}

static void stop(void *argument)
{
	sim_require(baton_source_stop(argument).met == BATON_STOP_QUEUED);
}

static void tell(void *argument)
{
	told = 1;
	start(argument);
}

SIM_SCENARIO(mainloop_two, "starts of two sources are both answered, by runs that see them")
{
	begin();
	(void)sim_start(start, &source);
	(void)sim_start(tell, &teller);
	live();
	sim_require(runs == 2);
	end(0);
}

/* `published`: the owner has published its alarm before the starts. */
static void near_and_far(bool published)
{
	begin();
	sim_calm(true);
	sim_require(baton_source_start_after(&other, FAR / 2) == 0);
	sim_require(!published || baton_mainloop_run(&loop, 2) == 0);
	sim_calm(false);
	(void)sim_start(start_far, &source);
	(void)sim_start(start, &source);
	live();
	sim_require(runs <= 1);
	end(1 + baton_source_is_active(&source));
}

/* The owner comes between the two deadlines, so that the later one wakes nobody. */
SIM_SCENARIO(mainloop_near_far, "a start that leaves the push to a later deadline's is not lost",
             .bound = 3)
{
	near_and_far(true);
}

/* As above, but the alarm is published beside the starts. */
SIM_SCENARIO(mainloop_near_far_beside, "the same, while the owner is about to sleep", .bound = 3)
{
	near_and_far(false);
}

SIM_SCENARIO(mainloop_twice, "a source started twice runs once or twice, and not beside itself")
{
	begin();
	(void)sim_start(start, &source);
	(void)sim_start(start, &source);
	live();
	sim_require(runs == 1 || runs == 2);
	end(0);
}

SIM_SCENARIO(mainloop_stop, "beside a stop, a start is answered or stopped")
{
	begin();
	(void)sim_start(start_stop, &source);
	(void)sim_start(start, &other);
	live();
	sim_require(runs == 1 || runs == 2);
	sim_require(!baton_source_is_active(&source));
	end(0);
}

SIM_SCENARIO(mainloop_gone, "a function may free its source: the starter touches it no more")
{
	begin();
	(void)sim_start(start, &goer);
	live();
	sim_require(runs == 1);
	end(0);
}

SIM_SCENARIO(mainloop_parent, "another thread's stop of a parent wakes the owner for the child")
{
	begin();
	sim_calm(true);
	sim_require(baton_source_depend(&source, &child) == 0);
	start_far(&source);
	start(&child);
	sim_require(baton_mainloop_run(&loop, 2) == 0);
	sim_calm(false);
	(void)sim_start(stop, &source);
	live();
	sim_require(finished == 1 && !runs);
	end(0);
}

SIM_SCENARIO(mainloop_own, "the owner stops and starts a source that another thread starts")
{
	begin();
	(void)sim_start(start, &source);
	start_stop(&source);
	start(&other);
	live();
	sim_require(runs == 1 || runs == 2);
	end(0);
}

static void cancel(void *argument)
{
	sim_require(baton_resource_cancel_pending(baton_mainloop_resource(argument)) == 0);
}

SIM_SCENARIO(mainloop_cancel, "who cancels the task that runs the sources stops no source")
{
	begin();
	start(&source);
	start(&other);
	(void)sim_start(cancel, &loop);
	live();
	sim_require(runs == 2);
	end(0);
}

static void start_both(void *argument)
{
	start(&source);
	start(&other);
}

SIM_UNSEEN static void check_frozen(void)
{
	sim_require(told == 2);
}

/* ---- Descriptors: the kernel's own, which are always ready ---- */

static const struct baton_source_config readable = {.fn = run_told, .kind = BATON_SOURCE_READABLE};
static const struct baton_source_config readable_again = {
	.fn = run, .kind = BATON_SOURCE_READABLE, .again = true};
static struct baton_source_fd reader = BATON_SOURCE_FD_INIT(&loop, &readable, "reader", -1);
static struct baton_source_fd keeper = BATON_SOURCE_FD_INIT(&loop, &readable_again, "keeper", -1);

static int begin_fd(void)
{
	const int fd = eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC);

	sim_require(fd >= 0);
	begin();
	reader.fd = keeper.fd = fd;
	return fd;
}

/* Lives; then the host finds in poll() what is ready. */
static void live_fd(void)
{
	struct pollfd entry = {baton_mainloop_fd(&loop), POLLIN, 0};

	live();
	if (poll(&entry, 1, 0) == 1)
		sim_require(baton_mainloop_run(&loop, 2) >= 0);
}

static void end_fd(int fd, int64_t active)
{
	end(active);
	(void)close(fd);
}

SIM_SCENARIO(mainloop_fd, "a descriptor that another thread starts is watched, and its source runs")
{
	const int fd = begin_fd();

	(void)sim_start(tell, &reader.source);
	(void)sim_start(start, &source);
	live_fd();
	sim_require(runs == 2);
	end_fd(fd, 0);
}

SIM_SCENARIO(mainloop_fd_stop, "a stopped source of a descriptor is watched no more")
{
	const int fd = begin_fd();

	(void)sim_start(start_stop, &keeper.source);
	(void)sim_start(start, &source);
	live_fd();
	sim_require(!baton_source_is_active(&keeper.source));
	runs = 0;
	sim_require(baton_mainloop_run(&loop, 2) == 0);
	sim_require(!runs && !loop._loop->watched);
	end_fd(fd, 0);
}

SIM_SCENARIO(mainloop_fd_twice, "two starts of a descriptor's source count it once")
{
	const int fd = begin_fd();

	(void)sim_start(start, &keeper.source);
	(void)sim_start(start, &keeper.source);
	live_fd();
	sim_require(runs >= 1);
	sim_require(loop._loop->watched == 1);
	end_fd(fd, 1);
}

/* Thread 1 stands anywhere in a start. */
SIM_SCENARIO(mainloop_frozen, "a thread stopped in a start delays no other source", .freeze = 1,
             .frozen = check_frozen)
{
	begin();
	told = 1;
	(void)sim_start(start_both, NULL);
	(void)sim_start(start, &teller);
	live();
	sim_require(runs == 3);
	end(0);
}

/* ---- Told ---- */

static unsigned owned;

static void own(void *argument)
{
	sim_require(argument == &owned && !owned);
	owned++;
	sim_retire(&source, sizeof(source));
}

static void stop_then(void *argument)
{
	BATON_IGNORE(baton_source_stop_then(&source, own, argument).met);
}

SIM_SCENARIO(mainloop_told, "a stop by another thread beside the run: told once, by the owner",
             .bound = 1)
{
	begin();
	start(&source);
	(void)sim_start(stop_then, &owned);
	/* Ended by the stopping thread's task. */
	while (!owned) {
		sim_require(baton_mainloop_run(&loop, 2) >= 0);
		(void)sched_yield();
	}
	sim_join_all();
	sim_require(owned == 1 && runs <= 1);
	sim_require(baton_mainloop_deinit(&loop) == 0);
}
