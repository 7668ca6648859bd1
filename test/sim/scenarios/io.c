/* SPDX-License-Identifier: MIT */
/*
 * Watches of descriptors: the library's thread, the threads that start and stop, and the runs. The
 * descriptors are the kernel's own, and always ready.
 */
#include "support.h"

#include <baton/io.h>
#include <baton/manual.h>

#include <sys/eventfd.h>

static struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
static struct baton_manual *manual;
static struct baton_resource_config config;
static struct baton_io watch;
static struct baton_io other;
static int fd;
static int told;      /* written before a start, read by the run */
static unsigned runs; /* under the baton */
static bool given_back;

static int run(struct baton_io *io)
{
	sim_require(!given_back && told == 1);
	runs++;
	return 0;
}

static struct baton_task after;
static bool after_ran;

static int run_after(struct baton_task *task)
{
	after_ran = true;
	return 0;
}

static int run_and_restart(struct baton_io *io)
{
	if (++runs == 1)
		sim_require(baton_io_start(io, fd, BATON_IO_READ) == 0);
	return 0;
}

static int run_and_go(struct baton_io *io)
{
	runs++;
	sim_require(baton_io_stop(io).met == BATON_STOP_RUNNING);
	sim_retire(io, sizeof(*io));
	return BATON_GONE;
}

/* The runs take place on this thread, when it drives the manual executor. */
static void begin(baton_io_fn fn)
{
	sim_calm(true);
	fd = eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC);
	sim_require(fd >= 0);
	sim_require(baton_manual_create(&manual) == 0);
	config.capture_max = BATON_CAPTURE_NONE;
	config.executor = baton_manual_executor(manual);
	config.name = "io";
	baton_resource_init(&resource, &config);
	baton_io_init(&watch, &resource, fn);
	baton_io_init(&other, &resource, fn);
	told = 1;
	/* The library's thread is there. */
	sim_require(baton_io_start(&other, fd, BATON_IO_WRITE) == 0);
	BATON_IGNORE(baton_io_stop(&other).met);
	sim_calm(false);
}

/* Ended by the library's thread. */
static void drive_until(unsigned count)
{
	while (runs < count) {
		(void)baton_manual_run(manual, 0);
		(void)sched_yield();
	}
}

static void end(void)
{
	sim_require(baton_resource_close(&resource) == 0);
	sim_require(baton_resource_await(&resource) == 0);
	sim_require(baton_io_destroy() == 0);
	baton_manual_destroy(manual);
	(void)close(fd);
}

SIM_SCENARIO(io_once, "a descriptor that is ready: one run, which sees what came before the start")
{
	begin(run);
	told = 0;
	told = 1;
	sim_require(baton_io_start(&watch, fd, BATON_IO_READ) == 0);
	drive_until(1);
	(void)baton_manual_run(manual, 0);
	sim_require(runs == 1 && !baton_io_is_active(&watch));
	sim_require(baton_io_stop(&watch).met < BATON_STOP_QUEUED);
	end();
}

static void stop(void *argument)
{
	BATON_IGNORE(baton_io_stop(&watch).met);
}

SIM_SCENARIO(io_stop, "[io.handed] after a stop, or a task that follows it, the watch may be freed")
{
	begin(run);
	sim_require(baton_io_start(&watch, fd, BATON_IO_READ | BATON_IO_AGAIN) == 0);
	if (baton_io_stop(&watch).met >= BATON_STOP_QUEUED) {
		/* A run is queued, without effect: a task that is submitted now comes after it. */
		baton_task_init(&after, run_after, NULL);
		sim_require(baton_submit(&resource, &after) == 0);
		while (!after_ran)
			(void)baton_manual_run(manual, 0);
	}
	sim_require(!runs);
	given_back = true;
	sim_retire(&watch, sizeof(watch));
	(void)baton_manual_run(manual, 0);
	end();
}

SIM_SCENARIO(io_stop_beside, "a stop beside runs: the last of them, and no more")
{
	unsigned seen;

	begin(run);
	sim_require(baton_io_start(&watch, fd, BATON_IO_READ | BATON_IO_AGAIN) == 0);
	(void)sim_start(stop, NULL);
	(void)baton_manual_run(manual, 0);
	(void)baton_manual_run(manual, 0);
	sim_join_started();
	seen = runs;
	(void)baton_manual_run(manual, 0);
	sim_require(runs == seen && !baton_io_is_active(&watch));
	end();
}

