/* SPDX-License-Identifier: MIT */
/*
 * Threads, their attributes and keys fail as POSIX says they may.
 */
#include "fault.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *arg);
int __real_pthread_attr_init(pthread_attr_t *attributes);
int __real_pthread_attr_setstacksize(pthread_attr_t *attributes, size_t size);
int __real_pthread_setaffinity_np(pthread_t thread, size_t size, const cpu_set_t *set);
int __real_pthread_key_create(pthread_key_t *key, void (*destroy)(void *));
int __real_pthread_setspecific(pthread_key_t key, const void *value);
int __real_pthread_atfork(void (*before)(void), void (*in_parent)(void), void (*in_child)(void));
int __real_sched_getaffinity(pid_t process, size_t size, cpu_set_t *set);
int __real_sched_yield(void);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *arg);
int __wrap_pthread_attr_init(pthread_attr_t *attributes);
int __wrap_pthread_attr_setstacksize(pthread_attr_t *attributes, size_t size);
int __wrap_pthread_setaffinity_np(pthread_t thread, size_t size, const cpu_set_t *set);
int __wrap_pthread_key_create(pthread_key_t *key, void (*destroy)(void *));
int __wrap_pthread_setspecific(pthread_key_t key, const void *value);
int __wrap_pthread_atfork(void (*before)(void), void (*in_parent)(void), void (*in_child)(void));
int __wrap_sched_getaffinity(pid_t process, size_t size, cpu_set_t *set);
int __wrap_sched_yield(void);

#define LONG_YIELD_US 1000

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *arg)
{
	return fault_hit(FAULT_AT_THREAD) ? EAGAIN
	                                  : __real_pthread_create(thread, attributes, run, arg);
}

int __wrap_pthread_attr_init(pthread_attr_t *attributes)
{
	return fault_hit(FAULT_AT_THREAD) ? ENOMEM : __real_pthread_attr_init(attributes);
}

int __wrap_pthread_attr_setstacksize(pthread_attr_t *attributes, size_t size)
{
	return fault_hit(FAULT_AT_THREAD) ? EINVAL
	                                  : __real_pthread_attr_setstacksize(attributes, size);
}

/* The CPU may have gone since the pool's options were made. */
int __wrap_pthread_setaffinity_np(pthread_t thread, size_t size, const cpu_set_t *set)
{
	return fault_hit(FAULT_AT_AFFINITY) ? EINVAL
	                                    : __real_pthread_setaffinity_np(thread, size, set);
}

int __wrap_pthread_key_create(pthread_key_t *key, void (*destroy)(void *))
{
	return fault_hit(FAULT_AT_KEY) ? EAGAIN : __real_pthread_key_create(key, destroy);
}

/* Taking a value back needs no memory. */
int __wrap_pthread_setspecific(pthread_key_t key, const void *value)
{
	return value && fault_hit(FAULT_AT_KEY) ? ENOMEM : __real_pthread_setspecific(key, value);
}

int __wrap_pthread_atfork(void (*before)(void), void (*in_parent)(void), void (*in_child)(void))
{
	return fault_hit(FAULT_AT_KEY) ? ENOMEM
	                               : __real_pthread_atfork(before, in_parent, in_child);
}

int __wrap_sched_getaffinity(pid_t process, size_t size, cpu_set_t *set)
{
	if (fault_hit(FAULT_AT_AFFINITY)) {
		errno = EINVAL;
		return -1;
	}
	return __real_sched_getaffinity(process, size, set);
}

int __wrap_sched_yield(void)
{
	if (fault_hit(FAULT_AT_YIELD))
		fault_pause_us(LONG_YIELD_US);
	return __real_sched_yield();
}
