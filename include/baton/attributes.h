/* SPDX-License-Identifier: MIT */
/*
 * What the declarations of the other headers tell the compiler. A program may define the macro
 * before it includes a header: empty, for a compiler that does not know the attribute.
 */
#ifndef BATON_ATTRIBUTES_H
#define BATON_ATTRIBUTES_H

/* A caller must look at the result: nothing else says whether the call has made something that the
 * caller must give back. */
#ifndef BATON_MUST_USE
#define BATON_MUST_USE __attribute__((warn_unused_result))
#endif

#endif
