/* SPDX-License-Identifier: MIT */
/*
 * Errors of the C calls in C++: a std::error_code of the category baton::category().
 *
 *	if (std::error_code error = topic.post(publish); error == std::errc::broken_pipe)
 *		...                       // closed: the callable has not run, and is destroyed
 *
 * The value of such a code is the number that the C call returns (-EPIPE), and its text is that of
 * baton_error_text(). It compares equal to the std::errc of its errno.
 *
 * Exceptions. Functions that cannot return a code throw a std::system_error that holds the code:
 * future::get(), call() without a code, constructors. A program that is compiled with
 * -fno-exceptions ends there (std::terminate): it asks for the code first.
 */
#ifndef BATON_ERROR_HPP
#define BATON_ERROR_HPP

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <system_error>

#include <baton/error.h>
#include <baton/time.h>

#if defined(__cpp_exceptions)
#define BATON_HAS_EXCEPTIONS 1
#else
#define BATON_HAS_EXCEPTIONS 0
#endif

#if defined(__cpp_impl_coroutine) || (defined(__clang__) && defined(__cpp_coroutines))
#define BATON_HAS_COROUTINES 1
#else
#define BATON_HAS_COROUTINES 0
#endif

namespace baton
{

/* The status of a future whose callable has thrown, unless it was a std::system_error of baton's
 * category: that one has its own. */
constexpr int thrown = -ENOTRECOVERABLE;

/* The category of baton's codes. Thread safety: any thread. */
inline const std::error_category &category() noexcept
{
	class baton_category final : public std::error_category
	{
	public:
		const char *name() const noexcept override
		{
			return "baton";
		}

		std::string message(int value) const override
		{
			return value == thrown ? "an exception was thrown"
			                       : baton_error_text(value);
		}

		std::error_condition default_error_condition(int value) const noexcept override
		{
			return value < 0 ? std::error_condition(-value, std::generic_category())
			                 : std::error_condition(value, *this);
		}
	};
	static const baton_category only;

	return only;
}

/* The code of what a C call has returned. 0: no error, whatever the category. */
[[nodiscard]] inline std::error_code code(int status) noexcept
{
	return {status, category()};
}

namespace detail
{

/* Throws, or ends the program. */
[[noreturn]] inline void raise(int status)
{
#if BATON_HAS_EXCEPTIONS
	throw std::system_error(code(status));
#else
	(void)status;
	std::terminate();
#endif
}

inline void raise_if(int status)
{
	if (status)
		raise(status);
}

/* A mistake of the program that would end in memory that is used after its end. */
[[noreturn]] inline void misused(const char *what) noexcept
{
	std::fprintf(stderr, "baton: %s\n", what);
	std::abort();
}

/* A span of std::chrono in nanoseconds. A negative span is 0; what does not fit has no end. */
template <class Rep, class Period> std::uint64_t span(std::chrono::duration<Rep, Period> time)
{
	const std::chrono::duration<double> seconds = time;

	if (seconds.count() <= 0)
		return 0;
	if (seconds.count() >= 9e9)
		return BATON_FOREVER;
	return static_cast<std::uint64_t>(
		std::chrono::duration_cast<std::chrono::nanoseconds>(time).count());
}

} /* namespace detail */

} /* namespace baton */

#endif
