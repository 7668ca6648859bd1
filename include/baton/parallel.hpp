/* SPDX-License-Identifier: MIT */
/*
 * A parallel loop in C++ (baton/parallel.h): a callable for all indices of a range, on this thread
 * and on workers of a pool.
 *
 *	baton::parallel_for(samples.size(), [&](size_t i) { samples[i] *= 0.5; });
 *
 * Experimental: may change without a table in CHANGES until a program from a real need uses it.
 */
#ifndef BATON_PARALLEL_HPP
#define BATON_PARALLEL_HPP

#include <atomic>
#include <cstddef>
#include <exception>
#include <type_traits>

#include <baton/error.hpp>
#include <baton/parallel.h>

namespace baton
{

namespace detail
{

template <class F> struct parallel_body {
	F &callable;
	std::atomic<bool> failed{false};
	std::exception_ptr exception;

	static int run(void *arg, std::size_t begin, std::size_t end) noexcept
	{
		parallel_body *self = static_cast<parallel_body *>(arg);

#if BATON_HAS_EXCEPTIONS
		try {
			self->chunk(begin, end);
		} catch (...) {
			if (!self->failed.exchange(true, std::memory_order_relaxed))
				self->exception = std::current_exception();
			return thrown;
		}
#else
		self->chunk(begin, end);
#endif
		return 0;
	}

	void chunk(std::size_t begin, std::size_t end)
	{
		if constexpr (std::is_invocable_v<F &, std::size_t, std::size_t>)
			callable(begin, end);
		else
			for (std::size_t i = begin; i < end; i++)
				callable(i);
	}
};

} /* namespace detail */

/*
 * Calls callable(i) for each index below `count`, or callable(begin, end) for chunks, several at a
 * time. Returns when all calls have ended. The callable is the caller's, and is not moved. `grain`
 * and `pool`: as for baton_parallel_for().
 *
 * After an exception no chunk is begun any more; the first one in time is thrown here, the other
 * ones are dropped.
 */
template <class F>
void parallel_for(std::size_t count, F &&callable, std::size_t grain = 0,
                  baton_pool *pool = nullptr)
{
	detail::parallel_body<std::remove_reference_t<F>> body{callable, {}, {}};
	const int error = baton_parallel_for(pool, count, grain, body.run, &body);

#if BATON_HAS_EXCEPTIONS
	if (body.exception)
		std::rethrow_exception(std::move(body.exception));
#endif
	detail::raise_if(error);
}

} /* namespace baton */

#endif
