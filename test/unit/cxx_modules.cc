/* SPDX-License-Identifier: MIT */
/*
 * Executors, groups, timers and parallel loops in C++; and the mistakes that end the program.
 */
#include "cxx.h"

#include <array>
#include <functional>

using namespace std::chrono_literals;

namespace
{

/* ---- Executors, groups, timers ---- */

void a_pool_runs_callables()
{
	std::atomic<int> runs{0};

	{
		baton::pool pool;

		for (int i = 0; i < 10; i++)
			EXPECT(!pool.post([&runs, held = counted()] { runs++; }));
		EXPECT(!baton::post(pool.executor(), [&runs, held = counted()] { runs++; }));
	}
	EXPECT(runs == 11 && counted::alive == 0);
	{
		by_hand hand;

		/* Cancelled: destroyed at the end of the executor. */
		EXPECT(!baton::post(hand.executor(), [&runs, held = counted()] { runs++; }));
	}
	EXPECT(runs == 11 && counted::alive == 0);
	{
		baton_pool_options options = BATON_POOL_OPTIONS_INIT;
		options.workers = 1;
		baton::pool pool(options);

		EXPECT(baton_pool_shutdown(pool.native()) == 0);
		EXPECT(pool.post([held = counted()] {}) == baton::code(-ESHUTDOWN));
	}
}

void a_loop_runs_its_resources()
{
	baton::loop loop;
	const baton_resource_config config =
		baton::with_executor(loop.executor(), BATON_CAPTURE_NONE);
	baton::resource resource(config);
	int runs = 0;

	EXPECT(!resource.post([&runs, held = counted()] { runs++; }));
	EXPECT(runs == 0 && loop.fd() >= 0);
	EXPECT(loop.run() == 1 && runs == 1);
	loop.wake();
	EXPECT(loop.run(3) == 0);
}

void a_group_tells_of_its_end()
{
	baton::resource resource;
	baton::group group;
	int runs = 0;

	group.enter(2);
	baton::future<int> over =
		group.over().then(resource, [&runs, held = counted()] { return ++runs; });
	group.leave();
	EXPECT(!over.is_complete());
	group.leave(-EIO);
	EXPECT(over.error() == std::errc::io_error && runs == 0);
	EXPECT(!group.wait() && group.status() == std::errc::io_error);
	EXPECT(baton_group_take_status(&group) == -EIO);
	EXPECT(group.over().then(resource, [&runs] { return ++runs; }).get() == 1);
}

void a_guard_has_the_baton()
{
	baton::resource resource;
	baton::configured_resource bound(
		baton::with_executor(nullptr, BATON_CAPTURE_NONE)); /* to the pool */
	std::error_code error;
	int runs = 0;

	{
		baton::guard guard(resource);

		EXPECT(guard && resource.is_held());
		EXPECT(!resource.post([&runs, held = counted()] { runs++; }));
		EXPECT(runs == 0);
		baton::guard second(resource, error);
		EXPECT(!second && error == std::errc::resource_deadlock_would_occur);
		std::thread([&] {
			baton::guard other(resource, 0, error);

			EXPECT(!other && error == std::errc::timed_out);
		}).join();
	}
	EXPECT(runs == 1 && !resource.is_held());
	baton::guard guard(resource, BATON_FOREVER, error);
	EXPECT(guard && !error && resource.is_held());
	EXPECT(!guard.release() && !guard && !resource.is_held() && !guard.release());
	baton::guard refused(bound, error);
	EXPECT(!refused && error == std::errc::operation_not_permitted);
#if BATON_HAS_EXCEPTIONS
	try {
		baton::guard again(resource);

		throw 1;
	} catch (int) {
		EXPECT(!resource.is_held() && resource.is_idle());
	}
	try {
		baton::guard never(bound);

		EXPECT(false);
	} catch (const std::system_error &thrown) {
		EXPECT(thrown.code() == std::errc::operation_not_permitted);
	}
#endif
}

void a_timer_runs_its_callable()
{
	baton::resource resource;
	baton::group group;
	int runs = 0;
	baton::timer once(resource, [&, held = counted()] {
		EXPECT(resource.is_held());
		group.leave();
	});
	baton::timer<> often(resource, [&] {
		if (++runs == 3) {
			often.disarm();
			group.leave();
		}
	});
	baton::timer never(resource, [] { EXPECT(false); });

	group.enter(2);
	EXPECT(!once.arm_after(1ms) && !often.arm_every(1ms) && !never.arm_after(1h));
	EXPECT(!group.wait());
	EXPECT(runs == 3);
	EXPECT(never.stop() == BATON_STOP_PREVENTED && never.stop() == BATON_STOP_NOTHING);
	EXPECT(!often.arm_again_after(1h) && !once.arm_at(BATON_NEVER));
}

void a_parallel_loop_covers_each_index()
{
	std::array<std::atomic<int>, 1000> visits{};

	baton::parallel_for(visits.size(), [&](std::size_t i) { visits[i]++; });
	baton::parallel_for(visits.size(), [&](std::size_t begin, std::size_t end) {
		while (begin < end)
			visits[begin++]++;
	});
	for (const std::atomic<int> &each : visits)
		EXPECT(each == 2);
}

void a_span_has_an_end_or_none()
{
	EXPECT(baton::detail::span(-1s) == 0 && baton::detail::span(0s) == 0);
	EXPECT(baton::detail::span(1s) == BATON_SECOND && baton::detail::span(1ns) == 1);
	EXPECT(baton::detail::span(std::chrono::hours::max()) == BATON_FOREVER);
	EXPECT(baton::detail::span(std::chrono::duration<double>(0.5)) == BATON_SECOND / 2);
}

#if BATON_HAS_EXCEPTIONS

void a_parallel_loop_throws_one_exception()
{
	std::atomic<int> visits{0};

	EXPECT(thrown_by([&] {
		       baton::parallel_for(1000, [&](std::size_t i) {
			       visits++;
			       if (i == 500)
				       throw 5;
		       });
	       }) == 5);
	EXPECT(visits > 0 && visits <= 1000);
	EXPECT(thrown_by([&] {
		       baton_pool_options options = BATON_POOL_OPTIONS_INIT;
		       options.workers = BATON_POOL_WORKERS_MAX + 1;
		       baton::pool pool(options);
	       }) == -EINVAL);
}

#endif

/* ---- What ends the program ---- */

void mistakes_end_the_program()
{
#if BATON_HAS_EXCEPTIONS
	EXPECT(dies(
		[] {
			baton::resource resource;
			static_cast<void>(resource.post([] { throw 1; }));
		},
		"terminate"));
	EXPECT(dies(
		[] {
			waiting world;
			static_cast<void>(world.resource.post([] { throw 1; }));
			world.hand.run();
		},
		"terminate"));
	EXPECT(dies(
		[] {
			baton::resource resource;
			baton::task task{[] { throw 1; }};
			static_cast<void>(resource.submit(task));
		},
		"terminate"));
#else
	EXPECT(dies(
		[] {
			baton::resource resource;
			static_cast<void>(resource.close());
			resource.call([] {});
		},
		"terminate"));
#endif
	EXPECT(dies(
		[] {
			auto *resource = new baton::resource;
			static_cast<void>(resource->post([resource] { delete resource; }));
		},
		"a resource is destroyed in a task of its own"));
	EXPECT(dies(
		[] {
			waiting world;
			baton::tag tag;
			static_cast<void>(world.resource.post([] {}, tag.label()));
		},
		"a tag is destroyed while"));
	EXPECT(dies(
		[] {
			baton::resource resource;
			baton::timer<> *timer;
			timer = new baton::timer<>(resource, [&] { delete timer; });
			static_cast<void>(timer->arm_after(0s));
			pause();
		},
		"a timer is destroyed in its own callable"));
	EXPECT(dies(
		[] {
			auto *pool = new baton::pool;
			static_cast<void>(pool->post([pool] { delete pool; }));
			pause();
		},
		"a pool is destroyed on a thread of its own"));
}

#if BATON_HAS_COROUTINES

/* ---- Coroutines that are destroyed ---- */

baton::routine unowned(baton::resource &resource)
{
	co_await resource.enter();
	co_await resource.enter();
#if BATON_HAS_EXCEPTIONS
	throw 1;
#else
	std::terminate();
#endif
}

struct owned {
	struct promise_type {
		owned get_return_object() noexcept
		{
			return {std::coroutine_handle<promise_type>::from_promise(*this)};
		}

