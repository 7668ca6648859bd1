/* SPDX-License-Identifier: MIT */
/*
 * A resource in C++: it runs any callable. post and submit run the callable on this thread, before
 * they return, if the resource is idle. Else it runs on the runner's thread, or on the executor's
 * thread. A call waits until the callable has returned. post_later runs nothing on this thread.
 * Where the C function runs its function, the callable runs (baton/resource.h).
 *
 *	baton::resource topic;
 *
 *	error = topic.post([message] { ... });                  // fire and forget
 *	size_t length = topic.call([&] { return queue.size(); });
 *
 *                    | the callable runs           | and is destroyed
 *   post, idle       | where it lies, at once      | by the caller, who has it
 *   post, busy       | in a node, moved there      | under the baton, when it has returned
 *   post, cancelled  | -                           | by the thread that cancels, instead of a run
 *   post, refused    | -                           | before post returns, if it was moved
 *   call             | where it lies               | by the caller, who has it
 *   task             | in the task                 | with the task, by the task's owner
 *   async            | in the future's memory      | see future.hpp
 *
 * A callable that lies in a node, or in a future, is destroyed exactly once, whatever happens to
 * it. Its destructor may submit; it must not wait, and must not throw.
 *
 * Exceptions. An exception that leaves the callable of a call is thrown by the call, on the
 * caller's thread. That of an async is kept in the future. An exception that leaves the callable of
 * a post, a task, a timer or a finaliser ends the program (std::terminate), as one that leaves a
 * std::thread does. No exception crosses a function of C.
 *
 * Cost. post and call of an idle resource are inlined: no allocation, two atomic operations, and
 * the instructions of baton_call() in baton/inline.h. A callable of up to 88 bytes that has to wait
 * lies in the node that baton_post() would have taken; a larger one is allocated by operator new.
 */
#ifndef BATON_RESOURCE_HPP
#define BATON_RESOURCE_HPP

#include <chrono>
#include <cstdint>
#include <system_error>
#include <type_traits>
#include <utility>

#include <baton/callable.hpp>
#include <baton/error.hpp>
#include <baton/inline.h>
#include <baton/label.h>
#include <baton/resource.h>

namespace baton
{

template <class T> class future;

/*
 * A task in the program's own memory: a member of a struct, a variable. It allocates nothing, and
 * may be submitted again when its callable has been entered, also by the callable itself. The
 * callable returns nothing, or a status (baton_task_fn).
 *
 *	baton::task tick{[this] { ... }};
 *
 *	error = session.submit(tick);
 *
 * `future`: where the outcome appears; see struct baton_task for the memory of both.
 */
template <class F> class task : public baton_task
{
public:
	explicit task(F callable, baton_future *future = nullptr) : _callable(std::move(callable))
	{
		baton_task_init(this, run, future);
	}

	task(const task &) = delete;
	task &operator=(const task &) = delete;

private:
	static int run(baton_task *self) noexcept
	{
		F &callable = static_cast<task *>(self)->_callable;

		if constexpr (std::is_convertible_v<std::invoke_result_t<F &>, int>) {
			return callable();
		} else {
			callable();
			return 0;
		}
	}

	F _callable;
};

#if BATON_HAS_COROUTINES
class entering;
class delay;
#endif

/*
 * A resource: a struct baton_resource that ends by itself. It has no other member: `&topic` is what
 * the functions of C take, and of() is the way back.
 *
 * All functions but the constructor and the destructor may be called by any thread, also inside
 * tasks. Those that return a code have done nothing if the code is not 0: their errors are those of
 * the C function of the same name.
 */
class resource : public baton_resource
{
public:
	/* With the defaults: constant, so that a static resource is there before any code. */
	constexpr resource() noexcept : baton_resource BATON_RESOURCE_INIT(nullptr)
	{
	}

