/* SPDX-License-Identifier: MIT */
/*
 * What the options and the files that they name say, at the start and at SIGHUP. Main thread.
 *
 * All files are read before any of their contents is used: a reload with an error changes nothing.
 * How the other threads see what has changed:
 *
 *   limits         atomic words, read at each use (struct broker_limits)
 *   passwords      a task of their resource replaces the list; a task of each loop the vouchers
 *   access file    a published pointer to its rules (common/rights.h); a task of each loop, and one
 *                  of the subscription tree, so that what was found by the old rules is found anew
 *   TLS            a task of each loop replaces the settings, for new connections; certificates of
 *                  connected clients are checked again (net/recheck.h)
 *   the log        its levels are an atomic word; its writer takes the new target (log_use)
 *   the rest       is the main thread's
 */
#ifndef BROKER_RELOAD_H
#define BROKER_RELOAD_H

struct broker;
struct broker_options;

/* Reads the files at the start. A negative errno: errors, which are logged. */
int broker_load(struct broker *broker);

/* Reads the options and their files again, and uses what may change. Logs all that has changed. */
void broker_reload(struct broker *broker);

/* Reads the files, and uses nothing. */
int broker_check(const struct broker_options *options);

#endif