		std::suspend_never initial_suspend() noexcept
		{
			return {};
		}

		std::suspend_always final_suspend() noexcept
		{
			return {};
		}

		void return_void() noexcept
		{
		}

		void unhandled_exception() noexcept
		{
		}
	};

	std::coroutine_handle<promise_type> handle;
};

owned is_destroyed(baton::resource &resource)
{
	co_await resource.enter();
}

owned is_destroyed_asleep(baton::resource &resource)
{
	co_await resource.after(1h);
}

owned is_destroyed_for(baton::future<int> of, baton::resource &resource)
{
	co_await of.on(resource);
}

baton::routine waits_twice(baton::resource &resource)
{
	baton::delay delay(resource, 0s);

	co_await delay;
	co_await delay;
}

void mistakes_of_coroutines_end_the_program()
{
	EXPECT(dies(
		[] {
			baton::resource resource;
			unowned(resource);
		},
		"terminate"));
	EXPECT(dies(
		[] {
			waiting world;
			is_destroyed(world.resource).handle.destroy();
		},
		"a coroutine is destroyed while it waits"));
	EXPECT(dies(
		[] {
			baton::resource resource;
			is_destroyed_asleep(resource).handle.destroy();
		},
		"a coroutine is destroyed while it waits"));
	EXPECT(dies(
		[] {
			waiting world;
			is_destroyed_for(world.resource.async([] { return 1; }), world.resource)
				.handle.destroy();
		},
		"a coroutine is destroyed while it waits"));
	EXPECT(dies(
		[] {
			baton::resource resource;
			waits_twice(resource);
			pause();
		},
		"a delay is awaited twice"));
}

/* One that does not wait may be destroyed. */
void a_coroutine_that_has_ended_is_destroyed()
{
	baton::resource resource;
	const owned coroutine = is_destroyed(resource);

	EXPECT(coroutine.handle.done());
	coroutine.handle.destroy();
}

#endif

const claim claims[] = {
	{"mistakes", mistakes_end_the_program}, /* while there are no threads */
#if BATON_HAS_COROUTINES
	{"mistakes of coroutines", mistakes_of_coroutines_end_the_program},
	{"destroyed", a_coroutine_that_has_ended_is_destroyed},
#endif
	{"pool", a_pool_runs_callables},
	{"loop", a_loop_runs_its_resources},
	{"group", a_group_tells_of_its_end},
	{"guard", a_guard_has_the_baton},
	{"timer", a_timer_runs_its_callable},
	{"parallel_for", a_parallel_loop_covers_each_index},
	{"span", a_span_has_an_end_or_none},
#if BATON_HAS_EXCEPTIONS
	{"exceptions of a loop", a_parallel_loop_throws_one_exception},
#endif
};

} /* namespace */

int main()
{
	return run_claims("cxx_modules", claims);
}