	/* With a config that it refers to, which many resources may share, and which outlives them.
	 * To own a config see configured_resource. */
	explicit resource(const baton_resource_config &config) noexcept
	    : baton_resource BATON_RESOURCE_INIT(nullptr)
	{
		baton_resource_init(this, &config);
	}

	explicit resource(const baton_resource_config &&) = delete;
	resource(const resource &) = delete;
	resource &operator=(const resource &) = delete;

	/*
	 * Closes the resource, and waits until its tasks have run, as close() and await() do. So
	 * state that the tasks use is declared before the resource. In a task of the resource the
	 * program ends: call close_then() there. In the callable of close_then() the destructor
	 * waits for nothing.
	 */
	~resource()
	{
		int error;

		static_cast<void>(baton_resource_close(this));
		error = baton_resource_await(this);
		if (error == -ECHILD)
			return; /* a fork's child: its tasks are in the parent */
		if (error)
			detail::misused("a resource is destroyed in a task of its own: destroy it "
			                "in the callable of close_then()");
		baton_resource_deinit(this);
	}

	/* A resource of C: a registry's, say. */
	static resource &of(baton_resource &plain) noexcept
	{
		return static_cast<resource &>(plain);
	}

	/*
	 * Runs a callable, fire and forget. Where it runs, and who destroys it: the table above.
	 * On an idle resource the callable is called where it lies, and not moved. Else it is moved
	 * (or copied, an lvalue) into a node. post_later: always into a node, and never run on this
	 * thread. What the callable returns is ignored.
	 *
	 * label: lane, bytes and tag (baton/label.h). A callable that runs at once needs none.
	 * Errors: as baton_post(). Also what the move or the copy throws, and nothing is submitted.
	 */
	template <class F> [[nodiscard]] std::error_code post(F &&callable)
	{
		if (detail::held here(this); here) {
			detail::run_here(std::forward<F>(callable));
			return {};
		}
		return code(detail::post_queued(this, std::forward<F>(callable), nullptr, false));
	}

	template <class F>
	[[nodiscard]] std::error_code post(F &&callable, const baton_label &label)
	{
		if (detail::held here(this); here) {
			detail::run_here(std::forward<F>(callable));
			return {};
		}
		return code(detail::post_queued(this, std::forward<F>(callable), &label, false));
	}

	template <class F> [[nodiscard]] std::error_code post_later(F &&callable)
	{
		return code(detail::post_queued(this, std::forward<F>(callable), nullptr, true));
	}

	template <class F>
	[[nodiscard]] std::error_code post_later(F &&callable, const baton_label &label)
	{
		return code(detail::post_queued(this, std::forward<F>(callable), &label, true));
	}

	/* baton_submit(), baton_submit_later(): a task of the program's own. */
	[[nodiscard]] std::error_code submit(baton_task &task) noexcept
	{
		return code(baton_submit_inline(this, &task));
	}

	[[nodiscard]] std::error_code submit_later(baton_task &task) noexcept
	{
		return code(baton_submit_later(this, &task));
	}

	/*
	 * Runs the callable under the baton, on this thread if the resource is idle, and returns
	 * what it returns. The callable is not moved. An exception that leaves it is thrown here,
	 * when the baton has been released.
	 *
	 * Without `error`, what baton_call() returns is thrown: a std::system_error. With it, the
	 * call returns a value-initialised result then.
	 */
	template <class F> std::invoke_result_t<F> call(F &&callable)
	{
		if (detail::held here(this); here)
			return std::forward<F>(callable)();

		detail::called<F> called{&callable, {}, {}};

		detail::raise_if(called.ask(this, true));
		return detail::unstored<std::invoke_result_t<F>>(*called.result);
	}

	template <class F> std::invoke_result_t<F> call(std::error_code &error, F &&callable)
	{
		detail::called<F> called{&callable, {}, {}};
		const int status = called.ask(this, true);

		error = code(status);
		return called.result_or_none(status);
	}

