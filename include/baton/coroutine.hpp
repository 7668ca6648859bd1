/* SPDX-License-Identifier: MIT */
/*
 * What a coroutine may return (C++20): a future of what it returns, or a baton::routine, for which
 * nobody waits. What it may wait for: await.hpp.
 *
 *	baton::future<std::string> name_of(session &self)
 *	{
 *		co_await self.resource.enter();
 *		co_return self.name;
 *	}
 *
 *                          | a future<T>                        | a routine
 *   begins                 | at once, on this thread            | the same
 *   its frame is given     | at the end, or with the future, if | at the end
 *     back                 | that comes later                   |
 *   an exception leaves it | it is in the future                | the program ends
 *
 * Cost: the frame is the only allocation; it is the future's memory, too.
 */
#ifndef BATON_COROUTINE_HPP
#define BATON_COROUTINE_HPP

#include <baton/await.hpp>

#if BATON_HAS_COROUTINES

#include <coroutine>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

#include <baton/future.hpp>

namespace baton
{

/*
 * A coroutine that nobody waits for. It begins at once, on this thread. Its frame is given back
 * when it ends, on the thread where it ends. An exception that leaves it ends the program.
 */
struct routine {
	struct promise_type {
		routine get_return_object() noexcept
		{
			return {};
		}

		std::suspend_never initial_suspend() noexcept
		{
			return {};
		}

		std::suspend_never final_suspend() noexcept
		{
			return {};
		}

		void return_void() noexcept
		{
		}

		[[noreturn]] void unhandled_exception() noexcept
		{
			std::terminate();
		}
	};
};

namespace detail
{

/*
 * A coroutine that returns a future. It begins at once, on this thread; its future is complete when
 * it ends, also by an exception. The frame is the future's memory.
 */
template <class T> struct coroutine_state : shared_state {
	std::optional<stored<T>> result;
	std::exception_ptr exception;
	int status = 0;

	coroutine_state() noexcept : shared_state(destroyed)
	{
	}

	static void destroyed(shared_state *self) noexcept
	{
		using promise = coroutine_promise<T>;

		std::coroutine_handle<promise>::from_promise(*static_cast<promise *>(self))
			.destroy();
	}

	struct ending {
		bool await_ready() const noexcept
		{
			return false;
		}

		__attribute__((noinline)) void await_suspend(
			std::coroutine_handle<coroutine_promise<T>> coroutine) noexcept
		{
			coroutine_promise<T> &self = coroutine.promise();

			self.complete(self.status, self.result ? static_cast<void *>(&*self.result)
			                                       : exception_value(&self.exception));
			self.leave();
		}

		void await_resume() const noexcept
		{
		}
	};

	baton::future<T> get_return_object() noexcept
	{
		return baton::future<T>(this);
	}

	std::suspend_never initial_suspend() noexcept
	{
		return {};
	}

	ending final_suspend() noexcept
	{
		return {};
	}

	void unhandled_exception() noexcept
	{
#if BATON_HAS_EXCEPTIONS
		status = status_of_exception();
		exception = std::current_exception();
#endif
	}
};

template <class T> struct coroutine_promise : coroutine_state<T> {
	template <class U> void return_value(U &&value)
	{
		if constexpr (std::is_reference_v<T>)
			this->result.emplace(std::addressof(value));
		else
			this->result.emplace(std::forward<U>(value));
	}
};

template <> struct coroutine_promise<void> : coroutine_state<void> {
	void return_void() noexcept
	{
		result.emplace();
	}
};

} /* namespace detail */

} /* namespace baton */

#endif

#endif
