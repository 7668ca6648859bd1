/* SPDX-License-Identifier: MIT */
/* Aging of lanes: which task runs next, compared with what lane.h says. */
#include "labels.h"
#include "stash.h"

#include "module/lane.h"
#include "module/lane_list.h"

#define LANES 5
#define TASKS 100

struct model {
	int waiting[LANES][TASKS];
	size_t first[LANES], end[LANES];
	uint64_t served[LANES], turns;
	bool aged;
};

static bool busy(const struct model *model, unsigned lane)
{
	return model->first[lane] < model->end[lane];
}

/* The highest; or, but for every other turn, of those passed over so often the longest. */
static int model_next(struct model *model, uint64_t aging)
{
	unsigned chosen = 0;
	uint64_t most = 0;
	bool aged = false;

	while (!busy(model, chosen))
		chosen++;
	for (unsigned lane = chosen + 1; lane < LANES && !model->aged && aging; lane++) {
		const uint64_t passed = model->turns - model->served[lane];

		if (!busy(model, lane) || passed < aging || passed < most)
			continue;
		most = passed;
		chosen = lane;
		aged = true;
	}
	model->aged = aged;
	model->served[chosen] = ++model->turns;
	return model->waiting[chosen][model->first[chosen]++];
}

static void add(struct scene *scene, struct model *model, struct mark_step *step, int number,
                uint64_t *rng)
{
	unsigned lane = rng_below(rng, 1 + rng_below(rng, LANES)); /* most of them high */

	if (!busy(model, lane))
		model->served[lane] = model->turns;
	model->waiting[lane][model->end[lane]++] = number;
	mark_step_init(step, scene, number, lane, NULL);
	cr_assert_eq(baton_submit_later(&scene->resource, &step->stamped.task), 0);
}

/* Half of them wait at first, the others come between two stays. Each stay's end puts back the task
 * that was picked to run next. */
static void tasks_at_random(uint32_t aging, uint32_t quantum, uint64_t *rng)
{
	struct scene *scene = scene_create();
	struct mark_step steps[TASKS];
	struct model model = {0};
	struct stash stash;
	size_t seen = 0;
	int added = 0;

	stash_init(&stash);
	scene->config.executor = &stash.executor;
	scene->config.capture_max = quantum;
	scene->config.quantum = quantum;
	scene_begin(scene, LANES, false);
	scene->aging.aging_turns = aging;
	occupy(&scene->occupant, &scene->resource);
	while (added < TASKS / 2) {
		add(scene, &model, &steps[added], added, rng);
		added++;
	}
	release(&scene->occupant);
	do {
		for (; seen < scene->journal.count; seen++)
			cr_assert_eq(scene->journal.number[seen], model_next(&model, aging),
			             "aging %u, quantum %u: turn %zu", aging, quantum, seen);
		for (unsigned more = rng_below(rng, 3); more && added < TASKS; more--) {
			add(scene, &model, &steps[added], added, rng);
			added++;
		}
	} while (stash_run_one(&stash));
	cr_assert_eq(seen, (size_t)added);
	scene_end(scene);
}

Test(lane_aging, tasks_at_random_run_in_the_order_of_the_rule, .timeout = 20)
{
	static const uint32_t agings[] = {0, 1, 2, 3, 7};
	static const uint32_t quanta[] = {1, 2, 5, 1000};
	uint64_t rng = test_seed();

	for (int round = 0; round < 10; round++)
		for (size_t i = 0; i < 5; i++)
			for (size_t j = 0; j < 4; j++)
				tasks_at_random(agings[i], quanta[j], &rng);
}