	/* As call, but a busy resource is not waited for: the error is then -EAGAIN. */
	template <class F> std::invoke_result_t<F> try_call(std::error_code &error, F &&callable)
	{
		detail::called<F> called{&callable, {}, {}};
		const int status = called.ask(this, false);

		error = code(status);
		return called.result_or_none(status);
	}

	/*
	 * Runs the callable as a task. Its outcome is in the future: what it returns or throws, or
	 * the error with which the submit was refused. See future.hpp, also for where it lies and
	 * who destroys it. async_later: never on this thread. Throws (std::system_error) if there
	 * is no memory, and nothing is submitted.
	 */
	template <class F> future<std::invoke_result_t<std::decay_t<F>>> async(F &&callable);
	template <class F>
	future<std::invoke_result_t<std::decay_t<F>>> async(F &&callable, const baton_label &label);
	template <class F> future<std::invoke_result_t<std::decay_t<F>>> async_later(F &&callable);

#if BATON_HAS_COROUTINES
	/* `co_await topic.enter()`, `co_await topic.after(time)`: see await.hpp. */
	[[nodiscard]] entering enter() noexcept;
	[[nodiscard]] entering enter(std::error_code &error) noexcept;
	[[nodiscard]] entering enter_later() noexcept;
	[[nodiscard]] entering enter(const baton_label &label) noexcept;
	[[nodiscard]] entering enter(const baton_label &label, std::error_code &error) noexcept;
	template <class Rep, class Period>
	[[nodiscard]] delay after(std::chrono::duration<Rep, Period> time);
#endif

	/* Refuses further tasks. -EALREADY: it is closed. */
	std::error_code close() noexcept
	{
		return code(baton_resource_close(this));
	}

	/*
	 * Closes the resource, and calls the callable once, after the last task, on the last
	 * runner's thread, without the baton: it may destroy the resource. It lies in a node, and
	 * is destroyed when it has returned; if it is refused (-EALREADY: there is a finaliser
	 * already, or no memory), before this call returns.
	 */
	template <class F> [[nodiscard]] std::error_code close_then(F &&callable)
	{
		using made = detail::posted<std::decay_t<F>, detail::plain_task>;
		made *finaliser;
		int error = detail::make(&finaliser, std::in_place, std::forward<F>(callable));

		if (error)
			return code(error);
		baton_task_init(finaliser, made::run, nullptr);
		error = baton_resource_close_then(this, finaliser);
		if (error)
			detail::unmake(finaliser);
		return code(error);
	}

	/* Cancels the tasks that wait: a post's callable is destroyed without a run, an async's
	 * future is cancelled, a coroutine goes on with -ECANCELED. */
	std::error_code cancel_pending() noexcept
	{
		return code(baton_resource_cancel_pending(this));
	}

	/* Waits until all tasks that were accepted so far have run. */
	[[nodiscard]] std::error_code await() noexcept
	{
		return code(baton_resource_await(this));
	}

	[[nodiscard]] std::error_code await_until(std::uint64_t deadline_ns) noexcept
	{
		return code(baton_resource_await_until(this, deadline_ns));
	}

	/* baton_resource_is_closed(), baton_resource_is_idle(), baton_held(). */
	bool is_closed() const noexcept
	{
		return baton_resource_is_closed(this);
	}

	bool is_idle() const noexcept
	{
		return baton_resource_is_idle(this);
	}

	bool is_held() const noexcept
	{
		return baton_held(this);
	}
};

static_assert(sizeof(resource) == sizeof(baton_resource), "no other member");

namespace detail
{

struct config_holder {
	const baton_resource_config config;
};

} /* namespace detail */

/* A resource that owns its config, and ends before it. */
class configured_resource : private detail::config_holder, public resource
{
public:
	explicit configured_resource(const baton_resource_config &given) noexcept
	    : config_holder{given}, resource(config_holder::config)
	{
	}
};

} /* namespace baton */

#include <baton/future.hpp>

#endif
