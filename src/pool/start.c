/* SPDX-License-Identifier: MIT */
/*
 * Signals and CPUs of the library's own threads.
 */
#include "pool/start.h"

#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <unistd.h>

void baton__signals_block(sigset_t *before)
{
	sigset_t all;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, before);
}

void baton__signals_open(void)
{
	static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS, SIGTRAP};
	sigset_t open;

	(void)sigemptyset(&open);
	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
		(void)sigaddset(&open, own[i]);
	(void)pthread_sigmask(SIG_UNBLOCK, &open, NULL);
}

void baton__unpin(void)
{
	cpu_set_t set;

	/* Fails beyond 1,024 CPUs; the calling thread then keeps its creator's affinity. */
	if (!sched_getaffinity(getpid(), sizeof(set), &set))
		(void)pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
}
