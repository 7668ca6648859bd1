/* SPDX-License-Identifier: MIT */
/* The clock, for programs. */
#include <baton/time.h>

#include "base/futex.h"

BATON_EXPORT uint64_t baton_now(void)
{
	return baton__now_ns();
}

BATON_EXPORT uint64_t baton_after(uint64_t span_ns)
{
	return baton__time_after(baton__now_ns(), span_ns);
}
