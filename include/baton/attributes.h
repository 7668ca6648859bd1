/* SPDX-License-Identifier: MIT */
/*
 * What the declarations of the other headers tell the compiler. A program may define the macro
 * before it includes a header: empty, for a compiler that does not know the attribute.
 */
#ifndef BATON_ATTRIBUTES_H
#define BATON_ATTRIBUTES_H

/*
 * A caller must look at the result: nothing else says that the call was refused and has done
 * nothing, whether it has made something that the caller must give back, or whether the caller may
 * touch what it waited for. The compiler warns of a call whose result is dropped. Two ways out:
 *
 * BATON_IGNORE(expression) drops the result of one call, of a stop: of its member `met`. (gcc does
 * not take a cast to void.)
 * BATON_OPTIONAL_RESULTS, defined before the first header is included, or by -D: no warnings.
 */
#define BATON_IGNORE(expression) ((void)!(expression))

#ifndef BATON_MUST_USE
#if defined(__GNUC__) && !defined(BATON_OPTIONAL_RESULTS)
#define BATON_MUST_USE __attribute__((warn_unused_result))
#else
#define BATON_MUST_USE
#endif
#endif

/*
 * NONNULL: no pointer that the function is given may be NULL. NONNULL_AT: the same of the
 * parameters with these numbers. Both are empty where baton itself is compiled: otherwise the
 * compiler would take the checks out of the functions.
 */
#ifndef BATON_NONNULL
#if defined(__GNUC__) && !defined(BATON_BUILDING)
#define BATON_NONNULL __attribute__((nonnull))
#define BATON_NONNULL_AT(...) __attribute__((nonnull(__VA_ARGS__)))
#else
#define BATON_NONNULL
#define BATON_NONNULL_AT(...)
#endif
#endif

/* The headers' own casts, of a pointer and of a number: C++ programs may be compiled with
 * -Wold-style-cast. */
#ifdef __cplusplus
#define BATON__CAST(type, pointer) reinterpret_cast<type>(pointer)
#define BATON__NUMBER(type, number) static_cast<type>(number)
#else
#define BATON__CAST(type, pointer) ((type)(pointer))
#define BATON__NUMBER(type, number) ((type)(number))
#endif

#endif
