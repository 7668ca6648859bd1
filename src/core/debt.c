/* SPDX-License-Identifier: MIT */
/* Takes debts out of the threads' records. */
#include "core/debt.h"

#include "base/atomic.h"

bool baton__debt_take_out(struct baton_resource **debt, struct baton_resource *resource)
{
	struct baton_resource *found = load_relaxed(debt);

	/* Relaxed: the visit, not this word, keeps the resource (loan.debt, loan.h). The last
	 * holder sees each debt: the debtor's store comes before its push, and [word.publish]
	 * orders that push before the holder. */
	return found == resource && cas_relaxed(debt, &found, NULL);
}

void baton__debt_revoke(struct baton_resource *resource)
{
	/* Bounded by the number of threads. */
	for (struct baton__thread *thread = baton__thread_first(); thread; thread = thread->next)
		for (int i = 0; i < BATON__DEBTS_MAX; i++)
			if (baton__debt_take_out(&thread->debts[i], resource))
				/* Ends the visit in the debtor's place: the debtor has not touched
				 * the resource since its push. */
				baton__turn_unvisit(resource);
}
