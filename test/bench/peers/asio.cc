/* SPDX-License-Identifier: MIT */
/*
 * Boost.Asio: a thread_pool, and strands on it. thread_pool has no hook for its threads, so each of
 * them pins itself in a first job, which ends when all have come. What handlers need Asio takes
 * from its own recycling allocator, which is its default.
 */
#include "peer.h"

#if __has_include(<boost/asio.hpp>) && !defined(BENCH_NO_ASIO)

#include "fan_out.h"

#include "../team.h"

#include <boost/asio/defer.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>

#include <pthread.h>

#include <new>

namespace
{

namespace asio = boost::asio;

using strand = asio::strand<asio::thread_pool::executor_type>;

asio::thread_pool *pool;

void start(unsigned workers)
{
	pthread_barrier_t all;

	pool = new asio::thread_pool(workers);
	(void)pthread_barrier_init(&all, nullptr, workers + 1);
	for (unsigned i = 0; i < workers; i++)
		asio::post(*pool, [i, &all] {
			team_pin(i);
			(void)pthread_barrier_wait(&all);
		});
	(void)pthread_barrier_wait(&all);
	/* A worker may be still inside the wait: destroy waits for it. */
	(void)pthread_barrier_destroy(&all);
}

void stop()
{
	pool->join();
	delete pool;
	pool = nullptr;
}

void queue_init(void *queue)
{
	new (queue) strand(pool->get_executor());
}

void queue_deinit(void *queue)
{
	static_cast<strand *>(queue)->~strand();
}

void queue_submit(void *queue, peer_fn run, void *argument)
{
	asio::post(*static_cast<strand *>(queue), [run, argument] { run(argument); });
}

/* Runs inline on the pool's threads alone; elsewhere it is a post. */
void queue_dispatch(void *queue, peer_fn run, void *argument)
{
	asio::dispatch(*static_cast<strand *>(queue), [run, argument] { run(argument); });
}

void queue_call(void *queue, peer_fn run, void *argument)
{
	asio::post(*static_cast<strand *>(queue), asio::use_future([run, argument] {
		run(argument);
	})).get();
}

void job_submit(peer_fn run, void *argument)
{
	asio::post(*pool, [run, argument] { run(argument); });
}

/* For jobs that a job submits: they need not wake anybody before the job itself is over. */
void job_defer(peer_fn run, void *argument)
{
	asio::defer(*pool, [run, argument] { run(argument); });
}

void fan_out(unsigned depth, peer_fn run, void *argument)
{
	fan_out_by(job_submit, job_defer, depth, run, argument);
}

} // namespace

extern "C" const struct peer peer_asio = {
	"Boost.Asio strand",
	"libboost-dev",
	true,
	start,
	stop,
	sizeof(strand),
	queue_init,
	queue_deinit,
	queue_submit,
	queue_dispatch,
	true,
	job_submit,
	fan_out,
	nullptr,
	0,
	nullptr,
	queue_call,
};

#else

extern "C" const struct peer peer_asio = peer_absent("Boost.Asio strand", "libboost-dev");

#endif
