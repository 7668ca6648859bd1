/* SPDX-License-Identifier: MIT */
/* Triggers: every fire that was accepted is answered, or given back. */
#include "mod.h"

#include <errno.h>
#include <string.h>

#include "actor.h"
#include "cell.h"
#include "random.h"
#include "report.h"
#include "sabotage.h"

#define FIRING_MAGIC 0xf13e13f1U

/* Is it one of the ground's, whose sum is always checked? */
static bool is_the_grounds(const struct firing *firing)
{
	return firing >= firing->ground->firings &&
	       firing < firing->ground->firings + MOD_TRIGGERS;
}

static void answer(struct firing *firing, uint64_t fires)
{
	if (firing->magic != FIRING_MAGIC || fires == 0)
		report(NULL, NULL, "a trigger answers %llu fires; its memory: %x",
		       (unsigned long long)fires, firing->magic);
	if (is_the_grounds(firing) && sabotage_now(BREAK_MOD_TRIGGER))
		fires--;
	atomic_fetch_add_explicit(&firing->answered, fires, memory_order_relaxed);
}

static int firing_run(struct baton_trigger *trigger, uint64_t fires)
{
	struct firing *firing = baton_container_of(trigger, struct firing, trigger);
	struct ground *ground = firing->ground;

	ground_enter(ground);
	answer(firing, fires);
	mod_nested(ground, NULL);
	ground_leave(ground);
	return 0;
}

static void firing_cancelled(struct baton_trigger *trigger, int error, uint64_t fires)
{
	answer(baton_container_of(trigger, struct firing, trigger), fires);
}

static void make(struct firing *firing, struct ground *ground)
{
	memset(firing, 0, sizeof(*firing));
	firing->magic = FIRING_MAGIC;
	firing->ground = ground;
	baton_trigger_init(&firing->trigger, &ground->resource, firing_run);
	baton_trigger_set_dropped(&firing->trigger, firing_cancelled);
}

void firings_init(struct ground *ground)
{
	for (int i = 0; i < MOD_TRIGGERS; i++)
		make(&ground->firings[i], ground);
}

void firings_check(struct ground *ground)
{
	for (int i = 0; i < MOD_TRIGGERS; i++) {
		const struct firing *firing = &ground->firings[i];
		uint64_t accepted = atomic_load(&firing->accepted);
		uint64_t answered = atomic_load(&firing->answered);

		if (accepted != answered)
			report(NULL, NULL, "ground %u: of %llu fires %llu were answered",
			       ground->number, (unsigned long long)accepted,
			       (unsigned long long)answered);
	}
}

static void fire(struct firing *firing)
{
	int error = baton_trigger_fire(&firing->trigger);

	mod_expect(firing->ground, error, "fire");
	if (!error)
		atomic_fetch_add_explicit(&firing->accepted, 1, memory_order_relaxed);
}

void firing_fire(struct ground *ground)
{
	fire(&ground->firings[random_below(&actor_self()->random, MOD_TRIGGERS)]);
}

/* A client's own: its memory goes when what was queued at its stop is over. */
void firing_private(struct ground *ground)
{
	struct firing *firing;
	uint64_t *random = &actor_self()->random;
	bool was_idle;

	/* The await wants a resource that is not given back meanwhile. */
	if (!ground_pin(ground))
		return;
	firing = cell_take();
	make(firing, ground);
	for (uint32_t left = random_below(random, 4); left > 0; left--)
		fire(firing);
	was_idle = baton_trigger_stop(&firing->trigger).met == BATON_STOP_NOTHING;
	if (baton_trigger_fire(&firing->trigger) != -ECANCELED)
		report(NULL, NULL, "ground %u: a stopped trigger fires", ground->number);
	actor_busy("an await after a trigger's stop", ground->number);
	MUST(baton_resource_await(&ground->resource) == 0);
	actor_idle();
	if (was_idle && firing->accepted != firing->answered)
		report(NULL, NULL, "ground %u: of %llu fires %llu were answered before the stop",
		       ground->number, (unsigned long long)firing->accepted,
		       (unsigned long long)firing->answered);
	cell_give(firing);
	ground_unpin(ground);
}

/* The fire is answered, or given back, like any other. */
void firing_notify(struct ground *ground, struct baton_group *group,
                   struct baton_continuation *continuation)
{
	struct firing *firing = &ground->firings[random_below(&actor_self()->random, MOD_TRIGGERS)];

	atomic_fetch_add_explicit(&firing->accepted, 1, memory_order_relaxed);
	baton_continuation_trigger(continuation, &firing->trigger);
	baton_group_then(group, continuation);
}
