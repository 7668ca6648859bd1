/* SPDX-License-Identifier: MIT */
/*
 * A tag in C++ (baton/tag.h): what was posted with it, and has not begun, is cancelled by one call.
 * The callable of a cancelled post is destroyed, a future is cancelled, a coroutine that waits goes
 * on with -ECANCELED: by the runner, when it comes to the task.
 *
 *	error = topic.post(publish, client->tag.label());
 *	co_await topic.enter(client->tag.label());
 *
 *	client->tag.cancel();
 *
 * Experimental: may change without a table in CHANGES until a program from a real need uses it.
 */
#ifndef BATON_TAG_HPP
#define BATON_TAG_HPP

#include <cstdint>

#include <baton/error.hpp>
#include <baton/label.h>
#include <baton/tag.h>

namespace baton
{

class tag : public baton_tag
{
public:
	constexpr tag() noexcept : baton_tag BATON_TAG_INIT
	{
	}

	tag(const tag &) = delete;
	tag &operator=(const tag &) = delete;

	/* No task that was given the label waits any more. */
	~tag()
	{
		if (baton_tag_held(this))
			detail::misused("a tag is destroyed while tasks with it wait: await their "
			                "resources first");
	}

	/* For one post, async or enter. The tag counts the task as long as it waits. */
	[[nodiscard]] baton_label label(std::uint32_t lane = 0, std::uint64_t bytes = 0) noexcept
	{
		return {this, bytes, lane, true};
	}

	/* Any thread. Never blocks. */
	void cancel() noexcept
	{
		baton_tag_cancel(this);
	}

	/* How many tasks with the tag wait. */
	std::uint64_t held() const noexcept
	{
		return baton_tag_held(this);
	}
};

} /* namespace baton */

#endif
