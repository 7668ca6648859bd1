/* SPDX-License-Identifier: MIT */
/* The one place that holds the version: the Makefile derives the soname and baton.pc from it. */
#ifndef BATON_VERSION_H
#define BATON_VERSION_H

#define BATON_VERSION_MAJOR 0
#define BATON_VERSION_MINOR 1
#define BATON_VERSION_PATCH 0

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the library that is linked in, "major.minor.patch". */
const char *baton_version(void);

#ifdef __cplusplus
}
#endif

#endif
