/* SPDX-License-Identifier: MIT */
/* Plain jobs of the library's own, by which a thread asks other workers for help. */
#ifndef BATON_SRC_OFFER_H
#define BATON_SRC_OFFER_H

struct baton_plain_job;
struct baton_pool;

/*
 * As baton_pool_submit(), but a worker of the pool does not keep the job for itself: the job goes
 * into its run queue, from which other workers steal at once, and not into its LIFO slot, which
 * they leave alone at first.
 */
int baton__pool_offer(struct baton_pool *pool, struct baton_plain_job *job);

#endif
