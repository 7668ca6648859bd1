/* SPDX-License-Identifier: MIT */
/*
 * The allocations of callables and coroutines, counted: a steady state, after a round that warms
 * the caches. Ends with status 1 if a row has more than it may have.
 */
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <sys/mman.h>

#include <baton.hpp>

#define ROUND 100U

namespace
{

unsigned allocations;

/* ---- What is counted ---- */

} /* namespace */

extern "C" {
#define WRAPPED(type, name, parameters, arguments)                                                 \
	type __real_##name parameters;                                                             \
	type __wrap_##name parameters;                                                             \
	type __wrap_##name parameters                                                              \
	{                                                                                          \
		allocations++;                                                                     \
		return __real_##name arguments;                                                    \
	}
WRAPPED(void *, malloc, (std::size_t size), (size))
WRAPPED(void *, calloc, (std::size_t count, std::size_t size), (count, size))
WRAPPED(void *, realloc, (void *old, std::size_t size), (old, size))
WRAPPED(void *, aligned_alloc, (std::size_t alignment, std::size_t size), (alignment, size))
WRAPPED(void *, mmap, (void *at, std::size_t size, int protection, int flags, int fd, off_t offset),
        (at, size, protection, flags, fd, offset))
}

void *operator new(std::size_t size)
{
	return std::malloc(size);
}

void *operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t &) noexcept
{
	const auto to = static_cast<std::size_t>(alignment);

	return std::aligned_alloc(to, (size + to - 1) / to * to);
}

void operator delete(void *memory) noexcept
{
	std::free(memory);
}

void operator delete(void *memory, std::size_t) noexcept
{
	std::free(memory);
}

void operator delete(void *memory, std::align_val_t) noexcept
{
	std::free(memory);
}

namespace
{

baton::resource resource, other;
unsigned runs;

template <std::size_t bytes> auto callable()
{
	std::array<char, bytes> filling{};

	return [filling] { runs += filling[0] == 0; };
}

void *count(void *)
{
	runs++;
	return nullptr;
}

/* ---- The ways; each runs ROUND callables ---- */

/* What is posted inside waits for the end of the call. */
template <class F> void while_busy(F &&post)
{
	resource.call([&] {
		for (unsigned i = 0; i < ROUND; i++)
			post();
	});
	if (resource.await())
		std::abort();
}

void post_of_c()
{
	while_busy([] { BATON_IGNORE(baton_post(&resource, count, nullptr)); });
}

template <std::size_t bytes> void post()
{
	while_busy([] { static_cast<void>(resource.post(callable<bytes>())); });
}

void post_idle()
{
	for (unsigned i = 0; i < ROUND; i++)
		static_cast<void>(resource.post(callable<1000>()));
}

void call_idle()
{
	for (unsigned i = 0; i < ROUND; i++)
		resource.call(callable<1000>());
}

void async_of_c()
{
	while_busy([] {
		baton_future *future;

		BATON_IGNORE(baton_async(&resource, count, nullptr, &future));
		baton_future_unref(future);
	});
}

template <std::size_t bytes> void async()
{
	while_busy([] { static_cast<void>(resource.async(callable<bytes>())); });
}

void then()
{
	while_busy([] {
		static_cast<void>(
			resource.async([] { return 1; }).then(other, [](int) { runs++; }));
	});
	if (other.await())
		std::abort();
}

baton::routine goes(unsigned n)
{
	for (unsigned i = 0; i < n / 2; i++) {
		co_await resource.enter();
		runs++;
		co_await other.enter();
		runs++;
	}
}

/* One frame. */
void enter()
{
	goes(ROUND);
	while (!resource.is_idle() || !other.is_idle())
		static_cast<void>(resource.await() || other.await());
}

const struct row {
	const char *name;
	void (*way)();
	double limit; /* for each callable */
} rows[] = {
	{"post, idle, C++, 1000 bytes", post_idle, 0},
	{"call, idle, C++, 1000 bytes", call_idle, 0},
	{"post, busy, C", post_of_c, 0},
	{"post, busy, C++, 24 bytes (one cache line)", post<24>, 0},
	{"post, busy, C++, 88 bytes", post<88>, 0},
	{"post, busy, C++, 89 bytes", post<89>, 1},
	{"async, busy, C", async_of_c, 0},
	{"async, busy, C++, 16 bytes", async<16>, 0},
	{"async, busy, C++, 17 bytes", async<17>, 1},
	{"async and then, busy, C++, no captures", then, 0},
	{"co_await enter(), a frame for 100", enter, 0.01},
};

} /* namespace */

int main()
{
	unsigned failures = 0;

	std::printf("allocations of C++ callables: measured/allowed for each\n");
	for (const row &row : rows) {
		row.way();
		row.way();
		allocations = runs = 0;
		row.way();
		const double measured = static_cast<double>(allocations) / ROUND;
		const bool pass = measured <= row.limit && runs == ROUND;

		std::printf("%-58s %5.2f/%-5.2f %s\n", row.name, measured, row.limit,
		            pass ? "PASS" : "FAIL");
		failures += !pass;
	}
	return failures ? 1 : 0;
}
