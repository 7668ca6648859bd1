/* SPDX-License-Identifier: MIT */
/*
 * baton and Asio, Boost's or (with BATON_ASIO_STANDALONE defined) the standalone one; either way
 * round.
 *
 * baton::executor makes a resource an executor of Asio. It takes the place of a strand:
 *
 *	asio::strand<asio::io_context::executor_type> strand{io.get_executor()};   // before
 *	baton::executor strand{session.resource, io};                              // after
 *
 *	asio::post(strand, f);
 *	asio::co_spawn(strand, serve(session), asio::detached);
 *	socket.async_read_some(buffer, asio::bind_executor(strand, handler));
 *
 *                                | the handler runs, as a task of the resource
 *   asio::post, asio::defer      | where post_later's callable runs: never on this thread
 *   asio::dispatch, and what     | at once, if this thread runs a task of the resource; else where
 *     completes an operation     | post's callable runs: here, if the resource is idle
 *
 * The handler is moved into a node, and destroyed as the callable of a post is (resource.hpp). A
 * handler that the resource refuses is destroyed, and execute() throws a std::system_error. An
 * exception that leaves a handler ends the program; that of a coroutine is co_spawn's. The resource
 * lives until the last handler was given to it.
 *
 * baton::asio_executor makes an executor of Asio, an io_context's say, an executor of baton: its
 * threads, and no pool, run the resources that use it.
 *
 *	baton::asio_executor threads{io.get_executor()};
 *	const baton_resource_config config = baton::with_executor(&threads);
 */
#ifndef BATON_ASIO_HPP
#define BATON_ASIO_HPP

#include <type_traits>
#include <utility>

#include <baton/executor.h>
#include <baton/resource.hpp>

#if defined(BATON_ASIO_STANDALONE)
#include <asio/execution.hpp>
#include <asio/execution_context.hpp>
#include <asio/post.hpp>
#include <asio/query.hpp>
#include <asio/system_executor.hpp>
#else
#include <boost/asio/execution.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/query.hpp>
#include <boost/asio/system_executor.hpp>
#endif

namespace baton
{

#if defined(BATON_ASIO_STANDALONE)
namespace asio = ::asio;
#else
namespace asio = ::boost::asio;
#endif

/* Copied freely. Any thread may use it. */
class executor
{
public:
	/* `context`: where Asio finds services for this executor (its timers, say): mostly the
	 * io_context of the sockets. Without it: the system's. */
	executor(baton_resource &where, asio::execution_context &context) noexcept
	    : _resource(&where), _context(&context)
	{
	}

	explicit executor(baton_resource &where)
	    : executor(where, asio::query(asio::system_executor(), asio::execution::context))
	{
	}

	asio::execution_context &query(asio::execution::context_t) const noexcept
	{
		return *_context;
	}

	asio::execution::blocking_t query(asio::execution::blocking_t) const noexcept
	{
		if (_later)
			return asio::execution::blocking.never;
		return asio::execution::blocking.possibly;
	}

	executor require(asio::execution::blocking_t::never_t) const noexcept
	{
		executor later(*this);

		later._later = true;
		return later;
	}

	executor require(asio::execution::blocking_t::possibly_t) const noexcept
	{
		executor possibly(*this);

		possibly._later = false;
		return possibly;
	}

	template <class F> void execute(F &&handler) const
	{
		resource &where = resource::of(*_resource);

		if (_later)
			detail::raise_if(where.post_later(std::forward<F>(handler)).value());
		else if (baton_current() == _resource)
			detail::run_here(std::decay_t<F>(std::forward<F>(handler)));
		else
			detail::raise_if(where.post(std::forward<F>(handler)).value());
	}

	friend bool operator==(const executor &one, const executor &other) noexcept
	{
		return one._resource == other._resource && one._later == other._later;
	}

	friend bool operator!=(const executor &one, const executor &other) noexcept
	{
		return !(one == other);
	}

private:
	baton_resource *_resource;
	asio::execution_context *_context;
	bool _later = false;
};

/* It outlives the resources that use it. A job that Asio destroys without a run, at the end of its
 * context, is cancelled. A context that was stopped runs nothing more. */
template <class Executor> class asio_executor : public baton_executor
{
public:
	explicit asio_executor(Executor threads) : _threads(std::move(threads))
	{
		baton_executor_init(this, &ops);
	}

	asio_executor(const asio_executor &) = delete;
	asio_executor &operator=(const asio_executor &) = delete;

private:
	class scheduled
	{
	public:
		explicit scheduled(baton_job *job) noexcept : _job(job)
		{
		}

		scheduled(scheduled &&from) noexcept : _job(std::exchange(from._job, nullptr))
		{
		}

		scheduled &operator=(scheduled &&) = delete;

		~scheduled()
		{
			if (_job)
				baton_job_cancel(_job);
		}

		void operator()() noexcept
		{
			baton_job_run(std::exchange(_job, nullptr));
		}

	private:
		baton_job *_job;
	};

	static int schedule(baton_executor *self, baton_job *job) noexcept
	{
		asio::post(static_cast<asio_executor *>(self)->_threads, scheduled(job));
		return 0;
	}

	static constexpr baton_executor_ops operations() noexcept
	{
		baton_executor_ops made{};

		made.schedule = schedule;
		return made;
	}

	static constexpr baton_executor_ops ops = operations();

	Executor _threads;
};

} /* namespace baton */

#endif
