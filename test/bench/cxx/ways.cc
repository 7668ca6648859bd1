/* SPDX-License-Identifier: MIT */
#include "ways.h"

#include <baton.hpp>

namespace
{

volatile unsigned counter;

/* As the function that C's rows call: it may throw, for all that the compiler knows. */
__attribute__((noinline)) void *count(void *arg)
{
	counter = counter + 1;
	return arg;
}

#if BATON_HAS_COROUTINES
baton::routine enter(baton::resource &resource, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		co_await resource.enter();
		counter = counter + 1;
	}
}
#endif

} /* namespace */

extern "C" void cxx_call_of_c(struct baton_resource *resource, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		BATON_IGNORE(baton_call_inline(resource, count, nullptr, nullptr));
}

extern "C" void cxx_call(struct baton_resource *resource, unsigned n)
{
	baton::resource &topic = baton::resource::of(*resource);

	for (unsigned i = 0; i < n; i++)
		topic.call([] { count(nullptr); });
}

extern "C" void cxx_call_value(struct baton_resource *resource, unsigned n)
{
	baton::resource &topic = baton::resource::of(*resource);

	for (unsigned i = 0; i < n; i++)
		static_cast<void>(topic.call([] { return count(nullptr); }));
}

extern "C" void cxx_post(struct baton_resource *resource, unsigned n)
{
	baton::resource &topic = baton::resource::of(*resource);

	for (unsigned i = 0; i < n; i++)
		static_cast<void>(topic.post([] { count(nullptr); }));
}

extern "C" void cxx_enter(struct baton_resource *resource, unsigned n)
{
#if BATON_HAS_COROUTINES
	enter(baton::resource::of(*resource), n);
#else
	static_cast<void>(resource);
	static_cast<void>(n);
#endif
}
