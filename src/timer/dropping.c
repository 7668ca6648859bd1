/* SPDX-License-Identifier: MIT */
/* Objects whose `dropped` is about to be called, or runs. See dropping.h. */
#include "timer/dropping.h"

#include "base/atomic.h"
#include "thread/thread.h"
#include "pool/sole.h"

static uint32_t dropping_lock;
static struct baton__handings droppings = {.lock = &dropping_lock};
static uint32_t droppings_max; /* at least the number of objects in droppings */

void baton__dropping_begin(struct baton__dropping *dropping, void *object)
{
	dropping->object = object;
	dropping->list = (struct baton__handing){.owners = &dropping->object, .count = 1};
	/* Relaxed: the caller's CAS publishes it ([timer.touched]). */
	(void)add_relaxed(&droppings_max, 1);
	baton__sole_begin(&dropping_lock);
	baton__handing_begin(&droppings, &dropping->list);
	baton__sole_end(&dropping_lock);
}

void baton__dropping_end(struct baton__dropping *dropping)
{
	if (!dropping->object)
		return;
	baton__handing_end(&droppings, &dropping->list);
	/* [timer.dropped] release: what `dropped` did; pairs with [timer.dropped] in
	 * baton__dropping_await. Release is enough: a thread that has just lowered the count
	 * reads nothing else. */
	(void)sub_acq_rel(&droppings_max, 1);
}

bool baton__dropping_await(const void *object)
{
	bool withdrawn = false;
	bool waited;

	/* [timer.dropped] acquire: what `dropped` did; pairs with [timer.dropped] in
	 * baton__dropping_end. */
	if (!load_acquire(&droppings_max))
		return false;
	baton__sole_begin(&dropping_lock);
	waited = baton__handing_await(&droppings, object, &withdrawn);
	baton__sole_end(&dropping_lock);
	return waited;
}
