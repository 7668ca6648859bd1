/* SPDX-License-Identifier: MIT */
/*
 * Coroutines (C++20). A coroutine says where it goes on; it never goes on on the thread that
 * happens to complete what it waits for.
 *
 *	baton::routine serve(session &self)
 *	{
 *		co_await self.resource.enter();       // from here on a task of the session
 *		...
 *		co_await self.resource.after(30s);    // the baton is released; then a task again
 *		std::string name = co_await lookup.on(self.resource);
 *	}
 *
 *                                | goes on
 *   co_await topic.enter()       | as a task of the resource: where post's callable runs
 *   co_await topic.enter_later() | as a task of the resource, never on this thread
 *   co_await topic.after(time)   | as a task of the resource: where a timer's function runs
 *   co_await delay               | the same, or earlier, after a cancel()
 *   co_await length.on(topic)    | as a task of the resource, when the future is complete
 *   co_await length.on(executor) | as a job of the executor, when the future is complete
 *   co_await enter(executor)     | as a job of the executor
 *
 * A task lasts until the coroutine is suspended next, by whatever it waits for, or ends: so there
 * is no baton to be given back. A lock, and a guard, must not be held across a co_await.
 *
 * From one resource to the next. If the next resource is idle, the coroutine goes on inside
 * enter(), as any task that a task submits: this thread has the baton of the first resource until
 * the coroutine is suspended again. So do not call() the first resource there (-EDEADLK), and where
 * the next part is long, enter_later(): it releases the first resource, and costs a hand-off.
 *
 * Cost. What a coroutine waits by lies in its frame: no co_await allocates. enter() of an idle
 * resource costs what a post costs.
 *
 * Errors. Where the resource or the executor refuses the coroutine, or cancels it while it waits,
 * the coroutine goes on, without the baton, with an exception (std::system_error); enter(error)
 * sets the code instead. It goes on inside co_await, if it is refused there. Else it goes on on the
 * thread that cancels: so it should return soon, and must not wait.
 *
 * End. A coroutine must not be destroyed while it waits: the program ends (with a line that says
 * so). Make it go on, and return: by cancel_pending() or close() of its resource, by a tag
 * (enter(label)), by delay::cancel(), by cancel() of the future.
 */
#ifndef BATON_AWAIT_HPP
#define BATON_AWAIT_HPP

#include <baton/error.hpp>

#if BATON_HAS_COROUTINES

#include <coroutine>
#include <utility>

#include <baton/executor.h>
#include <baton/future.hpp>
#include <baton/resource.hpp>
#include <baton/timer.h>

namespace baton
{

namespace detail
{

/* A coroutine that waits. What lets it go on touches nothing of it afterwards. */
class waiter
{
public:
	waiter() noexcept = default;
	waiter(const waiter &) = delete;
	waiter &operator=(const waiter &) = delete;

	~waiter()
	{
		if (_coroutine)
			misused("a coroutine is destroyed while it waits: see baton/await.hpp");
	}

	bool await_ready() const noexcept
	{
		return false;
	}

protected:
	void waits(std::coroutine_handle<> coroutine) noexcept
	{
		_coroutine = coroutine;
	}

	void goes_on(int status) noexcept
	{
		_status = status;
		std::exchange(_coroutine, nullptr).resume();
	}

	/* For an await_suspend that has been refused: the coroutine goes on at once. */
	bool refused(int status) noexcept
	{
		_status = status;
		_coroutine = nullptr;
		return false;
	}

	int status() const noexcept
	{
		return _status;
	}

private:
	std::coroutine_handle<> _coroutine;
	int _status = 0;
};

/* One that waits for its turn as a task of a resource. */
class task_waiter : public waiter, protected stamped_task
{
protected:
	void prepare(const baton_label *given) noexcept
	{
		baton_task_init_of(this, &type);
		label(given);
	}

private:
	static task_waiter *of(baton_task *task) noexcept
	{
		return static_cast<task_waiter *>(static_cast<stamped_task *>(task));
	}

	static int run(baton_task *task) noexcept
	{
		of(task)->goes_on(0);
		return 0;
	}

	static void cancelled(baton_task *task) noexcept
	{
		of(task)->goes_on(-ECANCELED);
	}

	static constexpr baton_task_type type =
		task_type(run, cancelled, 0, stamped_task::stamp_place);
};

/* One that waits for its turn as a job of an executor. */
class job_waiter : public waiter, protected baton_plain_job
{
protected:
	void prepare() noexcept
	{
		baton_plain_job_init(this, run, cancelled);
	}

private:
	static void run(baton_plain_job *job) noexcept
	{
		static_cast<job_waiter *>(job)->goes_on(0);
	}

