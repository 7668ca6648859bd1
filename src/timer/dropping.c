/* SPDX-License-Identifier: MIT */
/* Timers whose `dropped` is about to be called, or runs. See dropping.h. */
#include "timer/dropping.h"

#include "base/atomic.h"
#include "thread/thread.h"
#include "pool/sole.h"

static uint32_t turn;
static struct baton__handings droppings = {.turn = &turn};
static uint32_t count; /* at least that of the timers in `droppings` */

void baton__dropping_begin(struct baton__dropping *dropping, struct baton_timer *timer)
{
	dropping->timer = timer;
	dropping->list = (struct baton__handing){.owners = &dropping->timer, .count = 1};
	/* Relaxed: the caller's CAS publishes it ([timer.touched]). */
	(void)add_relaxed(&count, 1);
	baton__sole_begin(&turn);
	baton__handing_begin(&droppings, &dropping->list);
	baton__sole_end(&turn);
}

void baton__dropping_end(struct baton__dropping *dropping)
{
	if (!dropping->timer)
		return;
	baton__handing_end(&droppings, &dropping->list);
	/* [timer.dropped] release: what `dropped` did; pairs with [timer.dropped] in
	 * baton__dropping_await. Acquire: not needed. */
	(void)sub_acq_rel(&count, 1);
}

bool baton__dropping_await(const struct baton_timer *timer)
{
	bool withdrawn = false;
	bool waited;

	/* [timer.dropped] acquire: what `dropped` did; pairs with [timer.dropped] in
	 * baton__dropping_end. */
	if (!load_acquire(&count))
		return false;
	baton__sole_begin(&turn);
	waited = baton__handing_await(&droppings, timer, &withdrawn);
	baton__sole_end(&turn);
	return waited;
}
