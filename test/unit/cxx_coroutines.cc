/* SPDX-License-Identifier: MIT */
/*
 * Coroutines: where they go on; what they find when they are refused or cancelled at each point;
 * and that each frame is given back exactly once.
 */
#include "cxx.h"

#include <array>
#include <memory>
#include <optional>
#include <string>

using namespace std::chrono_literals;

namespace
{

/* ---- enter ---- */

baton::future<int> enters(baton::resource &resource, counted = {})
{
	int runs = 0;

	co_await resource.enter();
	EXPECT(resource.is_held());
	runs++;
	co_await resource.enter(); /* again: behind what waits */
	EXPECT(resource.is_held());
	runs++;
	co_return runs;
}

void a_coroutine_enters_an_idle_resource_here()
{
	baton::resource resource;
	const auto self = std::this_thread::get_id();
	bool here = false;

	[](baton::resource &of, std::thread::id thread, bool &is) -> baton::routine {
		co_await of.enter();
		is = std::this_thread::get_id() == thread;
	}(resource, self, here);
	EXPECT(here && resource.is_idle());
	EXPECT(enters(resource).get() == 2);
}

void a_coroutine_enters_a_busy_resource_later()
{
	waiting world;
	baton::future<int> future = enters(world.resource);

	EXPECT(!future.is_complete() && counted::alive == 1);
	world.hand.run();
	EXPECT(future.is_complete() && future.get() == 2 && counted::alive == 0);
}

baton::future<void> enters_elsewhere(baton::resource &resource, std::thread::id self)
{
	co_await resource.enter_later();
	EXPECT(std::this_thread::get_id() != self && resource.is_held());
}

void enter_later_is_never_here()
{
	baton::resource resource;
	const auto self = std::this_thread::get_id();
	baton::future<void> future = enters_elsewhere(resource, self);

	while (!future.is_complete())
		std::this_thread::yield();
}

baton::future<int> goes_round(std::array<baton::resource, 5> &ring, std::array<int, 5> &steps,
                              int count)
{
	for (int i = 0; i < count; i++) {
		const std::size_t at = static_cast<std::size_t>(i) % 5;

		co_await ring[at].enter();
		EXPECT(ring[at].is_held());
		steps[at]++; /* a race, unless each is under its baton */
	}
	co_return count;
}

void coroutines_go_round_a_ring()
{
	constexpr int walkers = 8;
	std::array<int, 5> steps{};
	{
		std::array<baton::resource, 5> ring;
		std::array<std::thread, 2> threads;

		for (std::thread &thread : threads)
			thread = std::thread([&] {
				for (int i = 0; i < walkers / 2; i++)
					static_cast<void>(goes_round(ring, steps, 1000));
			});
		for (std::thread &thread : threads)
			thread.join();
		EXPECT(goes_round(ring, steps, 1000).get() == 1000);
		/* Those that were given up are under way, from one to the next. */
		int sum = 0;
		while (sum != (walkers + 1) * 1000) {
			sum = 0;
			for (std::size_t i = 0; i < 5; i++)
				sum += ring[i].call([&] { return steps[i]; });
		}
	}
	for (const int count : steps)
		EXPECT(count == (walkers + 1) * 200);
}

/* A chain without an end on one stack: 100,000 times from one resource to another. */
void a_long_way_needs_no_stack()
{
	std::array<baton::resource, 5> ring;
	std::array<int, 5> steps{};

	EXPECT(goes_round(ring, steps, 100000).get() == 100000);
}

/* ---- Refused, cancelled ---- */

baton::future<int> says_why(baton::resource &resource, counted = {})
{
	std::error_code error;

	co_await resource.enter(error);
	co_return error.value();
}

baton::future<int> says_why(baton::resource &resource, baton::tag &tag, counted = {})
{
	std::error_code error;

	co_await resource.enter(tag.label(), error);
	co_return error.value();
}

void a_coroutine_is_told_of_a_refusal()
{
	waiting world;
	baton::tag tag;
	baton::future<int> cancelled = says_why(world.resource);
	baton::future<int> tagged = says_why(world.resource, tag);

	EXPECT(!cancelled.is_complete() && tag.held() == 1);
	EXPECT(!world.resource.cancel_pending());
	world.hand.run();
	EXPECT(cancelled.get() == -ECANCELED && tagged.get() == -ECANCELED && tag.held() == 0);
	tagged = says_why(world.resource, tag);
	cancelled = says_why(world.resource);
	tag.cancel();
	world.hand.run();
	EXPECT(tagged.get() == -ECANCELED && cancelled.get() == 0);
	EXPECT(!world.resource.close());
	EXPECT(says_why(world.resource).get() == -EPIPE);
	EXPECT(says_why(world.resource, tag).get() == -EPIPE && tag.held() == 0);
}

void a_shutdown_tells_a_coroutine()
{
	std::optional<by_hand> hand(std::in_place);
	const baton_resource_config config =
		baton::with_executor(hand->executor(), BATON_CAPTURE_NONE);
	baton::resource resource(config);
	baton::future<int> waits = says_why(resource);

	hand.reset();
	EXPECT(waits.is_complete() && waits.get() == -ECANCELED);
}

/* ---- A coroutine's future ---- */

void a_frame_lives_until_both_are_over()
{
	waiting world;

	/* Given up first. */
	static_cast<void>(enters(world.resource));
	EXPECT(counted::alive == 1);
	world.hand.run();
	EXPECT(counted::alive == 0);
	/* Cancelled: the coroutine goes on all the same. */
	baton::future<int> future = enters(world.resource);
	EXPECT(!future.cancel() && future.error() == std::errc::operation_canceled);
	future = {};
	EXPECT(counted::alive == 1);
	world.hand.run();
	EXPECT(counted::alive == 0);
}

baton::future<int &> returns_a_reference(int &of)
{
	co_return of;
}

baton::future<std::unique_ptr<int>> returns_a_pointer(baton::resource &resource)
{
	co_await resource.enter();
	co_return std::make_unique<int>(7);
}

void a_coroutine_returns_what_it_likes()
{
	baton::resource resource;
	int value = 1;

	EXPECT(&returns_a_reference(value).get() == &value);
	EXPECT(*returns_a_pointer(resource).get() == 7);
	EXPECT(*returns_a_pointer(resource)
	                .then(resource, [](std::unique_ptr<int> from) { return from; })
	                .get() == 7);
}

/* ---- Futures ---- */

baton::future<int> waits_for(baton::future<int> of, baton::resource &where, counted = {})
{
	const int value = co_await of.on(where);

	EXPECT(where.is_held());
	co_return value;
}

void a_coroutine_goes_on_where_it_has_said()
{
	waiting first, second;
	baton::future<int> future =
		waits_for(first.resource.async([held = counted()] { return 5; }), second.resource);

	first.hand.run();
	EXPECT(!future.is_complete());
	second.hand.run();
	EXPECT(future.is_complete() && future.get() == 5);
	future = waits_for(first.resource.async([] { return 6; }), second.resource);
	first.hand.run();
	second.hand.run();
	EXPECT(future.get() == 6);
}

baton::future<int> waits_on(baton::future<int> of, baton_executor *executor, counted = {})
{
	co_await baton::enter(executor);
	co_return co_await of.on(executor);
}

void a_coroutine_goes_on_on_an_executor()
{
	waiting world;
	by_hand hand;
	baton::future<int> future =
		waits_on(world.resource.async([] { return 5; }), hand.executor());

	world.hand.run();
	EXPECT(!future.is_complete());
	hand.run();
	EXPECT(future.is_complete() && future.get() == 5);

	baton::pool pool;
	future = waits_on(world.resource.async([] { return 6; }), pool.executor());
	world.hand.run();
	EXPECT(future.get() == 6);
}

/* ---- Times ---- */

baton::future<int> sleeps(baton::resource &resource, std::chrono::milliseconds time, counted = {})
{
	const std::uint64_t before = baton_now();

	co_await resource.after(time);
	EXPECT(resource.is_held());
	EXPECT(baton_now() - before >= baton::detail::span(time));
	co_return 1;
}

void a_coroutine_sleeps()
{
	baton::resource resource;
	int sum = 0;

	for (int i = 0; i < 3; i++)
		sum += sleeps(resource, 3ms).get();
	EXPECT(sum == 3);
	sum += sleeps(resource, 0ms).get();
	EXPECT(sum == 4);
}

struct patient {
	baton::resource resource;
	baton::delay *delay = nullptr;

