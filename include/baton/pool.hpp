/* SPDX-License-Identifier: MIT */
/*
 * A pool in C++ (baton/pool.h). It is created by the constructor, which throws what
 * baton_pool_create() returns, and destroyed by the destructor, which waits until everything
 * accepted has run: not on a thread of the pool. The resources that use it end before it.
 *
 *	baton::pool pool;
 *	const baton_resource_config config = baton::with_executor(pool.executor());
 *	baton::resource topic{config};
 */
#ifndef BATON_POOL_HPP
#define BATON_POOL_HPP

#include <cstddef>
#include <utility>

#include <baton/error.hpp>
#include <baton/pool.h>
#include <baton/resource.hpp>

namespace baton
{

namespace detail
{

/* A callable as a plain job, in a node. */
template <class F> struct posted_job : baton_plain_job {
	F callable;

	template <class G>
	explicit posted_job(std::in_place_t, G &&given) : callable(std::forward<G>(given))
	{
		baton_plain_job_init(this, run, cancelled);
	}

	static void run(baton_plain_job *job) noexcept
	{
		posted_job *self = static_cast<posted_job *>(job);

		static_cast<void>(std::move(self->callable)());
		unmake(self);
	}

	static void cancelled(baton_plain_job *job) noexcept
	{
		unmake(static_cast<posted_job *>(job));
	}
};

/* Hands a job with the callable to `submit`. */
template <class F, class Submit> [[nodiscard]] int post_job(F &&callable, Submit &&submit)
{
	posted_job<std::decay_t<F>> *job;
	int error = make(&job, std::in_place, std::forward<F>(callable));

	if (error)
		return error;
	error = submit(job);
	if (error)
		unmake(job);
	return error;
}

} /* namespace detail */

/* Runs a callable on a thread of the executor. It is moved into a node, and destroyed there when it
 * has returned; if the executor cancels it, by the thread that cancels; if the executor refuses it,
 * before this call returns. Thread safety: any thread. Errors: the executor's; -ENOMEM. */
template <class F> [[nodiscard]] std::error_code post(baton_executor *where, F &&callable)
{
	return code(detail::post_job(std::forward<F>(callable), [where](baton_plain_job *job) {
		return baton_executor_schedule(where, &job->job);
	}));
}

/* The defaults, but for the executor. */
inline baton_resource_config with_executor(baton_executor *executor,
                                           std::uint32_t capture_max = 0) noexcept
{
	baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;

	config.executor = executor;
	config.capture_max = capture_max;
	return config;
}

class pool
{
public:
	pool()
	{
		detail::raise_if(baton_pool_create(nullptr, &_pool));
	}

	explicit pool(const baton_pool_options &options)
	{
		detail::raise_if(baton_pool_create(&options, &_pool));
	}

	pool(const pool &) = delete;
	pool &operator=(const pool &) = delete;

	~pool()
	{
		const int error = baton_pool_destroy(_pool);

		if (error && error != -ECHILD)
			detail::misused("a pool is destroyed on a thread of its own");
	}

	baton_executor *executor() const noexcept
	{
		return baton_pool_executor(_pool);
	}

	baton_pool *native() const noexcept
	{
		return _pool;
	}

	/* As post() above. Errors: as baton_pool_submit(). */
	template <class F> [[nodiscard]] std::error_code post(F &&callable)
	{
		return code(
			detail::post_job(std::forward<F>(callable), [this](baton_plain_job *job) {
				return baton_pool_submit(_pool, job);
			}));
	}

private:
	baton_pool *_pool = nullptr;
};

} /* namespace baton */

#endif
