/* SPDX-License-Identifier: MIT */
/*
 * A group in C++ (baton/group.h): counts what is under way, and tells when nothing is left.
 *
 *	baton::group group;
 *
 *	group.enter();
 *	error = topic.post([&group] { ...; group.leave(); });
 *	...
 *	error = group.wait();
 *
 *	co_await group.over().on(session);    // or: when nothing is left, a task of the session
 */
#ifndef BATON_GROUP_HPP
#define BATON_GROUP_HPP

#include <cstddef>
#include <cstdint>

#include <baton/error.hpp>
#include <baton/future.hpp>
#include <baton/group.h>

namespace baton
{

namespace detail
{

/* The memory of the future of a group's end. */
struct over_state : shared_state {
	baton_continuation continuation;
	baton_group *group;

	explicit over_state(baton_group *of) noexcept : shared_state(destroyed), group(of)
	{
		baton_continuation_function(&continuation, told, this);
	}

	static void destroyed(shared_state *self) noexcept
	{
		delete static_cast<over_state *>(self);
	}

	static void told(void *arg) noexcept
	{
		over_state *self = static_cast<over_state *>(arg);

		self->complete(baton_group_status(self->group), self);
		self->leave();
	}
};

} /* namespace detail */

class group : public baton_group
{
public:
	constexpr group() noexcept : baton_group BATON_GROUP_INIT
	{
	}

	group(const group &) = delete;
	group &operator=(const group &) = delete;

	/* Any thread, before each thing is begun. */
	void enter(std::size_t count = 1) noexcept
	{
		baton_group_enter_many(this, count);
	}

	/* Any thread, when it is over. The group keeps the first status that is not 0. */
	void leave(int status = 0) noexcept
	{
		baton_group_leave_with(this, status);
	}

	[[nodiscard]] std::error_code wait() noexcept
	{
		return code(baton_group_wait(this));
	}

	[[nodiscard]] std::error_code wait_until(std::uint64_t deadline_ns) noexcept
	{
		return code(baton_group_wait_until(this, deadline_ns));
	}

	/* baton_group_status(). */
	std::error_code status() const noexcept
	{
		return code(baton_group_status(this));
	}

	/* A future that is complete when nothing is left, with the group's status. The group lives
	 * until then. Throws std::bad_alloc. */
	future<void> over()
	{
		auto *state = new detail::over_state(this);
		future<void> result(state);

		baton_group_then(this, &state->continuation);
		return result;
	}
};

} /* namespace baton */

#endif
