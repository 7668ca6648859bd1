/* SPDX-License-Identifier: MIT */
/*
 * The manual executor: nothing runs until its owner, the thread that created it, says so. For tests
 * and for deterministic replay.
 *
 * Thread safety: jobs are scheduled from any thread; run and destroy are the owner's alone.
 */
#ifndef BATON_MANUAL_H
#define BATON_MANUAL_H

#include <stdbool.h>
#include <stddef.h>

#include <baton/attributes.h>
#include <baton/executor.h>

#ifdef __cplusplus
extern "C" {
#endif

struct baton_manual;

/*
 * Creates a manual executor.
 *
 * Thread safety: any thread. Blocking: never.
 * Ownership: end it with baton_manual_destroy().
 * Errors: -ENOMEM.
 */
BATON_MUST_USE int baton_manual_create(struct baton_manual **manual) BATON_NONNULL;
struct baton_executor *baton_manual_executor(struct baton_manual *manual) BATON_NONNULL;

/* Runs the oldest jobs, at most `jobs_max` of them, or, if that is 0, until no job waits; jobs that
 * these jobs schedule count. Returns how many ran. Where calls have nested BATON_CALLING_MAX deep
 * (resource.h), no job is run. */
size_t baton_manual_run(struct baton_manual *manual, size_t jobs_max) BATON_NONNULL;

/*
 * Refuses further jobs (-ESHUTDOWN), cancels the queued jobs, and frees the executor. No other
 * thread may still run, or help, a resource that uses this executor: that thread would hand the
 * resource off to it.
 */
void baton_manual_destroy(struct baton_manual *manual) BATON_NONNULL;

#ifdef __cplusplus
}
#endif

#endif
