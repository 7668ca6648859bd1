/* SPDX-License-Identifier: MIT */
/*
 * Several futures as one (future.hpp): when all of them are complete, or any of them.
 *
 *	when_all(std::move(lookups)).then(session, [](std::vector<baton::future<int>> ended) {...});
 *	baton::first_of<int> found = when_any(std::move(replicas)).get();
 *
 * Nothing of the program's runs here: what is counted, is counted on the threads that complete the
 * futures. Each call allocates once, besides the vectors.
 */
#ifndef BATON_WHEN_HPP
#define BATON_WHEN_HPP

#include <atomic>
#include <cstddef>
#include <tuple>
#include <utility>
#include <vector>

#include <baton/error.hpp>
#include <baton/future.hpp>

namespace baton
{

/* What a when_any has found: the place of a complete future, and the future. */
template <class T> struct first_of {
	std::size_t index = 0;
	future<T> first;
};

namespace detail
{

/*
 * The memory of a future that other code than a task completes. It has two owners: the future
 * object, and the code that completes. For a future may be cancelled, and given up, long before
 * that code ends.
 */
struct shared_state : state {
	std::atomic<unsigned> owners{2};
	void (*destroy)(shared_state *self) noexcept;

	explicit shared_state(void (*with)(shared_state *self) noexcept) noexcept : destroy(with)
	{
		baton_promise_init(&future);
		release = released;
	}

	static void released(state *self) noexcept
	{
		static_cast<shared_state *>(self)->leave();
	}

	void complete(int status, void *value) noexcept
	{
		/* -EALREADY: cancelled */
		static_cast<void>(baton_future_complete(&future, status, value));
	}

	void leave() noexcept
	{
		if (owners.fetch_sub(1, std::memory_order_acq_rel) == 1)
			destroy(this);
	}

	/* Tells `told` of the end of a future that this state owns. */
	template <class T>
	static void tell(const baton::future<T> &of, baton_told_fn told, void *arg) noexcept
	{
		state *memory = of.memory();

		baton_continuation_function(&memory->slot, told, arg);
		baton_future_then(&memory->future, &memory->slot);
	}
};

template <class Set> struct all_state : shared_state {
	Set set;
	std::atomic<std::size_t> left;

	all_state(Set futures, std::size_t count)
	    : shared_state(destroyed), set(std::move(futures)), left(count + 1)
	{
	}

	static void destroyed(shared_state *self) noexcept
	{
		delete static_cast<all_state *>(self);
	}

	static void told(void *arg) noexcept
	{
		all_state *self = static_cast<all_state *>(arg);

		if (self->left.fetch_sub(1, std::memory_order_acq_rel) != 1)
			return;
		self->complete(0, &self->set);
		self->leave();
	}
};

template <class T> struct any_state : shared_state {
	std::vector<baton::future<T>> futures;
	std::vector<any_state *> places; /* the argument of a future's told is its place here */
	std::atomic<std::size_t> left;
	std::atomic<bool> found{false};
	first_of<T> first;

	explicit any_state(std::vector<baton::future<T>> given)
	    : shared_state(destroyed), futures(std::move(given)), places(futures.size(), this),
	      left(futures.size() + 1)
	{
	}

	static void destroyed(shared_state *self) noexcept
	{
		delete static_cast<any_state *>(self);
	}

	void one_less() noexcept
	{
		if (left.fetch_sub(1, std::memory_order_acq_rel) != 1)
			return;
		if (futures.empty())
			complete(-EINVAL, nullptr);
		leave();
	}

	static void told(void *arg) noexcept
	{
		any_state **place = static_cast<any_state **>(arg);
		any_state *self = *place;

		if (!self->found.exchange(true, std::memory_order_relaxed)) {
			self->first.index = static_cast<std::size_t>(place - self->places.data());
			self->first.first = std::move(self->futures[self->first.index]);
			self->complete(0, &self->first);
		}
		self->one_less();
	}
};

} /* namespace detail */

/*
 * A future of all the futures: complete when each of them is, however it has ended; its result is
 * the futures, each complete. Of no future: complete at once. Throws std::bad_alloc.
 */
template <class T> future<std::vector<future<T>>> when_all(std::vector<future<T>> futures)
{
	const std::size_t count = futures.size();
	auto *all = new detail::all_state<std::vector<future<T>>>(std::move(futures), count);
	future<std::vector<future<T>>> result(all);

	for (std::size_t i = 0; i < count; i++)
		detail::shared_state::tell(all->set[i], all->told, all);
	all->told(all);
	return result;
}

template <class... T> future<std::tuple<future<T>...>> when_all(future<T>... futures)
{
	using set = std::tuple<future<T>...>;
	auto *all = new detail::all_state<set>(set(std::move(futures)...), sizeof...(T));
	future<set> result(all);

	std::apply(
		[all](auto &...each) { (detail::shared_state::tell(each, all->told, all), ...); },
		all->set);
	all->told(all);
	return result;
}

/*
 * A future that is complete when one of the futures is, however that one has ended: its result is
 * that future, and its place. The other ones are given up, as by their destructors: they run, and
 * nobody is told. Of no future: -EINVAL. Throws std::bad_alloc.
 */
template <class T> future<first_of<T>> when_any(std::vector<future<T>> futures)
{
	auto *any = new detail::any_state<T>(std::move(futures));
	future<first_of<T>> result(any);

	for (std::size_t i = 0; i < any->places.size(); i++)
		detail::shared_state::tell(any->futures[i], any->told, &any->places[i]);
	any->one_less();
	return result;
}

} /* namespace baton */

#endif
