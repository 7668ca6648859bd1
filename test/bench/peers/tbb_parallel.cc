/* SPDX-License-Identifier: MIT */
#include "parallel.h"

#if __has_include(<oneapi/tbb/parallel_for.h>) && !defined(BENCH_NO_TBB)

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>

namespace
{

void loop(size_t count, peer_chunk_fn run, void *argument)
{
	using range = tbb::blocked_range<size_t>;

	tbb::parallel_for(range(0, count), [run, argument](const range &chunk) {
		run(argument, chunk.begin(), chunk.end());
	});
}

} // namespace

extern "C" void (*const peer_tbb_parallel_for)(size_t, peer_chunk_fn, void *) = loop;

#else

extern "C" void (*const peer_tbb_parallel_for)(size_t, peer_chunk_fn, void *) = nullptr;

#endif
