/* SPDX-License-Identifier: MIT */
/* What came of a run, as text or as a line of JSON. */
#ifndef LOAD_REPORT_H
#define LOAD_REPORT_H

struct load;

/* The exit status. */
int report(const struct load *load);

#endif