SIM_SCENARIO(io_restart, "a function starts its watch again, and runs once more")
{
	begin(run_and_restart);
	sim_require(baton_io_start(&watch, fd, BATON_IO_READ) == 0);
	drive_until(2);
	(void)baton_manual_run(manual, 0);
	sim_require(runs == 2);
	end();
}

SIM_SCENARIO(io_gone, "[io.event] a function frees its watch: neither events nor the run touch it")
{
	begin(run_and_go);
	sim_require(baton_io_start(&watch, fd, BATON_IO_READ | BATON_IO_AGAIN) == 0);
	drive_until(1);
	(void)baton_manual_run(manual, 0);
	sim_require(runs == 1);
	end();
}

SIM_SCENARIO(io_both, "two watches of one descriptor's sides")
{
	begin(run);
	sim_require(baton_io_start(&watch, fd, BATON_IO_READ) == 0);
	sim_require(baton_io_start(&other, fd, BATON_IO_WRITE) == 0);
	drive_until(2);
	sim_require(runs == 2);
	end();
}

static unsigned drops;

static void dropped(struct baton_io *io, int error)
{
	sim_require(!given_back && io->_dropped == dropped);
	drops++;
}

SIM_SCENARIO(io_stop_refused, "[io.dropped] a stop beside a refused run: nobody touches the watch")
{
	static struct baton_resource closed = BATON_RESOURCE_INIT(NULL);

	begin(run);
	sim_require(baton_resource_close(&closed) == 0);
	baton_io_init(&watch, &closed, run);
	baton_io_set_dropped(&watch, dropped);
	sim_require(baton_io_start(&watch, fd, BATON_IO_READ) == 0);
	sim_require(baton_io_stop(&watch).met < BATON_STOP_QUEUED);
	sim_require(!runs && drops <= 1);
	given_back = true;
	sim_retire(&watch, sizeof(watch));
	sim_require(baton_resource_await(&closed) == 0);
	end();
}

static void stop_and_retire(void *argument)
{
	if (baton_io_stop(&watch).met >= BATON_STOP_QUEUED)
		return;
	given_back = true;
	sim_retire(&watch, sizeof(watch));
}

SIM_SCENARIO(io_stop_cancelled, "[io.dropped] the same, beside a run that is cancelled")
{
	begin(run);
	baton_io_set_dropped(&watch, dropped);
	sim_require(baton_io_start(&watch, fd, BATON_IO_READ) == 0);
	(void)sim_start(stop_and_retire, NULL);
	(void)baton_resource_cancel_pending(&resource);
	(void)baton_manual_run(manual, 0);
	(void)baton_resource_cancel_pending(&resource);
	(void)baton_manual_run(manual, 0);
	sim_join_started();
	(void)baton_manual_run(manual, 0);
	end();
}

/* ---- Told ---- */

static unsigned owned;

static void own(void *argument)
{
	sim_require(argument == &owned && !owned && !given_back);
	owned++;
	given_back = true;
	sim_retire(&watch, sizeof(watch));
}

static void stop_then(void *argument)
{
	(void)baton_io_stop_then(&watch, own, &owned);
}

SIM_SCENARIO(io_told, "stopped beside its runs: the owner is told once, and behind them",
             .bound = 1)
{
	begin(run);
	sim_require(baton_io_start(&watch, fd, BATON_IO_READ | BATON_IO_AGAIN) == 0);
	(void)sim_start(stop_then, NULL);
	(void)baton_manual_run(manual, 0);
	sim_join_started();
	(void)baton_manual_run(manual, 0);
	sim_require(owned == 1);
	end();
}

static void cancel_all(void *argument)
{
	sim_require(baton_resource_cancel_pending(&resource) == 0);
}

SIM_SCENARIO(io_told_cancelled, "the same, beside a cancel of what is queued", .bound = 1)
{
	begin(run);
	sim_require(baton_io_start(&watch, fd, BATON_IO_READ) == 0);
	(void)sim_start(stop_then, NULL);
	(void)sim_start(cancel_all, NULL);
	(void)baton_manual_run(manual, 0);
	sim_join_started();
	(void)baton_manual_run(manual, 0);
	sim_require(owned == 1);
	end();
}

static int run_and_stop(struct baton_io *io)
{
	runs++;
	stop_then(NULL);
	sim_require(!owned);
	return 0;
}

SIM_SCENARIO(io_told_inside, "its own function stops it: told when the function has returned")
{
	begin(run_and_stop);
	sim_require(baton_io_start(&watch, fd, BATON_IO_READ | BATON_IO_AGAIN) == 0);
	drive_until(1);
	sim_require(owned == 1);
	end();
}