	baton::future<int> waits(counted = {})
	{
		baton::delay until(resource, 1h);

		delay = &until;
#if BATON_HAS_EXCEPTIONS
		try {
			co_await until;
		} catch (const std::system_error &error) {
			EXPECT(resource.is_held());
			co_return error.code().value();
		}
#else
		co_await until;
#endif
		co_return 0;
	}
};

#if BATON_HAS_EXCEPTIONS

void a_sleep_may_be_cancelled()
{
	patient self;
	baton::future<int> future = self.waits();

	EXPECT(!future.is_complete());
	EXPECT(!self.resource.call([&] { return self.delay->cancel(); }));
	EXPECT(future.get() == -ECANCELED);
}

baton::future<int> finds(baton::resource &resource, std::chrono::milliseconds time, counted = {})
{
	try {
		co_await resource.after(time);
	} catch (const std::system_error &error) {
		co_return error.code().value();
	}
	co_return 0;
}

void a_sleep_on_a_closed_resource_ends()
{
	baton::resource resource;
	baton::future<int> future = finds(resource, 20ms);

	EXPECT(!resource.close());
	EXPECT(future.get() == -EPIPE);
	EXPECT(finds(resource, 1ms).get() == -EPIPE);
}

/* ---- Exceptions ---- */

baton::future<int> throws(baton::resource &resource, counted = {})
{
	co_await resource.enter();
	throw 7;
}

baton::future<int> passes_on(baton::future<int> of, baton::resource &where, counted = {})
{
	co_return co_await of.on(where) + 1;
}

template <class T> int thrown_by(baton::future<T> future)
{
	try {
		future.get();
	} catch (int value) {
		return value;
	} catch (const std::system_error &error) {
		return error.code().value();
	}
	return 0;
}

baton::future<void> enters_and_throws_why(baton::resource &resource, counted = {})
{
	co_await resource.enter();
}

void an_exception_of_a_coroutine_is_in_the_future()
{
	waiting world;
	baton::resource resource;

	EXPECT(thrown_by(throws(resource)) == 7);
	EXPECT(thrown_by(passes_on(throws(resource), resource)) == 7);
	EXPECT(thrown_by(passes_on(resource.async([]() -> int { throw 8; }), resource)) == 8);
	baton::future<int> given_up = throws(world.resource);
	given_up = {};
	world.hand.run();
	/* The status of the resource that was to go on. */
	EXPECT(!world.resource.close());
	EXPECT(thrown_by(enters_and_throws_why(world.resource)) == -EPIPE);
	EXPECT(thrown_by(passes_on(resource.async([] { return 1; }), world.resource)) ==
	       -ECANCELED);
}

#endif

const claim claims[] = {
	{"enter, idle", a_coroutine_enters_an_idle_resource_here},
	{"enter, busy", a_coroutine_enters_a_busy_resource_later},
	{"enter_later", enter_later_is_never_here},
	{"ring", coroutines_go_round_a_ring},
	{"long way", a_long_way_needs_no_stack},
	{"refused", a_coroutine_is_told_of_a_refusal},
	{"shutdown", a_shutdown_tells_a_coroutine},
	{"frame", a_frame_lives_until_both_are_over},
	{"results", a_coroutine_returns_what_it_likes},
	{"future", a_coroutine_goes_on_where_it_has_said},
	{"executor", a_coroutine_goes_on_on_an_executor},
	{"after", a_coroutine_sleeps},
#if BATON_HAS_EXCEPTIONS
	{"delay", a_sleep_may_be_cancelled},
	{"closed", a_sleep_on_a_closed_resource_ends},
	{"exception", an_exception_of_a_coroutine_is_in_the_future},
#endif
};

} /* namespace */

int main()
{
	return run_claims("cxx_coroutines", claims);
}
