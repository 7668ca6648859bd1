/* SPDX-License-Identifier: MIT */
/*
 * A task that is left by a C++ exception, by pthread_exit or by a cancellation ends the process,
 * and the line that is printed says so: each way out in each way in, in a child of its own.
 */
#include <baton.h>
#include <baton/inline.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

namespace
{
#define MUST(condition)                                                                            \
	((condition)                                                                               \
	         ? (void)0                                                                         \
	         : (std::fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition),   \
	            std::exit(1)))

using leave_fn = void (*)();

constexpr baton_resource_config named = BATON_RESOURCE_CONFIG_NAMED("topic/7");
baton_resource topic = BATON_RESOURCE_INIT(&named);
leave_fn leave;

void throws()
{
	throw 7;
}

void exits()
{
	pthread_exit(nullptr);
}

void is_cancelled()
{
	MUST(pthread_cancel(pthread_self()) == 0);
	pthread_testcancel();
}

int run(baton_task *)
{
	leave();
	return 0;
}

int idle(baton_task *)
{
	return 0;
}

void *call(void *)
{
	leave();
	return nullptr;
}

void *nothing(void *)
{
	return nullptr;
}

void by_submit()
{
	baton_task task = BATON_TASK_INIT(run, nullptr);

	BATON_IGNORE((baton_submit)(&topic, &task));
}

void by_submit_inlined()
{
	baton_task task = BATON_TASK_INIT(run, nullptr);

	BATON_IGNORE(baton_submit(&topic, &task));
}

void by_call_inlined()
{
	BATON_IGNORE(baton_call(&topic, call, nullptr, nullptr));
}

void by_submit_with_future()
{
	baton_future future = BATON_FUTURE_INIT;
	baton_task task = BATON_TASK_INIT(run, &future);

	BATON_IGNORE(baton_submit(&topic, &task));
}

void by_batch()
{
	baton_task first = BATON_TASK_INIT(idle, nullptr);
	baton_task second = BATON_TASK_INIT(run, nullptr);
	baton_task *tasks[] = {&first, &second};

	BATON_IGNORE(baton_submit_batch(&topic, tasks, 2));
}

void by_call()
{
	BATON_IGNORE((baton_call)(&topic, call, nullptr, nullptr));
}

void by_post()
{
	BATON_IGNORE(baton_post(&topic, call, nullptr));
}

int fail(baton_task *)
{
	return 1;
}

void leave_when_told(baton_resource *, baton_task *, int)
{
	leave();
}

/* The task has returned; config->failed is left. */
void by_failed()
{
	baton_resource_config config = BATON_RESOURCE_CONFIG_NAMED("topic/7");
	baton_task task = BATON_TASK_INIT(fail, nullptr);
	baton_resource telling;

	config.failed = leave_when_told;
	baton_resource_init(&telling, &config);
	BATON_IGNORE(baton_submit(&telling, &task));
}

/* As one of others' tasks, in the runner's drain. */
void *submit_more(void *task)
{
	BATON_IGNORE(baton_submit(&topic, static_cast<baton_task *>(task)));
	return nullptr;
}

void in_the_drain()
{
	baton_task task = BATON_TASK_INIT(run, nullptr);

	BATON_IGNORE(baton_call(&topic, submit_more, &task, nullptr));
}

void *thread_main(void *way_in)
{
	try {
		/* Without a record the thread would go the long way. */
		MUST(baton_thread_attach() == 0);
		reinterpret_cast<leave_fn>(way_in)();
	} catch (int) {
		std::fputs("came through", stderr);
	}
	return nullptr;
}

struct way {
	const char *name;
	leave_fn fn;
};

const way ways_in[] = {
	{"submit", by_submit},
	{"submit with a future", by_submit_with_future},
	{"batch", by_batch},
	{"call", by_call},
	{"post", by_post},
	{"failed", by_failed},
	{"drain", in_the_drain},
	{"submit, inlined", by_submit_inlined},
	{"call, inlined", by_call_inlined},
};

const way ways_out[] = {{"exception", throws}, {"exit", exits}, {"cancel", is_cancelled}};

bool stopped(leave_fn way_in, leave_fn way_out, char *said, size_t size)
{
	size_t length = 0;
	ssize_t more;
	int ends[2];
	int status;

	MUST(pipe(ends) == 0);
	pid_t child = fork();
	MUST(child >= 0);
	if (child == 0) {
		pthread_t thread;

		MUST(dup2(ends[1], STDERR_FILENO) >= 0);
		alarm(10);
		leave = way_out;
		/* The short ways are for a resource that has been used, by a thread that has. */
		MUST(baton_call(&topic, nothing, nullptr, nullptr) == 0);
		MUST(pthread_create(&thread, nullptr, thread_main,
		                    reinterpret_cast<void *>(way_in)) == 0);
		MUST(pthread_join(thread, nullptr) == 0);
		_exit(0);
	}
	MUST(close(ends[1]) == 0);
	while ((more = read(ends[0], said + length, size - 1 - length)) > 0)
		length += static_cast<size_t>(more);
	said[length] = 0;
	MUST(close(ends[0]) == 0);
	MUST(waitpid(child, &status, 0) == child);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT &&
	       std::strncmp(said, "baton: a task: \"topic/7\" was left by", 36) == 0;
}
} // namespace

int main()
{
	int failed = 0;

	for (const way &in : ways_in) {
		for (const way &out : ways_out) {
			char said[512];

			if (stopped(in.fn, out.fn, said, sizeof(said)))
				continue;
			std::fprintf(stderr, "%s, %s: not stopped: %s\n", in.name, out.name, said);
			failed = 1;
		}
	}
	return failed;
}
