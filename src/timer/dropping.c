/* SPDX-License-Identifier: MIT */
/* Timers whose `dropped` is about to be called, or runs. See dropping.h. */
#include "timer/dropping.h"

#include "base/atomic.h"
#include "thread/thread.h"
#include "pool/sole.h"

static uint32_t dropping_lock;
static struct baton__handings timer_droppings = {.lock = &dropping_lock};
static uint32_t droppings_max; /* at least the number of timers in timer_droppings */

void baton__dropping_begin(struct baton__dropping *dropping, struct baton_timer *timer)
{
	dropping->timer = timer;
	dropping->list = (struct baton__handing){.owners = &dropping->timer, .count = 1};
	/* Relaxed: the caller's CAS publishes it ([timer.touched]). */
	(void)add_relaxed(&droppings_max, 1);
	baton__sole_begin(&dropping_lock);
	baton__handing_begin(&timer_droppings, &dropping->list);
	baton__sole_end(&dropping_lock);
}

void baton__dropping_end(struct baton__dropping *dropping)
{
	if (!dropping->timer)
		return;
	baton__handing_end(&timer_droppings, &dropping->list);
	/* [timer.dropped] release: what `dropped` did; pairs with [timer.dropped] in
	 * baton__dropping_await. Release is enough: a thread that has just lowered the count
	 * reads nothing else. */
	(void)sub_acq_rel(&droppings_max, 1);
}

bool baton__dropping_await(const struct baton_timer *timer)
{
	bool withdrawn = false;
	bool waited;

	/* [timer.dropped] acquire: what `dropped` did; pairs with [timer.dropped] in
	 * baton__dropping_end. */
	if (!load_acquire(&droppings_max))
		return false;
	baton__sole_begin(&dropping_lock);
	waited = baton__handing_await(&timer_droppings, timer, &withdrawn);
	baton__sole_end(&dropping_lock);
	return waited;
}
