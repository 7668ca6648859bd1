/* SPDX-License-Identifier: MIT */
/*
 * A loop executor in C++ (baton/loop.h), for a thread that lives in an event loop. The constructor
 * throws what baton_loop_create() returns. The destructor runs the queued jobs, on the owner's
 * thread.
 *
 *	baton::loop loop;
 *	const baton_resource_config config =
 *		baton::with_executor(loop.executor(), BATON_CAPTURE_NONE);
 *	baton::resource session{config};   // its callables run on the loop's thread alone
 *
 *	loop.run();                        // when loop.fd() is readable
 */
#ifndef BATON_LOOP_HPP
#define BATON_LOOP_HPP

#include <cstddef>

#include <baton/error.hpp>
#include <baton/loop.h>

namespace baton
{

class loop
{
public:
	loop()
	{
		detail::raise_if(baton_loop_create(&_loop));
	}

	loop(const loop &) = delete;
	loop &operator=(const loop &) = delete;

	~loop()
	{
		baton_loop_destroy(_loop);
	}

	baton_executor *executor() const noexcept
	{
		return baton_loop_executor(_loop);
	}

	int fd() const noexcept
	{
		return baton_loop_fd(_loop);
	}

	baton_loop *native() const noexcept
	{
		return _loop;
	}

	/* baton_loop_run(): on the owner's thread, which the first caller becomes. */
	std::size_t run(std::size_t jobs_max = 0) noexcept
	{
		return baton_loop_run(_loop, jobs_max);
	}

	/* baton_loop_wake(): any thread. */
	void wake() noexcept
	{
		baton_loop_wake(_loop);
	}

private:
	baton_loop *_loop = nullptr;
};

} /* namespace baton */

#endif
