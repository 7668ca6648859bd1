/* SPDX-License-Identifier: MIT */
/*
 * A timer in C++ (baton/timer.h): runs a callable as a task of a resource after a time, or again
 * and again. It runs where the function of a timer runs: mostly on the executor's thread, or on the
 * runner's thread.
 *
 *	baton::timer<> keep_alive{session.resource, [&session] { session.gone(); }};
 *
 *	error = keep_alive.arm_after(60s);
 *
 * The callable lies in the timer, and is destroyed with it, by the timer's owner. A run that the
 * resource refuses, because it was closed meanwhile, is left out (to be told of it, see
 * baton_timer_set_dropped()). A coroutine needs no timer: `co_await session.resource.after(time)`.
 */
#ifndef BATON_TIMER_HPP
#define BATON_TIMER_HPP

#include <cstdint>
#include <functional>
#include <type_traits>
#include <utility>

#include <baton/error.hpp>
#include <baton/resource.hpp>
#include <baton/timer.h>

namespace baton
{

template <class F = std::function<void()>> class timer : public baton_timer
{
public:
	/* `wheel` NULL: the default wheel. */
	timer(baton_resource &where, F callable, baton_timers *wheel = nullptr)
	    : _callable(std::move(callable))
	{
		baton_timer_init(this, wheel, &where, run);
	}

	timer(const timer &) = delete;
	timer &operator=(const timer &) = delete;

	/*
	 * Stops the timer, and waits until a run that is queued, or has begun, is over. So destroy
	 * it after its resource was awaited, or in a task of the resource in which no run is queued
	 * (a finaliser, say). In a task in which one is, and in its own callable, the program ends.
	 */
	~timer()
	{
		const int error = baton_timer_stop_wait(this);

		if (error && error != -ECHILD)
			detail::misused(
				"a timer is destroyed in its own callable, or in a task of its "
				"resource while its run is queued");
	}

	/* Any thread; see baton_timer_arm_after() and its sisters, also for the errors. */
	template <class Rep, class Period>
	[[nodiscard]] std::error_code arm_after(std::chrono::duration<Rep, Period> delay)
	{
		return code(baton_timer_arm_after(this, detail::span(delay)));
	}

	[[nodiscard]] std::error_code arm_at(std::uint64_t deadline_ns) noexcept
	{
		return code(baton_timer_arm_at(this, deadline_ns));
	}

	/* At a fixed rate, the first time after one period. */
	template <class Rep, class Period>
	[[nodiscard]] std::error_code arm_every(std::chrono::duration<Rep, Period> period,
	                                        baton_timer_policy policy = BATON_TIMER_SKIP)
	{
		const std::uint64_t ns = detail::span(period);

		return code(baton_timer_arm_every(this, baton_after(ns), ns, policy));
	}

	/* The same delay after the end of each run. */
	template <class Rep, class Period>
	[[nodiscard]] std::error_code arm_again_after(std::chrono::duration<Rep, Period> delay)
	{
		return code(baton_timer_arm_again_after(this, detail::span(delay)));
	}

	/* What the stop met; baton/stop.h says when the timer may be destroyed. */
	[[nodiscard]] baton_stop stop() noexcept
	{
		return baton_timer_stop(this).met;
	}

	void disarm() noexcept
	{
		baton_timer_disarm(this);
	}

private:
	static int run(baton_timer *self) noexcept
	{
		static_cast<void>(static_cast<timer *>(self)->_callable());
		return 0;
	}

	F _callable;
};

} /* namespace baton */

#endif
