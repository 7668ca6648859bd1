/* SPDX-License-Identifier: MIT */
/*
 * The version: the macros give that of the headers, the functions that of the library. Only this
 * file holds the version: the Makefile derives the soname and baton.pc from here. Until the first
 * major version a new minor version may break programs, and then has another soname. The page
 * baton-versions says more.
 */
#ifndef BATON_VERSION_H
#define BATON_VERSION_H

#define BATON_VERSION_MAJOR 0
#define BATON_VERSION_MINOR 3
#define BATON_VERSION_PATCH 0

/* To compare versions: `#if BATON_VERSION >= BATON_VERSION_OF(0, 3, 0)`. */
#define BATON_VERSION_OF(major, minor, patch) (((major) << 16) | ((minor) << 8) | (patch))
#define BATON_VERSION                                                                              \
	BATON_VERSION_OF(BATON_VERSION_MAJOR, BATON_VERSION_MINOR, BATON_VERSION_PATCH)

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the library that is linked in, "major.minor.patch". Thread safety: any thread. */
const char *baton_version(void);

/*
 * The same as a number. Thread safety: any thread.
 * Returns: a number that can be compared with BATON_VERSION.
 */
int baton_version_number(void);

#ifdef __cplusplus
}
#endif

#endif
