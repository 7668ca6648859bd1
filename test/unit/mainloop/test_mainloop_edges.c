/* SPDX-License-Identifier: MIT */
/*
 * The main loop's dependencies in large numbers, counted in edges that depend and undepend look at;
 * and in small numbers, in any order, beside a matrix of what depends on what.
 */
#include "mainloop_support.h"

#include "companion/mainloop/mainloop.h"

enum { MANY = 4096, LOG = 12 };

static const struct baton_source_config plain = {.level = BATON_PRIORITY_HIGHEST,
                                                 .fn = lettered_run};
static struct baton_source many[MANY];

static void begin(void)
{
	virtual_loop(0);
	for (int i = 0; i < MANY; i++)
		baton_source_init(&many[i], &loop, &plain, NULL);
}

static uint64_t looked(void)
{
	return baton__mainloop_of(&loop)->edges_looked;
}

static void depend(int parent, int child)
{
	cr_assert_eq(baton_source_depend(&many[parent], &many[child]), 0);
}

/* The parent of a source in a tree; the source 0 has none. */
static int in_chain(int child)
{
	return child - 1;
}

static int in_star(int child)
{
	return child - child;
}

static int in_binary_tree(int child)
{
	return (child - 1) / 2;
}

/* A chain of half the sources; each of its sources has one more child. */
static int in_comb(int child)
{
	return child < MANY / 2 ? child - 1 : child - MANY / 2;
}

static int (*const trees[])(int) = {in_chain, in_star, in_binary_tree, in_comb};

/* The n-th source that gets its edge. */
static int from_root(int n)
{
	return 1 + n;
}

static int from_leaves(int n)
{
	return MANY - 1 - n;
}

/* Every second one, then the others. */
static int by_twos(int n)
{
	return n < MANY / 2 ? 1 + 2 * n : 2 * (n - MANY / 2 + 1);
}

/* 1, the last, 2, the last but one, ... */
static int from_both_sides(int n)
{
	return n % 2 ? MANY - 1 - n / 2 : 1 + n / 2;
}

/* In a fixed disorder: an odd factor permutes the numbers below MANY; 0 stays. */
static int in_disorder(int n)
{
	return (int)((1U + (unsigned)n) * 2654435U % MANY);
}

static int (*const orders[])(int) = {from_root, from_leaves, by_twos, from_both_sides, in_disorder};

Test(mainloop_edges, a_tree_takes_n_log_n_steps_in_any_order, .timeout = 20)
{
	for (size_t tree = 0; tree < sizeof(trees) / sizeof(*trees); tree++)
		for (size_t order = 0; order < sizeof(orders) / sizeof(*orders); order++)
			for (int upside_down = 0; upside_down < 2; upside_down++) {
				begin();
				for (int n = 0; n < MANY - 1; n++) {
					int child = orders[order](n);
					int parent = trees[tree](child);

					depend(upside_down ? child : parent,
					       upside_down ? parent : child);
				}
				cr_assert_leq(looked(), (uint64_t)MANY * LOG, "%zu, %zu: %llu",
				              tree, order, (unsigned long long)looked());
				loop_end(0);
			}
}

Test(mainloop_edges, an_edge_is_found_from_the_side_with_fewer, .timeout = 20)
{
	uint64_t before;

	for (int upside_down = 0; upside_down < 2; upside_down++) {
		begin();
		for (int i = 1; i < MANY; i++)
			depend(upside_down ? i : 0, upside_down ? 0 : i);
		before = looked();
		for (int i = 1; i < MANY; i++) {
			struct baton_source *parent = &many[upside_down ? i : 0];
			struct baton_source *child = &many[upside_down ? 0 : i];

			cr_assert_eq(baton_source_depend(parent, child), -EEXIST);
			cr_assert_eq(baton_source_depend(child, parent), -ELOOP);
			cr_assert_eq(baton_source_undepend(parent, child), 0);
			cr_assert_eq(baton_source_undepend(parent, child), -ENOENT);
		}
		cr_assert_leq(looked() - before, 6 * MANY);
		loop_end(0);
	}
}

/* ---- Any edges ---- */

enum { FEW = 9, STEPS = 20000 };

static bool edge[FEW][FEW]; /* [parent][child] */

static bool leads_to(int from, int to)
{
	bool reached[FEW] = {false};
	bool more = true;

	reached[from] = true;
	while (more) {
		more = false;
		for (int a = 0; a < FEW; a++)
			for (int b = 0; b < FEW; b++)
				if (reached[a] && edge[a][b] && !reached[b])
					more = reached[b] = true;
	}
	return reached[to];
}

static void check_cycle(const char *const *names, size_t count, int parent, int child)
{
	cr_assert(count >= 1 && count <= FEW);
	cr_assert_eq(names[0][0] - 'a', parent);
	cr_assert_eq(names[count - 1][0] - 'a', child);
	for (size_t i = 0; i + 1 < count; i++)
		cr_assert(edge[names[i + 1][0] - 'a'][names[i][0] - 'a'],
		          "each depends on the next");
}

Test(mainloop_edges, cycles_and_only_cycles_are_refused, .timeout = 20)
{
	static const char letters[FEW][2] = {"a", "b", "c", "d", "e", "f", "g", "h", "i"};
	const char *names[FEW];
	uint64_t rng = rng_fork(test_seed(), 0);

	virtual_loop(0);
	for (int i = 0; i < FEW; i++)
		baton_source_init(&many[i], &loop, &plain, letters[i]);
	for (int step = 0; step < STEPS; step++) {
		int parent = (int)rng_below(&rng, FEW);
		int child = (int)rng_below(&rng, FEW);

		if (edge[parent][child] || !rng_below(&rng, 8)) {
			cr_assert_eq(baton_source_undepend(&many[parent], &many[child]),
			             edge[parent][child] ? 0 : -ENOENT);
			edge[parent][child] = false;
		} else if (leads_to(child, parent)) {
			cr_assert_eq(baton_source_depend(&many[parent], &many[child]), -ELOOP);
			check_cycle(names, baton_mainloop_cycle(&loop, names, FEW), parent, child);
		} else {
			cr_assert_eq(baton_source_depend(&many[parent], &many[child]), 0);
			edge[parent][child] = true;
		}
	}
	loop_end(0);
}
