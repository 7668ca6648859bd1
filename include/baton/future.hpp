/* SPDX-License-Identifier: MIT */
/*
 * A future in C++: where the result of an async appears, or the exception that left it, or the
 * status with which it was cancelled or refused.
 *
 *	baton::future<size_t> length = topic.async([&] { return queue.size(); });
 *
 *	length.get()                                              // waits; returns, or throws
 *	std::move(length).then(session, [](size_t n) { ... })     // a task of the session
 *	co_await length.on(session)                               // goes on in the session
 *
 *                     | the callable of async or then
 *   runs              | where that of post does (resource.hpp); that of then: when the first
 *                     | future is complete, as a task of the resource that is named
 *   lies              | in the future's memory: one allocation for all, which is a node of baton's
 *                     | if callable and result have at most 16 bytes
 *   is destroyed      | under the baton, when it has returned
 *   if it never runs  | (cancelled, refused, closed) with the future's memory
 *
 * The memory of a future ends when the future object has been destroyed (or get() has returned) and
 * its task is over, on the thread that comes second. So no destructor waits. A future object that
 * is destroyed gives up the outcome, and cancels nothing.
 *
 *                               | may run beside           | from
 *   wait, is_complete, error,   | each other               | any thread
 *     cancel                    |                          |
 *   get, then, on, the          | nothing on this object   | the owner
 *     destructor, moves         |                          |
 */
#ifndef BATON_FUTURE_HPP
#define BATON_FUTURE_HPP

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include <baton/error.hpp>
#include <baton/future.h>
#include <baton/resource.hpp>

namespace baton
{

namespace detail
{

/*
 * What a future object leads to: a future of C; a continuation, which the one that consumes the
 * future may use; how the memory is given back. The value of the future of C leads to the result:
 * NULL means no result; a pointer with bit 0 set leads to a std::exception_ptr; any other pointer
 * leads to a stored<T>.
 */
struct state {
	baton_future future;
	baton_continuation slot;
	void (*release)(state *self) noexcept;

	static void release_told(void *self) noexcept
	{
		static_cast<state *>(self)->release(static_cast<state *>(self));
	}

	/* The future object is gone: now, or at the end of the task, the memory is. */
	void give_up() noexcept
	{
		if (baton_future_is_complete(&future)) {
			release(this);
			return;
		}
		baton_continuation_function(&slot, release_told, this);
		baton_future_then(&future, &slot);
	}

