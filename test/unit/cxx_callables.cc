/* SPDX-License-Identifier: MIT */
/*
 * Callables on resources: where they run, what becomes of their results and exceptions, and that
 * each captured object is destroyed exactly once, at each point where it may be cancelled or
 * refused.
 */
#include "cxx.h"

#include <array>
#include <memory>
#include <string>

using namespace std::chrono_literals;

namespace
{

/* ---- Posts ---- */

void an_idle_post_runs_where_it_lies()
{
	baton::resource resource;
	int runs = 0;
	counted captured;
	const int moved = counted::moved;
	auto callable = [&runs, captured, &resource] {
		runs++;
		EXPECT(baton_held(&resource));
	};

	EXPECT(!resource.post(callable));
	EXPECT(runs == 1);
	EXPECT(!resource.post(std::move(callable)));
	EXPECT(runs == 2 && counted::moved == moved && counted::alive == 2);
}

template <std::size_t bytes> void a_post_of(waiting &world)
{
	std::array<char, bytes> filling{};
	baton::resource &resource = world.resource;
	int runs = 0;

	EXPECT(!resource.post([&runs, &resource, filling, held = counted()] {
		runs += filling[0] == 0;
		EXPECT(resource.is_held());
	}));
	EXPECT(runs == 0 && counted::alive == 1);
	world.hand.run();
	EXPECT(runs == 1 && counted::alive == 0);
	/* cancelled */
	EXPECT(!resource.post([&runs, filling, held = counted()] { runs += filling[0] == 0; }));
	EXPECT(counted::alive == 1);
	EXPECT(!resource.cancel_pending());
	world.hand.run();
	EXPECT(runs == 1 && counted::alive == 0);
}

void a_post_that_waits_is_destroyed_once()
{
	waiting world;

	a_post_of<1>(world);
	a_post_of<60>(world);
	a_post_of<1000>(world); /* no node is so large */
}

struct destroyed_under_the_baton {
	baton::resource *resource;
	bool *held;

	destroyed_under_the_baton(baton::resource *of, bool *says) : resource(of), held(says)
	{
	}

	destroyed_under_the_baton(destroyed_under_the_baton &&from) noexcept
	    : resource(std::exchange(from.resource, nullptr)), held(from.held)
	{
	}

	~destroyed_under_the_baton()
	{
		if (resource)
			*held = resource->is_held();
	}

