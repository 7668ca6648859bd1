/* SPDX-License-Identifier: MIT */
/*
 * A program with two copies of the library: what thread.h says of them. The copies are independent,
 * and a wait on one copy does not see what the thread holds by the other.
 *
 *	copies LIBBATON.so COPY.so
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <baton/call.h>
#include <baton/label.h>
#include <baton/resource.h>

#define MUST(condition)                                                                            \
	((condition) ? (void)0                                                                     \
	             : (fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition), exit(1)))

/* One copy. */
struct copy {
	__typeof__(&baton_call) call;
	__typeof__(&baton_call_with) call_with;
};

static struct copy copies[2];
static struct baton_resource resource;
static struct baton_resource other;

static void load(struct copy *copy, const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	MUST(library);
	*(void **)&copy->call = dlsym(library, "baton_call");
	*(void **)&copy->call_with = dlsym(library, "baton_call_with");
	MUST(copy->call && copy->call_with);
}

static void *nothing(void *arg)
{
	return arg;
}

/* In a task of the resource: calls the same resource, with a deadline. Returns the error. */
static void *calls_again(void *copy)
{
	const struct baton_call_options options = {.fn = nothing, .timeout_ns = BATON_SECOND};

	return (void *)(long)((struct copy *)copy)->call_with(&resource, &options, NULL);
}

static long error_in_a_task(struct copy *runs, struct copy *calls)
{
	void *error = NULL;

	MUST(runs->call(&resource, calls_again, calls, &error) == 0);
	return (long)error;
}

int main(int argc, char **argv)
{
	MUST(argc == 3);
	load(&copies[0], argv[1]);
	load(&copies[1], argv[2]);
	MUST(copies[0].call != copies[1].call);
	MUST(error_in_a_task(&copies[0], &copies[0]) == -EDEADLK);
	MUST(error_in_a_task(&copies[0], &copies[1]) == -ETIMEDOUT);
	MUST(copies[1].call(&other, nothing, NULL, NULL) == 0);
	return 0;
}
