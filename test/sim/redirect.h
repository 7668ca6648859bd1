/* SPDX-License-Identifier: MIT */
/*
 * Included before every file of the library and of the scenarios in the explorer's build. Threads,
 * sleep, time and memory come from the explorer. Constants are small, so that rings wrap, queues
 * overflow, and loops give up.
 */
#ifndef BATON_SIM_REDIRECT_H
#define BATON_SIM_REDIRECT_H

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <ck_pr.h>

int sim_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                       void *(*function)(void *), void *argument);
int sim_pthread_join(pthread_t thread, void **result);
pthread_t sim_pthread_self(void);
int sim_pthread_key_create(pthread_key_t *key, void (*destructor)(void *));
int sim_pthread_key_delete(pthread_key_t key);
int sim_pthread_setspecific(pthread_key_t key, const void *value);
int sim_pthread_mutex_lock(pthread_mutex_t *mutex);
int sim_pthread_mutex_unlock(pthread_mutex_t *mutex);
int sim_sched_yield(void);
int sim_poll(struct pollfd *entries, nfds_t count, int timeout_ms);
int sim_clock_gettime(clockid_t clock, struct timespec *time);
long sim_syscall(long number, ...);
void *sim_aligned_alloc(size_t alignment, size_t size);
void *sim_calloc(size_t count, size_t size);
void sim_free(void *memory);
void *sim_mmap(size_t size);
int sim_munmap(void *memory, size_t size);
void sim_spin(void);
void sim_fence(void);

#define pthread_create sim_pthread_create
#define pthread_join sim_pthread_join
#define pthread_self sim_pthread_self
#define pthread_detach(thread) ((void)(thread), 0)
#define pthread_key_create sim_pthread_key_create
#define pthread_key_delete sim_pthread_key_delete
#define pthread_setspecific sim_pthread_setspecific
#define pthread_mutex_lock sim_pthread_mutex_lock
#define pthread_mutex_unlock sim_pthread_mutex_unlock
#define pthread_atfork(before, parent, child) ((void)(child), 0)
#define pthread_sigmask(how, set, before) ((void)(set), (void)(before), 0)
#define pthread_setname_np(thread, name) ((void)(name), 0)
#define pthread_setaffinity_np(thread, size, set) ((void)(set), 0)
#define sched_yield sim_sched_yield
#define poll sim_poll
#define sched_getaffinity(process, size, set)                                                      \
	(memset((set), 0, (size)), *(unsigned char *)(set) = 3, 0) /* two CPUs */
#define fopen(name, mode) ((void)(name), (FILE *)NULL)             /* and no quota */
#define clock_gettime sim_clock_gettime
#define syscall sim_syscall
#define aligned_alloc sim_aligned_alloc
#define calloc sim_calloc
#define free sim_free
#define mmap(address, size, protection, flags, fd, offset) ((void)(flags), sim_mmap(size))
#define munmap sim_munmap
#define memfd_create(name, flags) ((void)(name), 1 << 20) /* nobody's */
#define ftruncate(fd, size) ((void)(fd), (void)(size), 0)
#define ck_pr_stall sim_spin
/* The fences of ck_epoch_begin: the first on x86, the other one elsewhere. */
#define ck_pr_fence_atomic_load sim_fence
#define ck_pr_fence_memory sim_fence

/* Whoever frees a node writes it, as its next user will: earlier use must come before. */
static inline void sim_scribble(void *memory, size_t size)
{
	volatile unsigned long *word = memory;

	for (size_t i = 0; i < size / sizeof(*word); i++)
		word[i] = 0xDDDDDDDDDDDDDDDD;
}
#define BATON_NODE_FREED(body, size) sim_scribble(body, size)

/* Small, so that rare steps happen. */
#define BATON_INLINE_WARY 1
#define BATON_RUNQUEUE_SLOTS 4
#define BATON_INJECTION_SLOTS 2
#define BATON_INJECTION_BATCH 2
#define BATON_INJECTION_PORTION 1
#define BATON_INJECTION_PIECE 2
#define BATON_WAIT_PAUSES 1
#define BATON_PARALLEL_PAUSES 0
#define BATON__PARTY_MAX 2U
#define BATON_PARALLEL_YIELDS 0
#define BATON_TIMERS_PAUSES 1
#define BATON_TIMERS_YIELDS 1
#define BATON_TIMERS_LOOKS 2
#define BATON_WAIT_YIELDS 2
#define BATON_LINGER_YIELDS 1U
#define BATON_LINGER_PAUSES 1U
#define BATON_LINGER_QUEUED 1U
#define BATON_WAIT_YIELDS_PER_HELP 2
#define BATON_HELP_MAX 2
#define BATON_NODE_SLABS 0
#define BATON_SLAB_SIZE 512U /* three pieces */
#define BATON_SLAB_SPARES 1U
#define BATON_SLAB_FILED_MAX 3U
#define BATON_SLAB_PAUSES 1U
#define BATON_NODE_CACHE_MAX 2
#define BATON_NODE_PARCEL_MAX 2
#define BATON_WORKER_INJECTION_TICK 3
#define BATON_WORKER_SHARE_MIN 2
#define BATON_WORKER_EVEN_NS 1
#define BATON_WORKER_LOOKS 2
#define BATON_WORKER_LOOKS_BEFORE_LIFO 1

/* The explorer saves and loads a thread's variables when it switches threads. */
#define __thread __attribute__((section("sim_tls")))
#define tls_model(model)

#include "backend.h" /* for baton/inline.h, which includes no header of ours */

#endif
