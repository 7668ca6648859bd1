/* SPDX-License-Identifier: MIT */
/*
 * A guard: this thread has the resource's baton as long as the guard lives, as with a
 * std::lock_guard (baton/hold.h). What the scope does runs on this thread, and is no callable.
 *
 *	{
 *		baton::guard guard(account.resource);
 *
 *		account.balance += amount;
 *	}
 *
 * A guard ends in the function, and on the thread, in which it began. It must not be held across a
 * co_await: the coroutine might go on on another thread. Where many threads want one resource,
 * call() is the better choice: hold.h says why.
 *
 * Experimental: may change without a table in CHANGES until a program from a real need uses it.
 */
#ifndef BATON_GUARD_HPP
#define BATON_GUARD_HPP

#include <cstdint>
#include <system_error>
#include <utility>

#include <baton/error.hpp>
#include <baton/hold.h>
#include <baton/inline.h>

namespace baton
{

class [[nodiscard]] guard
{
public:
	/* Waits for the baton. Throws what baton_hold() returns. */
	explicit guard(baton_resource &resource)
	{
		detail::raise_if(baton_hold(&resource, &_hold));
		_held = true;
	}

	/* The same with a code; and at most until a deadline (baton/time.h). */
	guard(baton_resource &resource, std::error_code &error) noexcept
	{
		const int status = baton_hold(&resource, &_hold);

		error = code(status);
		_held = !status;
	}

	guard(baton_resource &resource, std::uint64_t deadline_ns, std::error_code &error) noexcept
	{
		const int status = baton_hold_until(&resource, &_hold, deadline_ns);

		error = code(status);
		_held = !status;
	}

	guard(const guard &) = delete;
	guard &operator=(const guard &) = delete;

	/* Gives the baton back. What a batch_end returns is not told here: see release(). */
	~guard()
	{
		static_cast<void>(release());
	}

	/* Is the baton held? False after an error, and after release(). */
	explicit operator bool() const noexcept
	{
		return _held;
	}

	/* Gives the baton back before the scope ends. */
	std::error_code release() noexcept
	{
		return code(std::exchange(_held, false) ? baton_release(&_hold) : 0);
	}

private:
	struct baton_hold _hold = BATON_HOLD_INIT;
	bool _held = false;
};

} /* namespace baton */

#endif
