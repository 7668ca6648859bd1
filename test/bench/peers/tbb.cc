/* SPDX-License-Identifier: MIT */
/*
 * oneTBB. The queue is what its documentation has for "one at a time, in order": a flow graph's
 * function_node of concurrency 1 with a queueing policy; a second peer is the same node with the
 * lightweight policy, which runs the body on the caller's thread if the node is idle. Jobs from
 * outside go by task_arena::enqueue; trees are task_groups inside the arena.
 *
 * The arena has `workers` slots, none of them reserved: a thread that executes in it takes a
 * slot, so never more than `workers` threads are at work.
 */
#include "peer.h"

#if __has_include(<oneapi/tbb/flow_graph.h>) && !defined(BENCH_NO_TBB)

#include "../team.h"

#include <oneapi/tbb/flow_graph.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>
#include <oneapi/tbb/task_scheduler_observer.h>

#include <sched.h>

#include <new>

namespace
{

namespace flow = tbb::flow;

class pinning : public tbb::task_scheduler_observer
{
      public:
	explicit pinning(tbb::task_arena &arena) : tbb::task_scheduler_observer(arena)
	{
		arena.initialize();
		observe(true);
	}

	~pinning() override
	{
		observe(false);
	}

	/* An arena of one has two slots, and its worker sits in the second. */
	static void pin()
	{
		team_pin(static_cast<unsigned>(tbb::this_task_arena::current_thread_index() %
		                               tbb::this_task_arena::max_concurrency()));
	}

	/* Other threads pin themselves where they come to work; most come for a moment only. */
	void on_scheduler_entry(bool is_worker) override
	{
		if (is_worker)
			pin();
	}
};

struct scheduler {
	explicit scheduler(unsigned workers)
	    : limit(tbb::global_control::max_allowed_parallelism, workers + 1),
	      arena(static_cast<int>(workers), 0), pinned(arena)
	{
		/* A graph runs in the arena in which it was made. */
		arena.execute([this] { new (&graph_memory) flow::graph; });
	}

	~scheduler()
	{
		arena.execute([this] {
			graph().wait_for_all();
			graph().~graph();
		});
	}

	flow::graph &graph()
	{
		return *std::launder(reinterpret_cast<flow::graph *>(&graph_memory));
	}

	tbb::global_control limit;
	tbb::task_arena arena;
	pinning pinned;
	alignas(flow::graph) unsigned char graph_memory[sizeof(flow::graph)];
};

/* Both peers' one, while either is in use. */
scheduler *running;
unsigned users;

/* As one of the workers, on their CPUs; then the thread gets its own CPUs back. */
template <class Body> void execute(Body body)
{
	cpu_set_t before;

	(void)sched_getaffinity(0, sizeof(before), &before);
	running->arena.execute([&body] {
		pinning::pin();
		body();
	});
	(void)sched_setaffinity(0, sizeof(before), &before);
}

void start(unsigned workers)
{
	if (!users++)
		running = new scheduler(workers);
}

void stop()
{
	if (--users)
		return;
	delete running;
	running = nullptr;
}

struct job {
	peer_fn run;
	void *argument;
};

/* It returns no message, since nobody listens. noexcept: the lightweight policy asks for it. */
struct run_job {
	flow::continue_msg operator()(const job &what) const noexcept
	{
		what.run(what.argument);
		return {};
	}
};

template <class Policy> struct queue {
	using node = flow::function_node<job, flow::continue_msg, Policy>;

	static_assert(alignof(node) <= 64, "the caller aligns to 64");

	static void init(void *memory)
	{
		new (memory) node(running->graph(), flow::serial, run_job());
	}

	/* The graph's tasks still touch the node when the last body has returned. */
	static void deinit(void *memory)
	{
		running->arena.execute([] { running->graph().wait_for_all(); });
		static_cast<node *>(memory)->~node();
	}

	static void submit(void *memory, peer_fn run, void *argument)
	{
		static_cast<node *>(memory)->try_put(job{run, argument});
	}
};

using serial_queue = queue<flow::queueing>;
using lightweight_queue = queue<flow::queueing_lightweight>;

void job_submit(peer_fn run, void *argument)
{
	running->arena.enqueue([run, argument] { run(argument); });
}

/*
 * One group for the whole tree, each call a task of it: a group for each call (or parallel_invoke)
 * costs half as much again, since each has a context.
 */
void branch(tbb::task_group &group, unsigned depth, peer_fn run, void *argument)
{
	run(argument);
	if (depth > 1) {
		group.run([&group, depth, run, argument] {
			branch(group, depth - 1, run, argument);
		});
		group.run([&group, depth, run, argument] {
			branch(group, depth - 1, run, argument);
		});
	}
}

void fan_out(unsigned depth, peer_fn run, void *argument)
{
	execute([=] {
		tbb::task_group group;

		branch(group, depth, run, argument);
		group.wait();
	});
}

unsigned long fib_of(unsigned n)
{
	unsigned long first;
	unsigned long second;
	tbb::task_group group;

	if (n < 2)
		return n;
	group.run([&first, n] { first = fib_of(n - 1); });
	group.run_and_wait([&second, n] { second = fib_of(n - 2); });
	return first + second;
}

unsigned long fib(unsigned n)
{
	unsigned long result = 0;

	execute([&result, n] { result = fib_of(n); });
	return result;
}

} // namespace

extern "C" const struct peer peer_tbb = {
	"oneTBB serial node",
	"libtbb-dev",
	true,
	start,
	stop,
	sizeof(serial_queue::node),
	serial_queue::init,
	serial_queue::deinit,
	serial_queue::submit,
	nullptr,
	true,
	job_submit,
	fan_out,
	fib,
	0,
	nullptr,
	nullptr,
};

extern "C" const struct peer peer_tbb_lightweight = {
	"oneTBB lightweight node",
	"libtbb-dev",
	true,
	start,
	stop,
	sizeof(lightweight_queue::node),
	lightweight_queue::init,
	lightweight_queue::deinit,
	lightweight_queue::submit,
	lightweight_queue::submit,
	true,
	nullptr,
	nullptr,
	nullptr,
	0,
	nullptr,
	nullptr,
};

#else

extern "C" const struct peer peer_tbb = peer_absent("oneTBB serial node", "libtbb-dev");

extern "C" const struct peer peer_tbb_lightweight =
	peer_absent("oneTBB lightweight node", "libtbb-dev");

#endif
