/* SPDX-License-Identifier: MIT */
/* What the tests of the C++ headers share. They are plain programs: main runs one claim after the
 * other, and returns how many were not so. */
#ifndef BATON_TEST_UNIT_CXX_H
#define BATON_TEST_UNIT_CXX_H

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <baton.hpp>
#include <baton/manual.h>

namespace
{

std::atomic<int> failures;

void expect(bool condition, const char *text, int line)
{
	if (!condition) {
		failures++;
		std::fprintf(stderr, "line %d: not so: %s\n", line, text);
	}
}

#define EXPECT(condition) expect((condition), #condition, __LINE__)

/* A callable's capture, counted. */
struct counted {
	static inline std::atomic<int> alive;
	static inline std::atomic<int> moved;

	counted() noexcept
	{
		alive++;
	}

	counted(const counted &) noexcept
	{
		alive++;
	}

	counted(counted &&) noexcept
	{
		alive++;
		moved++;
	}

	counted &operator=(const counted &) = delete;

	~counted()
	{
		alive--;
	}
};

/* Nothing runs until step() says so. */
class by_hand
{
public:
	by_hand()
	{
		baton::detail::raise_if(baton_manual_create(&_manual));
	}

	by_hand(const by_hand &) = delete;
	by_hand &operator=(const by_hand &) = delete;

	~by_hand()
	{
		baton_manual_destroy(_manual);
	}

	baton_executor *executor() const
	{
		return baton_manual_executor(_manual);
	}

	void run()
	{
		static_cast<void>(baton_manual_run(_manual, 0));
	}

private:
	baton_manual *_manual = nullptr;
};

/* Its callables wait until run(). */
struct waiting {
	by_hand hand;
	const baton_resource_config config =
		baton::with_executor(hand.executor(), BATON_CAPTURE_NONE);
	baton::resource resource{config};
};

/* Does a child process end by abort(), and print this? Called before there are threads. */
template <class F> bool dies(F &&mistake, const char *said)
{
	char printed[512];
	std::size_t length = 0;
	ssize_t more;
	int ends[2];
	int status;

	if (pipe(ends))
		std::abort();
	const pid_t child = fork();
	if (child == 0) {
		dup2(ends[1], STDERR_FILENO);
		std::signal(SIGABRT, SIG_DFL);
		alarm(20);
		mistake();
		_exit(0);
	}
	close(ends[1]);
	while ((more = read(ends[0], printed + length, sizeof(printed) - 1 - length)) > 0)
		length += static_cast<std::size_t>(more);
	printed[length] = 0;
	close(ends[0]);
	if (waitpid(child, &status, 0) != child)
		std::abort();
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT && std::strstr(printed, said))
		return true;
	std::fprintf(stderr, "status %#x, printed: %s\n", static_cast<unsigned>(status), printed);
	return false;
}

#if BATON_HAS_EXCEPTIONS

/* The number that the function throws, or baton's error code; 0: it throws nothing. */
template <class F> int thrown_by(F &&throws)
{
	try {
		throws();
	} catch (int value) {
		return value;
	} catch (const std::system_error &error) {
		EXPECT(error.code().category() == baton::category());
		return error.code().value();
	}
	return 0;
}

#endif

struct claim {
	const char *name;
	void (*test)();
};

template <std::size_t count> int run_claims(const char *program, const claim (&claims)[count])
{
	for (const claim &claim : claims) {
		const int before = failures;

		claim.test();
		/* A frame may end on another thread a moment after its future. */
		for (int i = 0; counted::alive != 0 && i < 5000; i++)
			usleep(1000);
		EXPECT(counted::alive == 0);
		if (failures != before)
			std::fprintf(stderr, "%s: failed: %s\n", program, claim.name);
	}
	if (!failures)
		std::printf("%s: %zu claims: ok\n", program, count);
	return failures != 0;
}

} /* namespace */

#endif