	void operator()() const
	{
	}
};

void a_queued_callable_is_destroyed_under_the_baton()
{
	baton::resource resource;
	bool held = false;

	/* Busy: it waits for the call. */
	resource.call([&] {
		EXPECT(!resource.post(destroyed_under_the_baton(&resource, &held)));
		EXPECT(!held);
	});
	EXPECT(held);
}

void a_refused_post_is_destroyed_before_the_return()
{
	waiting world;

	EXPECT(!world.resource.close());
	EXPECT(world.resource.post([held = counted()] {}) == std::errc::broken_pipe);
	EXPECT(world.resource.post_later([held = counted()] {}) == baton::code(-EPIPE));
	EXPECT(counted::alive == 0);
}

void a_post_later_runs_on_another_thread()
{
	baton::resource resource;
	std::atomic<bool> elsewhere{false};
	const auto self = std::this_thread::get_id();

	EXPECT(!resource.post_later(
		[&, held = counted()] { elsewhere = std::this_thread::get_id() != self; }));
	while (!resource.is_idle())
		std::this_thread::yield();
	EXPECT(elsewhere);
}

void a_carried_value_goes_with_posts_and_futures()
{
	waiting world;
	int value = 0;
	const void *found[3] = {};

	EXPECT(baton_set_carried(&value) == 0);
	EXPECT(!world.resource.post([&] { found[0] = baton_carried(); }));
	baton::future<void> future = world.resource.async([&] { found[1] = baton_carried(); });
	baton::future<void> second =
		std::move(future).then(world.resource, [&] { found[2] = baton_carried(); });
	EXPECT(baton_set_carried(nullptr) == 0);
	world.hand.run();
	EXPECT(found[0] == &value && found[1] == &value && found[2] == &value);
}

void a_label_goes_with_a_post()
{
	waiting world;
	baton::tag tag;
	int runs = 0;

	EXPECT(!world.resource.post([&, held = counted()] { runs++; }, tag.label()));
	EXPECT(!world.resource.post_later([&, held = counted()] { runs++; }, tag.label()));
	baton::future<int> future =
		world.resource.async([&, held = counted()] { return runs++; }, tag.label());
	EXPECT(tag.held() == 3);
	tag.cancel();
	EXPECT(!world.resource.post([&, held = counted()] { runs += 10; }, tag.label()));
	world.hand.run();
	EXPECT(runs == 10 && tag.held() == 0);
	EXPECT(future.error() == std::errc::operation_canceled);
	EXPECT(!world.resource.close());
	EXPECT(world.resource.post([held = counted()] {}, tag.label()) == std::errc::broken_pipe);
	EXPECT(tag.held() == 0);
	/* A refused async forgets its tag, too. */
	EXPECT(world.resource.async([] {}, tag.label()).error() == std::errc::broken_pipe);
	EXPECT(tag.held() == 0);
}

/* ---- Calls ---- */

void a_call_returns_what_the_callable_returns()
{
	baton::resource resource;
	int value = 1;
	const counted held;

	EXPECT(resource.call([&] { return value; }) == 1);
	EXPECT(&resource.call([&]() -> int & { return value; }) == &value);
	EXPECT(*resource.call([] { return std::make_unique<int>(7); }) == 7);
	resource.call([&, held] { value = 2; });
	EXPECT(value == 2);
}

/* On the executor's thread, or by hand: not where the short path is. */
void a_call_elsewhere_returns_it_too()
{
	waiting world;
	baton::resource &resource = world.resource;
	std::error_code error;
	int value = 1;

	EXPECT(resource.call([&] { return value; }) == 1);
	EXPECT(&resource.call([&]() -> int & { return value; }) == &value);
	EXPECT(*resource.call([] { return std::make_unique<int>(7); }) == 7);
	resource.call([&, held = counted()] { value = 2; });
	EXPECT(resource.call(error, [&] { return value; }) == 2 && !error);
	resource.call(error, [&] { value = 3; });
	EXPECT(value == 3 && !error);
}

void a_refused_call_says_so()
{
	baton::resource resource;
	std::error_code error;
	int runs = 0;

	resource.call([&] {
		resource.call(error, [&] { runs++; });
		EXPECT(error == std::errc::resource_deadlock_would_occur);
		EXPECT(resource.try_call(error, [&] { return ++runs; }) == 0);
		EXPECT(error == std::errc::resource_deadlock_would_occur);
	});
	EXPECT(resource.try_call(error, [&] { return ++runs; }) == 1 && !error);
	EXPECT(!resource.close());
	resource.call(error, [&] { runs++; });
	EXPECT(error == std::errc::broken_pipe && error.message() == baton_error_text(-EPIPE));
	EXPECT(runs == 1);
}

/* ---- Tasks ---- */

void a_task_may_be_submitted_again()
{
	baton::resource resource;
	baton_future future = BATON_FUTURE_INIT;
	int runs = 0;
	baton::task counting{[&runs, held = counted()] { runs++; }};
	baton::task failing{[] { return -EIO; }, &future};

	EXPECT(!resource.submit(counting) && !resource.submit(counting));
	EXPECT(!resource.submit(failing));
	EXPECT(baton_future_status(&future) == -EIO);
	EXPECT(!resource.submit_later(counting));
	EXPECT(!resource.await() && runs == 3);
	EXPECT(!resource.close());
	EXPECT(resource.submit(counting) == std::errc::broken_pipe);
}

/* ---- The end ---- */

struct session {
	bool *ended;
	counted state;
	baton::resource resource;

	explicit session(bool *says) : ended(says)
	{
	}

