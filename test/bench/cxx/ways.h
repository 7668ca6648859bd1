/* SPDX-License-Identifier: MIT */
/* The hot paths of baton.hpp, and baton_call_inline() compiled in the same file: `n` times each. */
#ifndef BATON_BENCH_CXX_WAYS_H
#define BATON_BENCH_CXX_WAYS_H

#include <baton/resource.h>

#ifdef __cplusplus
extern "C" {
#endif

void cxx_call_of_c(struct baton_resource *resource, unsigned n);
void cxx_call(struct baton_resource *resource, unsigned n);
void cxx_call_value(struct baton_resource *resource, unsigned n);
void cxx_post(struct baton_resource *resource, unsigned n);
/* A coroutine from one idle resource into another, and back behind its task. */
void cxx_enter(struct baton_resource *resource, unsigned n);

#ifdef __cplusplus
}
#endif

#endif
