/* SPDX-License-Identifier: MIT */
/* The turn: each transition from each state in which it may be tried. */
#include "core/turn.h"

#include <criterion/criterion.h>

TestSuite(turn, .timeout = 5);

#define HELD BATON__HELD
#define QUEUED BATON__QUEUED
#define HELPED BATON__HELPED
#define CONSUMED BATON__CONSUMED
#define LEAVING BATON__LEAVING
#define TOUCHED BATON__TOUCHED
#define FINAL BATON__FINAL
#define VISIT BATON__VISIT
#define WANTED BATON__SHELF_WANTED
#define CALLED BATON__SHELF_CALLED
#define LEFT BATON__SHELF_LEFT

static bool queue(struct baton_resource *resource)
{
	baton__turn_queue(resource);
	return true;
}

static bool take_back(struct baton_resource *resource)
{
	bool touched;

	return baton__turn_take_back(resource, &touched);
}

static bool was_touched(struct baton_resource *resource)
{
	bool touched;

	(void)baton__turn_take_back(resource, &touched);
	return touched;
}

static bool give_back(struct baton_resource *resource)
{
	return baton__turn_give_back(resource, false);
}

static bool give_back_withdrawn(struct baton_resource *resource)
{
	return baton__turn_give_back(resource, true);
}

static bool visit(struct baton_resource *resource)
{
	baton__turn_visit(resource);
	return baton__turn_is_visited(resource);
}

static bool unvisit(struct baton_resource *resource)
{
	baton__turn_unvisit(resource);
	return baton__turn_is_visited(resource);
}

static bool want(struct baton_resource *resource)
{
	baton__turn_want_shelf(resource);
	return baton__turn_is_shelving(resource);
}

static bool unwant(struct baton_resource *resource)
{
	baton__turn_unwant_shelf(resource);
	return baton__turn_is_shelving(resource);
}

static bool shelve_idle(struct baton_resource *resource)
{
	baton__turn_shelve_idle(resource);
	return baton__turn_is_shelving(resource);
}

static const struct {
	const char *name;
	bool (*transition)(struct baton_resource *resource);
	uint32_t before, after;
	bool answer;
} transitions[] = {
	{"queue", queue, FINAL | VISIT | HELD, FINAL | VISIT | QUEUED, true},
	{"take back", take_back, QUEUED | VISIT, HELD | VISIT, true},
	{"take back, touched", take_back, QUEUED | TOUCHED, HELD, true},
	{"take back, helped", take_back, HELPED | TOUCHED | FINAL, CONSUMED | TOUCHED | FINAL,
         false},
	{"untouched", was_touched, QUEUED, HELD, false},
	{"touched", was_touched, QUEUED | TOUCHED, HELD, true},
	{"borrow", baton__turn_borrow, QUEUED | VISIT, HELPED | TOUCHED | VISIT, true},
	{"borrow, held", baton__turn_borrow, HELD, HELD, false},
	{"borrow, helped", baton__turn_borrow, HELPED | TOUCHED, HELPED | TOUCHED, false},
	{"borrow, consumed", baton__turn_borrow, CONSUMED, CONSUMED, false},
	{"give back", give_back, HELPED | TOUCHED | VISIT, QUEUED | TOUCHED | VISIT, true},
	{"give back, consumed", give_back, CONSUMED | TOUCHED | VISIT, HELD | VISIT, false},
	{"give back, withdrawn", give_back_withdrawn, HELPED | TOUCHED, HELD, false},
	{"visit", visit, QUEUED, QUEUED | VISIT, true},
	{"unvisit", unvisit, 2 * VISIT, VISIT, true},
	{"unvisit, the last", unvisit, VISIT | FINAL, FINAL, false},
	{"end a visit", baton__turn_end_visit, QUEUED | VISIT, QUEUED, false},
	{"end a visit, leaving", baton__turn_end_visit, LEAVING | 2 * VISIT, LEAVING | VISIT,
         false},
	{"end the last visit", baton__turn_end_visit, LEAVING | FINAL | VISIT, FINAL, true},
	{"leave", baton__turn_leave, VISIT, LEAVING | 2 * VISIT, true},
	{"leave, not visited", baton__turn_leave, FINAL, FINAL, false},
	{"take over", baton__turn_take_over, LEAVING | VISIT, VISIT, true},
	{"take over, held", baton__turn_take_over, VISIT, VISIT, false},
	{"set final", baton__turn_set_final, QUEUED | VISIT, QUEUED | VISIT | FINAL, true},
	{"set final again", baton__turn_set_final, FINAL, FINAL, false},
	{"want the shelf", want, HELPED | TOUCHED, HELPED | TOUCHED | WANTED, true},
	{"want it no more", unwant, WANTED | VISIT, VISIT, false},
	{"shelve an idle one", shelve_idle, FINAL, FINAL | LEFT, true},
	{"shelve", baton__turn_shelve, WANTED | VISIT, LEFT | VISIT, true},
	{"shelve, called", baton__turn_shelve, CALLED | HELPED, HELPED, false},
	{"unshelve", baton__turn_unshelve, LEFT | CONSUMED, CONSUMED, true},
	{"unshelve, not left yet", baton__turn_unshelve, WANTED | VISIT, CALLED | VISIT, false},
};

Test(turn, each_transition_leads_where_its_table_says)
{
	for (size_t i = 0; i < sizeof(transitions) / sizeof(transitions[0]); i++) {
		struct baton_resource resource = BATON_RESOURCE_INIT(NULL);

		resource._job._turn = transitions[i].before;
		cr_expect_eq(transitions[i].transition(&resource), transitions[i].answer, "%s",
		             transitions[i].name);
		cr_expect_eq(resource._job._turn, transitions[i].after, "%s: to %#x, not %#x",
		             transitions[i].name, transitions[i].after, resource._job._turn);
	}
}

Test(turn, the_phases_are_told_apart)
{
	static const uint32_t phases[] = {HELD, QUEUED, HELPED, CONSUMED};

	for (size_t i = 0; i < sizeof(phases) / sizeof(phases[0]); i++) {
		struct baton_resource resource = BATON_RESOURCE_INIT(NULL);

		resource._job._turn = phases[i] | LEAVING | TOUCHED | FINAL | VISIT | WANTED;
		cr_expect_eq(baton__turn_seems_held(&resource), phases[i] == HELD);
		cr_expect_eq(baton__turn_seems_queued(&resource), phases[i] == QUEUED);
		cr_expect_eq(baton__turn_is_queued(&resource), phases[i] == QUEUED);
	}
}