	~session()
	{
		*ended = true;
	}
};

void a_session_ends_itself()
{
	bool ended = false;
	auto *self = new session(&ended);

	EXPECT(!self->resource.post([self, held = counted()] {
		EXPECT(!self->resource.close_then([self, other = counted()] { delete self; }));
		EXPECT(self->resource.close_then([other = counted()] {}) ==
		       std::errc::connection_already_in_progress);
		EXPECT(!*self->ended);
	}));
	EXPECT(ended && counted::alive == 0);
}

void a_resource_waits_for_its_tasks()
{
	std::atomic<int> runs{0};

	{
		baton::resource resource;

		for (int i = 0; i < 100; i++)
			EXPECT(!resource.post_later([&runs, held = counted()] { runs++; }));
	}
	EXPECT(runs == 100 && counted::alive == 0);
}

void a_resource_owns_its_config()
{
	baton_resource_config config = BATON_RESOURCE_CONFIG_NAMED("owned");
	baton::configured_resource resource(config);

	config.name = nullptr;
	EXPECT(!std::strcmp(baton_resource_name(&resource), "owned"));
	EXPECT(&baton::resource::of(static_cast<baton_resource &>(resource)) == &resource);
	EXPECT(resource.call([] { return 1; }) == 1);
}

/* ---- Exceptions ---- */

#if BATON_HAS_EXCEPTIONS

void an_exception_comes_out_of_the_call()
{
	baton::resource resource;
	waiting world;
	std::error_code error;
	const auto throws = [held = counted()]() -> int { throw 7; };

	EXPECT(thrown_by([&] { resource.call(throws); }) == 7);
	EXPECT(resource.is_idle() && !resource.is_held());
	EXPECT(thrown_by([&] { world.resource.call(throws); }) == 7);
	EXPECT(thrown_by([&] { resource.call(error, throws); }) == 7);
	EXPECT(thrown_by([&] { resource.try_call(error, throws); }) == 7);
	/* What was queued meanwhile runs all the same, before the exception is there. */
	int runs = 0;
	EXPECT(thrown_by([&] {
		       resource.call([&] {
			       EXPECT(!resource.post([&] { runs++; }));
			       throw 8;
		       });
	       }) == 8);
	EXPECT(runs == 1);
	EXPECT(thrown_by([&] { resource.call([&] { resource.call([] {}); }); }) == -EDEADLK);
	EXPECT(!resource.close());
	EXPECT(thrown_by([&] { resource.call([] {}); }) == -EPIPE);
}

struct throws_when_copied {
	counted held;
	bool throws = true;

	throws_when_copied() = default;

	throws_when_copied(const throws_when_copied &from) : held(from.held), throws(from.throws)
	{
		if (throws)
			throw 9;
	}

	void operator()() const
	{
		EXPECT(false);
	}
};

void a_callable_that_cannot_be_copied_is_not_submitted()
{
	waiting world;
	const throws_when_copied callable;

	EXPECT(thrown_by([&] { static_cast<void>(world.resource.post(callable)); }) == 9);
	EXPECT(thrown_by([&] { world.resource.async(callable).get(); }) == 9);
	EXPECT(thrown_by([&] { static_cast<void>(world.resource.close_then(callable)); }) == 9);
	EXPECT(counted::alive == 1 && world.resource.is_idle() && !world.resource.is_closed());
}

#endif

const claim claims[] = {
	{"idle post", an_idle_post_runs_where_it_lies},
	{"queued post", a_post_that_waits_is_destroyed_once},
	{"queued callable", a_queued_callable_is_destroyed_under_the_baton},
	{"refused post", a_refused_post_is_destroyed_before_the_return},
	{"post_later", a_post_later_runs_on_another_thread},
	{"carried", a_carried_value_goes_with_posts_and_futures},
	{"label", a_label_goes_with_a_post},
	{"call", a_call_returns_what_the_callable_returns},
	{"call elsewhere", a_call_elsewhere_returns_it_too},
	{"refused call", a_refused_call_says_so},
	{"task", a_task_may_be_submitted_again},
	{"close_then", a_session_ends_itself},
	{"destructor", a_resource_waits_for_its_tasks},
	{"config", a_resource_owns_its_config},
#if BATON_HAS_EXCEPTIONS
	{"exception of a call", an_exception_comes_out_of_the_call},
	{"exception of a copy", a_callable_that_cannot_be_copied_is_not_submitted},
#endif
};

} /* namespace */

int main()
{
	return run_claims("cxx_callables", claims);
}
