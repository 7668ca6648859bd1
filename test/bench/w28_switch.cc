/* SPDX-License-Identifier: MIT */
/*
 * W28: a coroutine that goes from one resource to another and back, on one thread, beside one that
 * goes from one of Asio's strands to another.
 */
extern "C" {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow" /* bench_group(), and its struct */
#include "harness.h"
#pragma GCC diagnostic pop
}

#include <baton.hpp>

#include <cstdlib>

#if __has_include(<boost/asio.hpp>) && !defined(BENCH_NO_ASIO)
#include <boost/asio.hpp>

#include <baton/asio.hpp>
#define BENCH_HAS_ASIO 1
#else
#define BENCH_HAS_ASIO 0
#endif

namespace
{

constexpr unsigned switches = 400000;
constexpr unsigned switches_quick = 40000;

unsigned count()
{
	return bench_options.quick ? switches_quick : switches;
}

unsigned arrivals; /* under the baton, or in the strand, of the place that was entered */

double since(std::uint64_t begin)
{
	if (arrivals != count())
		std::abort();
	return static_cast<double>(baton_now() - begin) / count();
}

baton::future<void> goes(baton::resource &one, baton::resource &other, unsigned n)
{
	for (unsigned i = 0; i < n; i += 2) {
		co_await one.enter();
		arrivals++;
		co_await other.enter();
		arrivals++;
	}
}

/* What waits for its turn is run by this thread, or, after a hand-off, by the pool. */
void run_baton(const void *, double *values)
{
	baton::resource one, other;

	arrivals = 0;
	const std::uint64_t begin = baton_now();
	goes(one, other, count()).get();
	values[0] = since(begin);
}

#if BENCH_HAS_ASIO

namespace asio = boost::asio;

/* Nothing runs at once: each switch is a job of the context, which this thread runs. */
void run_later(const void *, double *values)
{
	asio::io_context io;
	baton::asio_executor threads(io.get_executor());
	const baton_resource_config config = baton::with_executor(&threads, BATON_CAPTURE_NONE);
	baton::resource one(config), other(config);

	arrivals = 0;
	const std::uint64_t begin = baton_now();
	const baton::future<void> end = goes(one, other, count());
	io.run();
	values[0] = since(begin);
}

using strand = asio::strand<asio::io_context::executor_type>;

/* The leanest way: the handler is the coroutine's. (Asio's own awaitable comes back to the executor
 * on which it was spawned, and cannot be sent to another strand by Boost 1.74.) */
template <bool dispatches> struct enters {
	strand &where;

	bool await_ready() const noexcept
	{
		return false;
	}

	void await_suspend(std::coroutine_handle<> coroutine) const
	{
		if constexpr (dispatches)
			asio::dispatch(where, [coroutine] { coroutine.resume(); });
		else
			asio::post(where, [coroutine] { coroutine.resume(); });
	}

	void await_resume() const noexcept
	{
	}
};

template <bool dispatches> baton::routine goes(strand &one, strand &other, unsigned n)
{
	for (unsigned i = 0; i < n; i += 2) {
		co_await enters<dispatches>{one};
		arrivals++;
		co_await enters<dispatches>{other};
		arrivals++;
	}
}

template <bool dispatches> void run_asio(const void *, double *values)
{
	asio::io_context io;
	strand one(io.get_executor()), other(io.get_executor());

	arrivals = 0;
	const std::uint64_t begin = baton_now();
	goes<dispatches>(one, other, count());
	io.run();
	values[0] = since(begin);
}

#endif

const bench_case cases[] = {
	{"baton, enter()", run_baton, nullptr},
#if BENCH_HAS_ASIO
	{"baton, enter(), each through Boost.Asio's context", run_later, nullptr},
	{"Boost.Asio strand, dispatch", run_asio<true>, nullptr},
	{"Boost.Asio strand, post", run_asio<false>, nullptr},
#endif
};

const char *const metrics[] = {"ns per switch", nullptr};

const struct bench_group between_two = {
	"W28: a coroutine between two resources, one thread",
	metrics,
	cases,
	sizeof(cases) / sizeof(cases[0]),
	0,
	"The io_context is run by the thread that begins.",
};

} /* namespace */

extern "C" void bench_w28_switch(void)
{
	bench_group(&between_two);
}
