/* SPDX-License-Identifier: MIT */
/*
 * Futures of callables: results, exceptions and statuses; then, when_all, when_any; and that each
 * callable and each result is destroyed exactly once, wherever its way ends.
 */
#include "cxx.h"

#include <array>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

using namespace std::chrono_literals;

namespace
{

/* ---- Results ---- */

void a_future_has_the_result()
{
	baton::resource resource;
	int value = 1;

	EXPECT(resource.async([&] { return value; }).get() == 1);
	EXPECT(&resource.async([&]() -> int & { return value; }).get() == &value);
	EXPECT(*resource.async([] { return std::make_unique<int>(7); }).get() == 7);
	EXPECT(resource.async_later([] { return std::string(1000, 'a'); }).get().size() == 1000);
	resource.async([&, held = counted()] { value = 2; }).get();
	EXPECT(value == 2);
	EXPECT(!resource.async([]() -> std::exception_ptr { return {}; }).get());
}

void a_future_is_empty_when_its_result_is_taken()
{
	baton::resource resource;
	baton::future<counted> future = resource.async([] { return counted(); });

	EXPECT(future.valid() && future.is_complete() && !future.error());
	EXPECT(counted::alive == 1);
	{
		const counted taken = future.get();

		EXPECT(!future.valid() && counted::alive == 1);
	}
	EXPECT(counted::alive == 0);
	future = resource.async([] { return counted(); });
	EXPECT(counted::alive == 1);
	future = {};
	EXPECT(counted::alive == 0 && !future.valid());
}

void a_future_can_be_waited_for()
{
	waiting world;
	baton::future<int> future = world.resource.async([held = counted()] { return 3; });

	EXPECT(future.error() == std::errc::resource_unavailable_try_again);
	EXPECT(!future.wait() && future.get() == 3); /* by helping: this thread drives */
	std::thread([&] {
		baton::future<int> late = world.resource.async([] { return 3; });

		EXPECT(late.wait_for(1ms) == std::errc::timed_out);
		EXPECT(late.wait_until(0) == std::errc::timed_out);
		EXPECT(late.native() && !baton_future_is_complete(late.native()));
	}).join();
	world.hand.run();
}

/* ---- Ends without a run ---- */

template <std::size_t bytes> void cancelled_async(waiting &world)
{
	std::array<char, bytes> filling{};
	baton::future<counted> future = world.resource.async(
		[filling, held = counted()] { return filling[0] ? held : held; });

	EXPECT(counted::alive == 1);
	EXPECT(!future.cancel());
	world.hand.run();
	EXPECT(future.is_complete() && future.error() == std::errc::operation_canceled);
	EXPECT(future.cancel() == std::errc::connection_already_in_progress);
	EXPECT(counted::alive == 1);
	future = {};
	EXPECT(counted::alive == 0);
}

void a_cancelled_callable_goes_with_the_future()
{
	waiting world;

	cancelled_async<1>(world);
	cancelled_async<1000>(world);
	/* Given up first: by the runner, then. */
	static_cast<void>(world.resource.async([held = counted()] { EXPECT(false); }));
	EXPECT(!world.resource.cancel_pending() && counted::alive == 1);
	world.hand.run();
	EXPECT(counted::alive == 0);
}

void a_future_may_be_given_up_at_any_time()
{
	waiting world;
	int runs = 0;

	static_cast<void>(world.resource.async([&, held = counted()] {
		runs++;
		return counted();
	}));
	EXPECT(runs == 0 && counted::alive == 1);
	world.hand.run();
	EXPECT(runs == 1 && counted::alive == 0);
	{
		baton::future<counted> complete =
			world.resource.async([held = counted()] { return counted(); });

		world.hand.run();
		EXPECT(counted::alive == 1);
	}
	EXPECT(counted::alive == 0);
}

/* While the task runs on another thread. */
void a_running_future_may_be_given_up()
{
	for (int i = 0; i < 200; i++) {
		baton::resource resource;

		static_cast<void>(resource.async_later([held = counted()] { return counted(); }));
		baton::future<counted> future =
			resource.async_later([held = counted()] { return counted(); });
		static_cast<void>(future.cancel());
	}
	EXPECT(counted::alive == 0);
}

void a_refused_async_says_so_in_the_future()
{
	baton::resource resource;

	EXPECT(!resource.close());
	baton::future<int> future = resource.async([held = counted()] { return 1; });
	EXPECT(future.is_complete() && future.error() == std::errc::broken_pipe);
	EXPECT(!future.wait() && counted::alive == 1);
	future = {};
	EXPECT(counted::alive == 0);
}

/* ---- then ---- */

void a_chain_runs_where_it_is_told_to()
{
	waiting first, second;
	baton::future<std::string> future =
		first.resource.async([] { return 6; })
			.then(second.resource,
	                      [&, held = counted()](int value) {
				      EXPECT(second.resource.is_held() &&
		                             !first.resource.is_held());
				      return value * 7;
			      })
			.then(first.resource, [&, held = counted()](int value) {
				EXPECT(first.resource.is_held());
				return std::to_string(value);
			});

	EXPECT(counted::alive == 2);
	first.hand.run();
	EXPECT(!future.is_complete() && counted::alive == 2);
	second.hand.run();
	EXPECT(!future.is_complete() && counted::alive == 1);
	first.hand.run();
	EXPECT(future.get() == "42" && counted::alive == 0);
}

void a_chain_on_a_complete_future_runs_too()
{
	baton::resource resource;
	int runs = 0;

	resource.async([] {}).then(resource, [&] { runs++; }).get();
	EXPECT(runs == 1);
}

void a_status_passes_a_chain_by()
{
	waiting world;
	baton::resource resource;
	baton::future<int> first = world.resource.async([held = counted()] { return 1; });
	baton_future *native = first.native();
	baton::future<int> last = std::move(first)
	                                  .then(resource, [held = counted()](int) { return 2; })
	                                  .then(resource, [held = counted()](int) { return 3; });

	EXPECT(last.cancel() == std::errc::invalid_argument); /* it is not submitted yet */
	EXPECT(baton_future_cancel(native) == 0);
	world.hand.run();
	EXPECT(!last.wait() && last.error() == std::errc::operation_canceled);
	last = {};
	EXPECT(!resource.await() && counted::alive == 0);
}

void a_refused_link_cancels_the_rest()
{
	waiting world;
	baton::resource closed, resource;

	EXPECT(!closed.close());
	baton::future<int> last =
		world.resource.async([held = counted()] { return counted(); })
			.then(closed, [held = counted()](const counted &) { return 2; })
			.then(resource, [held = counted()](int) { return 3; });
	world.hand.run();
	EXPECT(last.error() == std::errc::operation_canceled);
	last = {};
	EXPECT(counted::alive == 0);
}

void a_chain_may_be_given_up()
{
	waiting world;
	baton::resource resource;
	int runs = 0;

	static_cast<void>(
		world.resource.async([held = counted()] { return 1; })
			.then(resource, [&, held = counted()](int value) { runs = value; }));
	EXPECT(counted::alive == 2);
	world.hand.run();
	EXPECT(runs == 1 && counted::alive == 0);
}

/* ---- Several ---- */

template <class T> void add(std::vector<baton::future<T>> &futures, baton::future<T> future)
{
	futures.push_back(std::move(future));
}

void all_of_a_vector_are_complete()
{
	waiting first, second;
	std::vector<baton::future<int>> futures;

	for (int i = 0; i < 10; i++)
		add(futures,
		    (i % 2 ? first : second).resource.async([i, held = counted()] { return i; }));
	EXPECT(!futures[4].cancel());
	baton::future<std::vector<baton::future<int>>> all = when_all(std::move(futures));
	first.hand.run();
	EXPECT(!all.is_complete());
	second.hand.run();
	EXPECT(all.is_complete());
	std::vector<baton::future<int>> ended = all.get();
	for (int i = 0; i < 10; i++) {
		baton::future<int> &each = ended[static_cast<std::size_t>(i)];

		EXPECT(each.is_complete());
		EXPECT(i == 4 ? each.error() == std::errc::operation_canceled : each.get() == i);
	}
	EXPECT(when_all(std::vector<baton::future<int>>()).get().empty());
}

void all_of_several_types_are_complete()
{
	baton::resource resource;
	baton::future<std::tuple<baton::future<int>, baton::future<void>>> all =
		baton::when_all(resource.async_later([] { return 1; }),
	                        resource.async_later([held = counted()] {}));
	auto [number, nothing] = all.get();

	EXPECT(number.get() == 1);
	nothing.get();
}

void any_of_several_is_the_first()
{
	waiting first, second;
	std::vector<baton::future<int>> futures;

	add(futures, first.resource.async([held = counted()] { return 1; }));
	add(futures, second.resource.async([held = counted()] { return 2; }));
	baton::future<baton::first_of<int>> any = when_any(std::move(futures));
	EXPECT(!any.is_complete());
	second.hand.run();
	EXPECT(any.is_complete());
	{
		baton::first_of<int> found = any.get();

		EXPECT(found.index == 1 && found.first.get() == 2);
	}
	EXPECT(counted::alive == 1);
	first.hand.run();
	EXPECT(counted::alive == 0);
	EXPECT(when_any(std::vector<baton::future<int>>()).error() == std::errc::invalid_argument);
}

/* The future of all is cancelled, and given up, while those that it waits for go on. */
void a_future_of_several_may_be_cancelled()
{
	waiting world;

	for (int i = 0; i < 2; i++) {
		std::vector<baton::future<counted>> futures;

		for (int j = 0; j < 3; j++)
			add(futures,
			    world.resource.async([held = counted()] { return counted(); }));
		if (i) {
			auto all = when_all(std::move(futures));

			EXPECT(!all.cancel() && all.error() == std::errc::operation_canceled);
		} else {
			auto any = when_any(std::move(futures));

			EXPECT(!any.cancel() && any.error() == std::errc::operation_canceled);
		}
		EXPECT(counted::alive == 3);
		world.hand.run();
		EXPECT(counted::alive == 0);
	}
}

void several_end_on_many_threads()
{
	for (int i = 0; i < 50; i++) {
		std::array<baton::resource, 4> resources;
		std::vector<baton::future<int>> futures, others;

		for (int j = 0; j < 8; j++) {
			baton::resource &resource = resources[static_cast<std::size_t>(j) % 4];

			add(futures, resource.async_later([j, held = counted()] { return j; }));
			add(others, resource.async_later([j, held = counted()] { return j; }));
		}
		auto all = when_all(std::move(futures));
		auto any = when_any(std::move(others));
		baton::first_of<int> found = any.get();
		int sum = 0;

		EXPECT(found.first.get() == static_cast<int>(found.index));
		for (baton::future<int> &each : all.get())
			sum += each.get();
		EXPECT(sum == 28);
	}
}

/* ---- Exceptions ---- */

#if BATON_HAS_EXCEPTIONS

template <class T> int thrown_by(baton::future<T> future)
{
	try {
		future.get();
	} catch (int value) {
		EXPECT(!future.valid());
		return value;
	} catch (const std::system_error &error) {
		EXPECT(error.code().category() == baton::category());
		return error.code().value();
	}
	return 0;
}

void an_exception_is_in_the_future()
{
	waiting world;
	baton::resource resource;
	baton::future<int> future = resource.async([held = counted()]() -> int { throw 7; });

	EXPECT(future.error() == baton::code(baton::thrown));
	EXPECT(future.error().message() == "an exception was thrown");
	EXPECT(thrown_by(std::move(future)) == 7);
	EXPECT(thrown_by(resource.async([]() -> int & { throw 8; })) == 8);
	EXPECT(thrown_by(resource.async([] { throw 9; })) == 9);
	future = resource.async([]() -> int { throw std::system_error(baton::code(-EIO)); });
	EXPECT(future.error() == std::errc::io_error);
	EXPECT(thrown_by(std::move(future)) == -EIO);
	/* Given up: the exception goes with the future. */
	static_cast<void>(world.resource.async([held = counted()]() -> int { throw counted(); }));
	world.hand.run();
	EXPECT(counted::alive == 0);
	baton::future<int> cancelled = world.resource.async([] { return 1; });
	EXPECT(!cancelled.cancel());
	world.hand.run();
	EXPECT(thrown_by(std::move(cancelled)) == -ECANCELED);
}

void an_exception_passes_a_chain_by()
{
	baton::resource resource;
	int runs = 0;

	EXPECT(thrown_by(resource.async([]() -> int { throw 7; })
	                         .then(resource, [&, held = counted()](int) { runs++; })
	                         .then(resource, [&, held = counted()] { runs++; })) == 7);
	EXPECT(runs == 0);
	EXPECT(thrown_by(resource.async([] { return 1; }).then(resource, [](int value) {
		       throw value + 1;
	       })) == 2);
}

void a_wait_that_fails_leaves_the_future()
{
	waiting world;
	baton::future<int> future;
	std::error_code error;

	world.resource.call(error, [&] {
		future = world.resource.async([] { return 1; });
		EXPECT(future.wait() == std::errc::resource_deadlock_would_occur);
		try {
			future.get();
			EXPECT(false);
		} catch (const std::system_error &failed) {
			EXPECT(failed.code() == std::errc::resource_deadlock_would_occur);
		}
	});
	EXPECT(future.valid() && future.get() == 1);
}

#endif

const claim claims[] = {
	{"result", a_future_has_the_result},
	{"taken", a_future_is_empty_when_its_result_is_taken},
	{"wait", a_future_can_be_waited_for},
	{"cancel", a_cancelled_callable_goes_with_the_future},
	{"given up", a_future_may_be_given_up_at_any_time},
	{"given up, running", a_running_future_may_be_given_up},
	{"refused", a_refused_async_says_so_in_the_future},
	{"then", a_chain_runs_where_it_is_told_to},
	{"then, complete", a_chain_on_a_complete_future_runs_too},
	{"then, status", a_status_passes_a_chain_by},
	{"then, refused", a_refused_link_cancels_the_rest},
	{"then, given up", a_chain_may_be_given_up},
	{"when_all", all_of_a_vector_are_complete},
	{"when_all, types", all_of_several_types_are_complete},
	{"when_any", any_of_several_is_the_first},
	{"several, cancelled", a_future_of_several_may_be_cancelled},
	{"several, threads", several_end_on_many_threads},
#if BATON_HAS_EXCEPTIONS
	{"exception", an_exception_is_in_the_future},
	{"then, exception", an_exception_passes_a_chain_by},
	{"wait, error", a_wait_that_fails_leaves_the_future},
#endif
};

} /* namespace */

int main()
{
	return run_claims("cxx_futures", claims);
}
