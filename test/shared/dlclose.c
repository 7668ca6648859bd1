/* SPDX-License-Identifier: MIT */
/*
 * A plugin host: the shared library is loaded, used, closed and loaded again, while threads of it
 * run, and threads that have used it end and fork after that.
 *
 *	dlclose LIBBATON.so
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <baton/resource.h>
#include <baton/timer.h>

#define MUST(condition)                                                                            \
	((condition) ? (void)0                                                                     \
	             : (fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition), exit(1)))

static const char *path;
static int runs;

static int run(struct baton_task *task)
{
	__atomic_add_fetch(&runs, 1, __ATOMIC_RELAXED);
	return 0;
}

static int ring(struct baton_timer *timer)
{
	return 0;
}

/* Hands a resource off to the default pool, and arms a timer of the default wheel. */
static void use(void *library)
{
	__typeof__(&baton_submit_later) submit_later;
	__typeof__(&baton_resource_close) close_resource;
	__typeof__(&baton_resource_await) await;
	__typeof__(&baton_timer_init) timer_init;
	__typeof__(&baton_timer_arm_after) arm;
	__typeof__(&baton_timer_stop_wait) stop;
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
	struct baton_task task = BATON_TASK_INIT(run, NULL);
	struct baton_timer timer;
	int before = __atomic_load_n(&runs, __ATOMIC_RELAXED);

	*(void **)&submit_later = dlsym(library, "baton_submit_later");
	*(void **)&close_resource = dlsym(library, "baton_resource_close");
	*(void **)&await = dlsym(library, "baton_resource_await");
	*(void **)&timer_init = dlsym(library, "baton_timer_init");
	*(void **)&arm = dlsym(library, "baton_timer_arm_after");
	*(void **)&stop = dlsym(library, "baton_timer_stop_wait");
	MUST(submit_later && close_resource && await && timer_init && arm && stop);
	timer_init(&timer, NULL, &resource, ring);
	MUST(arm(&timer, BATON_MILLISECOND) == 0);
	MUST(submit_later(&resource, &task) == 0);
	MUST(stop(&timer) == 0);
	MUST(close_resource(&resource) == 0);
	MUST(await(&resource) == 0);
	MUST(__atomic_load_n(&runs, __ATOMIC_RELAXED) > before);
}

static void *load_use_close(void *library_out)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	MUST(library);
	use(library);
	if (library_out)
		*(void **)library_out = library;
	else
		MUST(dlclose(library) == 0);
	return NULL; /* here the thread's record is given back, by a function of the library's */
}

int main(int argc, char **argv)
{
	void *library = NULL;
	pthread_t thread;
	pid_t child;
	int status;

	MUST(argc == 2);
	path = argv[1];
	for (int i = 0; i < 3; i++) {
		MUST(pthread_create(&thread, NULL, load_use_close, NULL) == 0);
		MUST(pthread_join(thread, NULL) == 0);
		load_use_close(&library);
		MUST(dlclose(library) == 0);
	}
	/* The handler of a fork is the library's, too. */
	child = fork();
	MUST(child >= 0);
	if (child == 0)
		_exit(0);
	MUST(waitpid(child, &status, 0) == child && WIFEXITED(status) && !WEXITSTATUS(status));
	return 0;
}