	static void cancelled(baton_plain_job *job) noexcept
	{
		static_cast<job_waiter *>(job)->goes_on(-ECANCELED);
	}
};

/* The result of a future, on a resource that was named. */
template <class T> class on_resource : public task_waiter
{
public:
	on_resource(future<T> &from, baton_resource &where) noexcept : _from(from), _where(where)
	{
	}

	/* Not inlined, here and below: no compiler may keep a variable of this function in the
	 * frame, which may be gone when the call returns. */
	__attribute__((noinline)) void await_suspend(std::coroutine_handle<> coroutine) noexcept
	{
		state *memory = _from.memory();

		waits(coroutine);
		prepare(nullptr);
		baton_continuation_task(&memory->slot, &_where, this);
		baton_future_then(&memory->future, &memory->slot);
	}

	T await_resume()
	{
		raise_if(status());
		return _from.get();
	}

private:
	future<T> &_from;
	baton_resource &_where;
};

/* The same, on an executor. */
template <class T> class on_executor : public job_waiter
{
public:
	on_executor(future<T> &from, baton_executor *where) noexcept : _from(from), _where(where)
	{
	}

	__attribute__((noinline)) void await_suspend(std::coroutine_handle<> coroutine) noexcept
	{
		state *memory = _from.memory();

		waits(coroutine);
		prepare();
		baton_continuation_job(&memory->slot, _where, &job);
		baton_future_then(&memory->future, &memory->slot);
	}

	T await_resume()
	{
		raise_if(status());
		return _from.get();
	}

private:
	future<T> &_from;
	baton_executor *_where;
};

} /* namespace detail */

/* What resource::enter() returns: for co_await, once. */
class entering : public detail::task_waiter
{
public:
	entering(baton_resource &where, const baton_label *label, std::error_code *error,
	         bool later = false) noexcept
	    : _where(where), _label(label), _error(error), _later(later)
	{
	}

	__attribute__((noinline)) bool await_suspend(std::coroutine_handle<> coroutine) noexcept
	{
		int error;

		if (!_later) {
			detail::held here(&_where);

			if (here) {
				coroutine.resume();
				return true;
			}
		}
		waits(coroutine);
		prepare(_label);
		error = _later ? baton_submit_later(&_where, this) : (baton_submit)(&_where, this);
		if (!error)
			return true;
		forget_tag();
		return refused(error);
	}

	void await_resume()
	{
		if (_error)
			*_error = code(status());
		else
			detail::raise_if(status());
	}

private:
	baton_resource &_where;
	const baton_label *_label;
	std::error_code *_error;
	bool _later;
};

inline entering resource::enter() noexcept
{
	return {*this, nullptr, nullptr};
}

inline entering resource::enter(std::error_code &error) noexcept
{
	return {*this, nullptr, &error};
}

inline entering resource::enter_later() noexcept
{
	return {*this, nullptr, nullptr, true};
}

inline entering resource::enter(const baton_label &label) noexcept
{
	return {*this, &label, nullptr};
}

inline entering resource::enter(const baton_label &label, std::error_code &error) noexcept
{
	return {*this, &label, &error};
}

/* What enter(executor) returns: for co_await, once. */
class entering_executor : public detail::job_waiter
{
public:
	explicit entering_executor(baton_executor *where) noexcept : _where(where)
	{
	}

	__attribute__((noinline)) bool await_suspend(std::coroutine_handle<> coroutine) noexcept
	{
		int error;

		waits(coroutine);
		prepare();
		error = baton_executor_schedule(_where, &job);
		return error ? refused(error) : true;
	}

	void await_resume()
	{
		detail::raise_if(status());
	}

private:
	baton_executor *_where;
};

[[nodiscard]] inline entering_executor enter(baton_executor *where) noexcept
{
	return entering_executor(where);
}

/*
 * A time to wait for, once. The coroutine goes on as a task of the resource when the time is over,
 * on the default wheel (baton/timer.h). The timer lies in this object, which is mostly a variable
 * of the coroutine. A wheel that is closed, and a resource that is closed meanwhile, let the
 * coroutine go on with their error.
 */
class delay : public detail::waiter, private baton_timer
{
public:
	template <class Rep, class Period>
	delay(baton_resource &where, std::chrono::duration<Rep, Period> time)
	    : _where(&where), _span(detail::span(time))
	{
		baton_timer_init(this, nullptr, &where, expired);
		baton_timer_set_dropped(this, dropped);
	}

	__attribute__((noinline)) bool await_suspend(std::coroutine_handle<> coroutine) noexcept
	{
		int error;

		if (std::exchange(_used, true))
			detail::misused("a delay is awaited twice: make one for each wait");
		waits(coroutine);
		_waits = true;
		error = baton_timer_arm_after(this, _span);
		return error ? refused(error) : true;
	}

	void await_resume()
	{
		detail::raise_if(status());
	}

	/*
	 * The coroutine, if it waits, goes on after up to a tick of the wheel (about 1 ms), with
	 * -ECANCELED, as a task of the resource.
	 * Called in a task of the resource. Errors: as baton_timer_arm_after(): the coroutine goes
	 * on when the time is over, or the resource refuses it then.
	 */
	std::error_code cancel() noexcept
	{
		baton_assert_held(_where);
		if (!_waits)
			return {};
		_cancelled = true;
		return code(baton_timer_arm_after(this, 0));
	}

private:
	/* The coroutine may end, and the timer with it. */
	static int expired(baton_timer *timer) noexcept
	{
		delay *self = static_cast<delay *>(timer);

		self->_waits = false;
		self->goes_on(self->_cancelled ? -ECANCELED : 0);
		return BATON_GONE;
	}

	static void dropped(baton_timer *timer, int error) noexcept
	{
		static_cast<delay *>(timer)->goes_on(error);
	}

	baton_resource *_where;
	std::uint64_t _span;
	bool _used = false;
	bool _waits = false;     /* under the baton, but for the first co_await */
	bool _cancelled = false; /* under the baton */
};

template <class Rep, class Period> delay resource::after(std::chrono::duration<Rep, Period> time)
{
	return {*this, time};
}

template <class T> detail::on_resource<T> future<T>::on(resource &where) noexcept
{
	return {*this, where};
}

template <class T> detail::on_executor<T> future<T>::on(baton_executor *where) noexcept
{
	return {*this, where};
}

} /* namespace baton */

#endif

#endif