/* A span that does not pass while the test runs: each turn begins it anew. */
Test(lane_aging, in_time_begins_with_the_first_task_and_with_each_turn, .timeout = 5)
{
	struct scene *scene = scene_create();
	struct mark_step steps[20];

	scene_begin(scene, 2, false);
	scene->aging.aging_ns = UINT64_C(5000000000);
	for (int round = 0; round < 2; round++) {
		scene->journal.count = 0;
		occupy(&scene->occupant, &scene->resource);
		for (int i = 0; i < 20; i++) {
			mark_step_init(&steps[i], scene, i, i < 10, NULL);
			cr_assert_eq(mark_step_submit(&steps[i], scene), 0);
		}
		release(&scene->occupant);
		for (int i = 0; i < 20; i++)
			cr_assert_eq(scene->journal.number[i], (i + 10) % 20);
	}
	scene_end(scene);
}

/* All that lanes know, save what was picked last. */
struct snapshot {
	struct baton_lane array[LANES];
	struct baton_lanes lanes;
};

static struct snapshot snapshot_of(const struct scene *scene)
{
	struct snapshot snapshot;

	memset(&snapshot, 0, sizeof(snapshot));
	memcpy(snapshot.array, scene->array, sizeof(snapshot.array));
	memcpy(&snapshot.lanes, &scene->lanes, sizeof(snapshot.lanes));
	snapshot.lanes._picked = NULL;
	snapshot.lanes._picked_served = snapshot.lanes._picked_since_ns = 0;
	snapshot.lanes._picked_lane = 0;
	snapshot.lanes._picked_older = snapshot.lanes._picked_aged = false;
	return snapshot;
}

/* The runner picks a task, and its stay is over: next, then put_back. */
Test(lane_aging, a_task_that_is_put_back_leaves_no_trace, .timeout = 10)
{
	static const struct {
		uint32_t turns;
		uint64_t ns;
	} agings[] = {{0, 0}, {2, 0}, {0, 1}, {3, UINT64_MAX}};
	uint64_t rng = rng_fork(test_seed(), 2);

	for (size_t i = 0; i < sizeof(agings) / sizeof(*agings); i++) {
		struct scene *scene = scene_create();
		struct baton_resource *resource = &scene->resource;
		struct mark_step steps[TASKS / 2];
		struct baton_task *first = NULL;

		scene->aging.aging_turns = agings[i].turns;
		scene->aging.aging_ns = agings[i].ns;
		scene_begin(scene, LANES, false);
		for (int n = TASKS / 2 - 1; n >= 0; n--) {
			mark_step_init(&steps[n], scene, n, rng_below(&rng, LANES), NULL);
			steps[n].stamped.task._next = first;
			first = &steps[n].stamped.task;
		}
		baton__lanes_keep(resource, first);
		for (int n = 0; n < TASKS / 2; n++) {
			struct snapshot before, after;
			struct baton_task *picked;

			/* from here on all tasks are older than marks that wait */
			if (n == 10)
				baton__lanes_stamp(&scene->lanes);
			if (n > 0)
				before = snapshot_of(scene);
			cr_assert(baton__lanes_next(resource));
			picked = resource->_list;
			baton__lanes_put_back(resource);
			cr_assert_null(resource->_list);
			after = snapshot_of(scene);
			cr_assert(n == 0 || memcmp(&before, &after, sizeof(before)) == 0, "%d", n);
			cr_assert(baton__lanes_next(resource));
			cr_assert_eq(resource->_list, picked);
			resource->_list = NULL;
		}
		cr_assert_not(baton__lanes_next(resource));
		scene_end(scene);
	}
}

Test(lane_aging, after_2_to_32_stamps_the_index_is_written_anew, .timeout = 5)
{
	static const uint32_t rows[][2] = {{0, true}, {UINT32_MAX - 1, true}, {UINT32_MAX, false}};
	struct scene *scene = scene_create();

	scene_begin(scene, LANES, false);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		scene->lanes._epoch = rows[i][0];
		scene->lanes._indexed = true;
		baton__lanes_stamp(&scene->lanes);
		cr_assert_eq(scene->lanes._epoch, rows[i][0] + 1);
		cr_assert_eq(scene->lanes._indexed, rows[i][1]);
	}
	scene->lanes._indexed = false;
	scene_end(scene);
}