	std::exception_ptr *exception() const noexcept
	{
		const auto value = reinterpret_cast<std::uintptr_t>(baton_future_value(&future));

		return value & 1 ? reinterpret_cast<std::exception_ptr *>(value - 1) : nullptr;
	}
};

/* What a future of C carries for an exception, see state. */
inline void *exception_value(std::exception_ptr *kept) noexcept
{
	return reinterpret_cast<void *>(reinterpret_cast<std::uintptr_t>(kept) + 1);
}

#if BATON_HAS_EXCEPTIONS
/* The status for the exception that is being handled. */
inline int status_of_exception() noexcept
{
	try {
		throw;
	} catch (const std::system_error &error) {
		if (error.code().category() == category() && error.code().value())
			return error.code().value();
	} catch (...) {
	}
	return thrown;
}
#endif

template <class F, class T> struct chained;

/* A status with which the callable is not to run at all: none, save for a chained one. */
template <class F> int passed_on(const F &) noexcept
{
	return 0;
}

template <class F, class T> int passed_on(const chained<F, T> &chained) noexcept;

/* As stamped_task, with a future besides. */
struct stamped_async : stamped_task {
	baton_future *reports;
};

/* The memory of a future whose callable runs as a task. */
template <class F, class R, class Task> struct async_state : state, Task {
	union body {
		F callable; /* until it has run */
		stored<R> result;
		std::exception_ptr exception;

		template <class... G>
		explicit body(std::in_place_t, G &&...given) : callable{std::forward<G>(given)...}
		{
		}

		~body()
		{
		}
	} body;

	template <class... G>
	explicit async_state(std::in_place_t, G &&...given)
	    : body(std::in_place, std::forward<G>(given)...)
	{
		baton_future_init(&this->future);
		this->release = released;
		if constexpr (std::is_same_v<Task, stamped_async>) {
			baton_task_init_of(this, &type);
			this->reports = &this->future;
		} else {
			baton_task_init(this, run, &this->future);
		}
	}

	static async_state *of(baton_task *task) noexcept
	{
		return static_cast<async_state *>(static_cast<Task *>(task));
	}

	static int run(baton_task *task) noexcept
	{
		async_state *self = of(task);
		std::optional<stored<R>> result;
		std::exception_ptr exception;
		int status = passed_on(self->body.callable);

		if (status)
			return status;
#if BATON_HAS_EXCEPTIONS
		try {
			result.emplace(stored_result(std::move(self->body.callable)));
		} catch (...) {
			status = status_of_exception();
			exception = std::current_exception();
		}
#else
		result.emplace(stored_result(std::move(self->body.callable)));
#endif
		self->body.callable.~F();
		if (result)
			baton_set_result(::new (&self->body.result) stored<R>(std::move(*result)));
		else
			baton_set_result(exception_value(::new (&self->body.exception)
			                                         std::exception_ptr(exception)));
		return status;
	}

	static void released(state *base) noexcept
	{
		async_state *self = static_cast<async_state *>(base);

		if (self->state::exception())
			self->body.exception.~exception_ptr();
		else if (baton_future_value(&self->future))
			std::destroy_at(&self->body.result);
		else
			self->body.callable.~F();
		unmake(self);
	}

	/* The submit was refused: the future says so, and the callable stays until its end. */
	void refused(int error) noexcept
	{
		this->forget_tag();
		baton_promise_init(&this->future);
		static_cast<void>(baton_future_complete(&this->future, error, nullptr));
	}

	static constexpr baton_task_type type =
		task_type(run, nullptr, sizeof(stamped_task), Task::stamp_place);
};

/* What then() runs: a callable, and the future whose result it is given. */
template <class F, class T> struct chained {
	future<T> from;
	F callable;

	decltype(auto) operator()() &&
	{
		if constexpr (std::is_void_v<T>) {
			from.get();
			return std::move(callable)();
		} else {
			return std::move(callable)(from.get());
		}
	}
};

template <class F, class T> int passed_on(const chained<F, T> &chained) noexcept
{
	return BATON_HAS_EXCEPTIONS && chained.from.memory()->exception()
	               ? 0
	               : baton_future_status(&chained.from.memory()->future);
}

/* A future of which `submit` is to submit the task. */
template <class State, class R, class Submit, class... G>
future<R> make_async_of(const baton_label *label, Submit &submit, G &&...given)
{
	State *state;
	int error = make(&state, std::in_place, std::forward<G>(given)...);

	raise_if(error);
	state->label(label);
	error = submit(state);
	if (error)
		state->refused(error);
	return future<R>(state);
}

/* With a stamp if there is something to carry. */
template <class R, class F, class Submit, class... G>
future<R> make_async(const baton_label *label, Submit &&submit, G &&...given)
{
	if (label || baton_carried())
		return make_async_of<async_state<F, R, stamped_async>, R>(
			label, submit, std::forward<G>(given)...);
	return make_async_of<async_state<F, R, plain_task>, R>(label, submit,
	                                                       std::forward<G>(given)...);
}

template <class F>
auto submit_async(baton_resource *resource, F &&callable, const baton_label *label, bool later)
{
	using R = std::invoke_result_t<std::decay_t<F>>;

	return make_async<R, std::decay_t<F>>(
		label,
		[=](baton_task *task) {
			return later ? baton_submit_later(resource, task)
		                     : (baton_submit)(resource, task);
		},
		std::forward<F>(callable));
}

template <class F, class T> struct then_result {
	using type = std::invoke_result_t<F, T>;
};

template <class F> struct then_result<F, void> {
	using type = std::invoke_result_t<F>;
};

template <class T> struct coroutine_promise;

#if BATON_HAS_COROUTINES
template <class T> class on_resource;
template <class T> class on_executor;
#endif

} /* namespace detail */

/*
 * The only owner of an outcome: it is moved, and not copied. A future that was moved from, or whose
 * outcome was taken, is empty: no function but the destructor, an assignment and valid() may be
 * called.
 */
template <class T> class [[nodiscard]] future
{
public:
	using promise_type = detail::coroutine_promise<T>; /* see coroutine.hpp */

	future() noexcept = default;

	explicit future(detail::state *memory) noexcept : _memory(memory)
	{
	}

	future(future &&from) noexcept : _memory(std::exchange(from._memory, nullptr))
	{
	}

	future &operator=(future &&from) noexcept
	{
		future(std::move(from)).swap(*this);
		return *this;
	}

	/* Gives up the outcome. Never waits, cancels nothing. */
	~future()
	{
		if (_memory)
			_memory->give_up();
	}

	void swap(future &other) noexcept
	{
		std::swap(_memory, other._memory);
	}

	bool valid() const noexcept
	{
		return _memory;
	}

	bool is_complete() const noexcept
	{
		return baton_future_is_complete(&_memory->future);
	}

	/* 0: there is a result. -ECANCELED, `thrown`, a status. -EAGAIN: it is not complete. */
	std::error_code error() const noexcept
	{
		return code(baton_future_status(&_memory->future));
	}

	/* baton_future_wait(), and until a deadline (baton/time.h): whether the future is complete,
	 * not how it has ended. Helps. */
	[[nodiscard]] std::error_code wait() const noexcept
	{
		return code(baton_future_wait(&_memory->future));
	}

	[[nodiscard]] std::error_code wait_until(std::uint64_t deadline_ns) const noexcept
	{
		return code(baton_future_wait_until(&_memory->future, deadline_ns));
	}

	template <class Rep, class Period>
	[[nodiscard]] std::error_code wait_for(std::chrono::duration<Rep, Period> time) const
	{
		return wait_until(baton_after(detail::span(time)));
	}

	/*
	 * Waits, and returns the result, which is moved out; the future is empty then. Throws what
	 * the callable has thrown, or a std::system_error with the status. Where the wait itself
	 * fails (-EDEADLK) that is thrown, and the future is as it was.
	 */
	T get()
	{
		detail::raise_if(baton_future_wait(&_memory->future));

		future taken(std::move(*this));
		detail::state *memory = taken._memory;

#if BATON_HAS_EXCEPTIONS
		if (std::exception_ptr *exception = memory->exception())
			std::rethrow_exception(*exception);
#endif
		detail::raise_if(baton_future_status(&memory->future));
		return detail::unstored<T>(
			*static_cast<detail::stored<T> *>(baton_future_value(&memory->future)));
	}

	/* baton_future_cancel(): a callable that has not been entered will not run. Of a coroutine,
	 * a when_all and a when_any only the future ends: they go on, and nobody is told more. */
	std::error_code cancel() noexcept
	{
		return code(baton_future_cancel(&_memory->future));
	}

	/*
	 * When this future is complete, the callable runs as a task of the resource, and is given
	 * the result. If this future ends without a result, the callable does not run, and the new
	 * future gets this future's exception or status. If the resource refuses the task, the new
	 * future is cancelled. Until this future is complete a cancel of the new future returns
	 * -EINVAL.
	 */
	template <class F> auto then(resource &where, F &&callable) &&
	{
		using R = typename detail::then_result<std::decay_t<F>, T>::type;
		using bound = detail::chained<std::decay_t<F>, T>;
		detail::state *memory = _memory;

		return detail::make_async<R, bound>(
			nullptr,
			[&where, memory](baton_task *task) {
				baton_continuation_task(&memory->slot, &where, task);
				baton_future_then(&memory->future, &memory->slot);
				return 0;
			},
			std::move(*this), std::forward<F>(callable));
	}

#if BATON_HAS_COROUTINES
	/* `co_await length.on(session)`: see await.hpp. */
	[[nodiscard]] detail::on_resource<T> on(resource &where) noexcept;
	[[nodiscard]] detail::on_executor<T> on(baton_executor *where) noexcept;
#endif

	/* The future of C, as long as this object has it. */
	baton_future *native() const noexcept
	{
		return &_memory->future;
	}

	/* Not for programs. */
	detail::state *memory() const noexcept
	{
		return _memory;
	}

private:
	detail::state *_memory = nullptr;
};

template <class F> future<std::invoke_result_t<std::decay_t<F>>> resource::async(F &&callable)
{
	return detail::submit_async(this, std::forward<F>(callable), nullptr, false);
}

template <class F>
future<std::invoke_result_t<std::decay_t<F>>> resource::async(F &&callable,
                                                              const baton_label &label)
{
	return detail::submit_async(this, std::forward<F>(callable), &label, false);
}

template <class F> future<std::invoke_result_t<std::decay_t<F>>> resource::async_later(F &&callable)
{
	return detail::submit_async(this, std::forward<F>(callable), nullptr, true);
}

} /* namespace baton */

#include <baton/when.hpp>

#endif
