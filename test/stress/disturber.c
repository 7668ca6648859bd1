/* SPDX-License-Identifier: MIT */
/* The thread that sends signals, and their handlers. */
#include "disturber.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "actor.h"
#include "options.h"
#include "random.h"
#include "report.h"

static pthread_t thread;
static atomic_bool leave;
static uint32_t gap_us; /* between two signals; 0: none in this round */
static uint32_t stop_max_us;
static int stops_at_a_time;
static uint64_t state;
static atomic_uint stop_us;
static atomic_int stopped;       /* stops that were sent and are not over */
static _Atomic uint64_t sent_ns; /* the last one */
static _Atomic uint64_t signals;
static _Atomic uint64_t stops;

static void on_signal(int number)
{
	atomic_fetch_add_explicit(&signals, 1, memory_order_relaxed);
}

static void on_stop(int number)
{
	uint32_t us = atomic_load_explicit(&stop_us, memory_order_relaxed);
	struct timespec pause = {us / 1000000, (long)(us % 1000000) * 1000};
	int saved = errno;

	atomic_fetch_add_explicit(&stops, 1, memory_order_relaxed);
	nanosleep(&pause, NULL);
	atomic_fetch_sub_explicit(&stopped, 1, memory_order_relaxed);
	errno = saved;
}

void disturber_install(void)
{
	struct sigaction action = {.sa_handler = on_signal};

	MUST(sigaction(SIGUSR1, &action, NULL) == 0);
	action.sa_flags = SA_RESTART;
	MUST(sigaction(SIGUSR2, &action, NULL) == 0);
	/* Others may come amid the stop. */
	action.sa_handler = on_stop;
	MUST(sigaction(SIGRTMIN, &action, NULL) == 0);
}

static void disturb(void)
{
	static const int numbers[] = {0, 0, SIGUSR1, SIGUSR2};
	struct actor *actor = actor_random(&state);
	int number = numbers[random_below(&state, 4)];

	if (!actor)
		return;
	if (!number) {
		/* Not so many that nobody gets anywhere; some may have met a thread's end. */
		if (atomic_load(&stopped) >= stops_at_a_time) {
			if (now_ns() - atomic_load(&sent_ns) < 50000000)
				return;
			atomic_store(&stopped, 0);
		}
		atomic_fetch_add(&stopped, 1);
		atomic_store(&sent_ns, now_ns());
	}
	atomic_store_explicit(&stop_us, random_below(&state, stop_max_us) + 1,
	                      memory_order_relaxed);
	/* It may have ended meanwhile: ESRCH, or another thread of ours gets it. */
	(void)syscall(SYS_tgkill, getpid(), atomic_load_explicit(&actor->tid, memory_order_relaxed),
	              number ? number : SIGRTMIN);
}

static void *disturber_main(void *arg)
{
	sigset_t set;

	sigfillset(&set);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	while (!atomic_load(&leave)) {
		usleep(gap_us ? random_below(&state, gap_us) + 1 : 10000);
		if (gap_us)
			disturb();
	}
	return NULL;
}

void disturber_start(uint64_t *random)
{
	static const uint32_t gaps_us[] = {0, 100, 1000, 5000};
	static const uint32_t stops_us[] = {200, 2000, 10000};

	state = random_stream(*random, 99);
	gap_us = gaps_us[random_below(random, 4)];
	stop_max_us = stops_us[random_below(random, 3)];
	stops_at_a_time = 1 + (int)random_below(random, 3);
	if (options.calm)
		gap_us = 0;
	atomic_store(&leave, false);
	MUST(pthread_create(&thread, NULL, disturber_main, NULL) == 0);
}

void disturber_stop(void)
{
	atomic_store(&leave, true);
	MUST(pthread_join(thread, NULL) == 0);
}

uint64_t disturber_signals(void)
{
	return atomic_load(&signals);
}

uint64_t disturber_stops(void)
{
	return atomic_load(&stops);
}
