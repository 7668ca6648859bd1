/* SPDX-License-Identifier: MIT */
/*
 * For the other C++ headers, not for programs: the memory of a callable that waits, what a callable
 * returns, and the short path of an idle resource.
 */
#ifndef BATON_CALLABLE_HPP
#define BATON_CALLABLE_HPP

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

#include <baton/call.h>
#include <baton/carried.h>
#include <baton/error.hpp>
#include <baton/inline.h>
#include <baton/label.h>
#include <baton/resource.h>
#include <baton/thread.h>

namespace baton
{

namespace detail
{

/* ---- Memory for one submit ---- */

template <class T> constexpr bool fits_node = sizeof(T) <= BATON_NODE_MAX && alignof(T) <= 16;

template <class T> void give_back(void *memory) noexcept
{
	if constexpr (fits_node<T>)
		baton_node_free(memory);
	else
		::operator delete(memory, std::align_val_t(alignof(T)));
}

/* Makes a T. An error: there is no memory. What the constructor throws goes through. */
template <class T, class... Args> [[nodiscard]] int make(T **made, Args &&...args)
{
	struct owned {
		void *memory = nullptr;

		~owned()
		{
			if (memory)
				give_back<T>(memory);
		}
	} owner;

	if constexpr (fits_node<T>) {
		int error = baton_node_alloc(sizeof(T), &owner.memory);

		if (error)
			return error;
	} else {
		owner.memory =
			::operator new(sizeof(T), std::align_val_t(alignof(T)), std::nothrow);
		if (!owner.memory)
			return -ENOMEM;
	}
	*made = ::new (owner.memory) T(std::forward<Args>(args)...);
	owner.memory = nullptr;
	return 0;
}

template <class T> void unmake(T *made) noexcept
{
	made->~T();
	give_back<T>(made);
}

/* ---- What a callable returns, to be kept ---- */

struct nothing {
};

template <class R>
using stored =
	std::conditional_t<std::is_void_v<R>, nothing,
                           std::conditional_t<std::is_reference_v<R>, std::remove_reference_t<R> *,
                                              std::remove_cv_t<R>>>;

template <class F> auto stored_result(F &&callable) -> stored<std::invoke_result_t<F>>
{
	using R = std::invoke_result_t<F>;

	if constexpr (std::is_void_v<R>) {
		std::forward<F>(callable)();
		return {};
	} else if constexpr (std::is_reference_v<R>) {
		R &&result = std::forward<F>(callable)();

		return std::addressof(result);
	} else {
		return std::forward<F>(callable)();
	}
}

template <class R> R unstored([[maybe_unused]] stored<R> &kept)
{
	if constexpr (std::is_reference_v<R>)
		return static_cast<R>(*kept);
	else if constexpr (!std::is_void_v<R>)
		return std::move(kept);
}

/* A callable that the caller of a call has, and what becomes of it on another thread. */
template <class F> struct called {
	using R = std::invoke_result_t<F>;

	std::remove_reference_t<F> *callable;
	std::optional<stored<R>> result;
	std::exception_ptr exception;

	static void *run(void *arg) noexcept
	{
		called *self = static_cast<called *>(arg);

#if BATON_HAS_EXCEPTIONS
		try {
			self->result.emplace(stored_result(static_cast<F &&>(*self->callable)));
		} catch (...) {
			self->exception = std::current_exception();
		}
#else
		self->result.emplace(stored_result(static_cast<F &&>(*self->callable)));
#endif
		return nullptr;
	}

	/* Runs it under the baton, on whichever thread. Returns what the call of C does. */
	[[nodiscard]] int ask(baton_resource *resource, bool wait)
	{
		int error = wait ? (baton_call)(resource, run, this, nullptr)
		                 : baton_try_call(resource, run, this, nullptr);

#if BATON_HAS_EXCEPTIONS
		if (exception)
			std::rethrow_exception(std::move(exception));
#endif
		return error;
	}

	/* After an error the result is value-initialised. */
	R result_or_none(int error)
	{
		if (!error)
			return unstored<R>(*result);
		if constexpr (!std::is_void_v<R>)
			return R{};
	}
};

/* A resource that was idle, captured by the short path of baton/inline.h, and released at the end
 * of the scope, also by an exception. */
class held
{
public:
	explicit held(baton_resource *resource) noexcept : _resource(resource)
	{
		if (!baton_inline_served())
			return;
		_self = baton_inline_thread_v2;
		_held = baton_inline_enter(_self, resource, true) == BATON_INLINE_HELD;
	}

