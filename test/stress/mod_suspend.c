/* SPDX-License-Identifier: MIT */
/* Suspensions: while one is in effect the client has the shadow to itself, as a task would. */
#include "mod.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "actor.h"
#include "cell.h"
#include "deed.h"
#include "random.h"
#include "report.h"

#define MANY 4

static void look(struct ground *ground)
{
	if (atomic_load_explicit(&ground->reading, memory_order_relaxed))
		report(NULL, NULL, "ground %u: suspended, but readers run", ground->number);
	if (ground->owner || ground->held || ground->suspended || ground->in_batch)
		report(NULL, NULL, "ground %u: suspended, but %s", ground->number,
		       ground->suspended  ? "another has it"
		       : ground->held     ? "a token holds it"
		       : ground->in_batch ? "amid a batch"
		                          : "amid a task");
	if (ground->version != ground->version_again || ground->undone != ground->undo_kept)
		report(NULL, NULL, "ground %u: suspended, and half of a task is seen",
		       ground->number);
	ground->version++;
	ground->version_again++;
}

static void resume(struct ground *ground, struct baton_suspension *suspension)
{
	int error;

	if (random_one_in(&actor_self()->random, 2))
		error = baton_resource_resume_later(suspension);
	else
		error = baton_resource_resume(suspension);
	if (error)
		report(NULL, NULL, "ground %u: resume: %d", ground->number, error);
}

void suspend_one(struct ground *ground)
{
	uint64_t *random = &actor_self()->random;
	struct baton_suspension *suspension = cell_take();
	uint64_t deadline = deed_deadline();
	bool effective;
	int error;

	*suspension = (struct baton_suspension)BATON_SUSPENSION_INIT;
	error = baton_resource_suspend(&ground->resource, suspension);
	if (error) {
		mod_expect(ground, error, "suspend");
		cell_give(suspension);
		return;
	}
	effective = baton_suspension_is_effective(suspension);
	if (!effective && random_one_in(random, 2)) {
		actor_busy("for a suspension", ground->number);
		error = baton_suspension_wait_until(
			suspension, random_one_in(random, 2) ? deadline : BATON_FOREVER);
		actor_idle();
		effective = error == 0;
		if (error && error != -ETIMEDOUT)
			report(NULL, NULL, "ground %u: suspension_wait: %d", ground->number, error);
	}
	if (effective) {
		look(ground);
		ground->suspended = true;
		if (random_one_in(random, 2))
			item_post(ground);
		usleep(random_below(random, 200));
		ground->suspended = false;
		look(ground);
	}
	resume(ground, suspension);
	cell_give(suspension);
}

void suspend_many(uint64_t *random)
{
	struct baton_resource *resources[MANY];
	struct baton_suspension suspensions[MANY];
	uint64_t deadline = deed_deadline();
	size_t count = 1 + random_below(random, MANY);
	int error;

	for (size_t i = 0; i < count; i++)
		resources[i] = &ground_pick(random)->resource;
	actor_busy("quiesce", 0);
	error = baton_quiesce_until(resources, count, suspensions,
	                            random_one_in(random, 2) ? deadline : BATON_FOREVER);
	actor_idle();
	if (error) {
		for (size_t i = 0; error == -EPIPE && i < count; i++) {
			struct ground *ground = ground_of(resources[i]);

			if (atomic_load(&ground->closing))
				return;
		}
		if (error != -ETIMEDOUT)
			report(NULL, NULL, "quiesce: %d", error);
		return;
	}
	/* The same one may be named several times. */
	for (size_t i = 0; i < count; i++)
		look(ground_of(resources[i]));
	for (size_t i = 0; i < count; i++)
		ground_of(resources[i])->suspended = true;
	usleep(random_below(random, 100));
	for (size_t i = 0; i < count; i++)
		ground_of(resources[i])->suspended = false;
	MUST(baton_quiesce_end(suspensions, count) == 0);
}
