/* SPDX-License-Identifier: MIT */
/* The generator checks itself, without a broker. */
#ifndef LOAD_SELFTEST_H
#define LOAD_SELFTEST_H

/* The exit status. */
int selftest(void);

#endif