	held(const held &) = delete;
	held &operator=(const held &) = delete;

	~held()
	{
		if (_held && !baton_inline_leave(_self, _resource))
			baton_inline_end_v2(_resource);
	}

	explicit operator bool() const noexcept
	{
		return _held;
	}

private:
	baton__thread_head *_self = nullptr;
	baton_resource *_resource;
	bool _held = false;
};

/* ---- Tasks without and with a label, or a carried value ---- */

struct plain_task : baton_task {
	void label(const baton_label *) noexcept
	{
	}

	void forget_tag() noexcept
	{
	}

	static constexpr std::int32_t stamp_place = 0;
};

struct stamped_task : baton_task {
	baton_stamp stamp;

	void label(const baton_label *given) noexcept
	{
		if (given)
			baton_stamp_set(&stamp, given);
	}

	/* Of a task that was refused: it may hold its tag. */
	void forget_tag() noexcept
	{
		baton_stamp_set_tag(&stamp, nullptr);
	}

	static constexpr std::int32_t stamp_place = sizeof(baton_task);
};

static_assert(sizeof(stamped_task) == sizeof(baton_task) + sizeof(baton_stamp), "its place");

constexpr baton_task_type task_type(baton_task_fn run, baton_task_cancelled_fn cancelled,
                                    std::int32_t future, std::int32_t stamp) noexcept
{
	baton_task_type type{};

	type.run = run;
	type.cancelled = cancelled;
	type.future = future;
	type.stamp = stamp;
	return type;
}

/* A post that waits. */
template <class F, class Task> struct posted : Task {
	F callable;

	template <class G>
	explicit posted(std::in_place_t, G &&given) : callable(std::forward<G>(given))
	{
	}

	static posted *of(baton_task *task) noexcept
	{
		return static_cast<posted *>(static_cast<Task *>(task));
	}

	static int run(baton_task *task) noexcept
	{
		static_cast<void>(std::move(of(task)->callable)());
		unmake(of(task));
		return 0;
	}

	static void cancelled(baton_task *task) noexcept
	{
		unmake(of(task));
	}

	static constexpr baton_task_type type = task_type(run, cancelled, 0, Task::stamp_place);
};

template <class Task, class F>
[[nodiscard]] int post_task(baton_resource *resource, F &&callable, const baton_label *label,
                            bool later)
{
	using made = posted<std::decay_t<F>, Task>;
	made *post;
	int error = make(&post, std::in_place, std::forward<F>(callable));

	if (error)
		return error;
	baton_task_init_of(post, &made::type);
	post->label(label);
	error = later ? baton_submit_later(resource, post) : (baton_submit)(resource, post);
	if (error) {
		post->forget_tag();
		unmake(post);
	}
	return error;
}

template <class F>
[[nodiscard]] int post_queued(baton_resource *resource, F &&callable, const baton_label *label,
                              bool later)
{
	return label || baton_carried()
	               ? post_task<stamped_task>(resource, std::forward<F>(callable), label, later)
	               : post_task<plain_task>(resource, std::forward<F>(callable), label, later);
}

template <class F> void run_here(F &&callable) noexcept
{
	static_cast<void>(std::forward<F>(callable)());
}

} /* namespace detail */

} /* namespace baton */

#endif
