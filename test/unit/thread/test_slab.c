/* SPDX-License-Identifier: MIT */
/*
 * Slabs: a file that is held, left half done, interrupted by a fork; and what is left mapped after
 * a burst of posts.
 */
#include "support.h"

#include <baton/suspend.h>

#include <sys/mman.h>

#include "base/atomic.h"
#include "thread/node.h"
#include "thread/slab.h"

#define PIECE_SIZE 128U
#define PIECES (BATON_SLAB_SIZE / PIECE_SIZE - 1) /* of a slab */
#define MANY (6 * PIECES)
#define HELD ((uintptr_t)1)

static struct baton__piece *pieces[MANY];

static struct baton__piece *take_one(struct baton__slabs *slabs)
{
	uint32_t count = 0;
	struct baton__piece *piece = baton__slabs_take(slabs, &count);

	cr_assert_not_null(piece);
	cr_assert_eq(count, 1);
	cr_assert_null(piece->next);
	return piece;
}

static void take_many(struct baton__slabs *slabs)
{
	for (size_t i = 0; i < MANY; i++) {
		pieces[i] = take_one(slabs);
		cr_assert_eq((uintptr_t)pieces[i] % PIECE_SIZE, 0);
		memset(pieces[i], (int)i, PIECE_SIZE);
	}
}

static void give_one(struct baton__slabs *slabs, size_t index)
{
	baton__slabs_give(slabs, pieces[index], pieces[index]);
}

Test(slab, a_slab_whose_pieces_are_all_back_is_unmapped_save_for_two, .timeout = 5)
{
	struct baton__slabs slabs = {.piece_size = PIECE_SIZE};
	uint32_t before = baton__slabs_mapped();

	take_many(&slabs);
	cr_assert_eq(baton__slabs_mapped(), before + 6);
	/* Each slab keeps one piece to the last. */
	for (size_t i = 0; i < MANY; i++)
		if (i % PIECES)
			give_one(&slabs, i);
	cr_assert_eq(baton__slabs_mapped(), before + 6);
	for (size_t i = 0; i < MANY; i += PIECES)
		give_one(&slabs, i);
	cr_assert_eq(baton__slabs_mapped(), before + BATON_SLAB_SPARES);
	cr_assert_eq(slabs.mapped - slabs.unmapped, BATON_SLAB_SPARES);
	cr_assert_eq(slabs.taken, slabs.filed);
}

/* As for a process with too many mappings. */
static bool munmap_fails;

int munmap(void *address, size_t size)
{
	if (munmap_fails) {
		errno = ENOMEM;
		return -1;
	}
	return (int)syscall(SYS_munmap, address, size);
}

Test(slab, a_slab_that_cannot_be_unmapped_is_taken_again, .timeout = 5)
{
	struct baton__slabs slabs = {.piece_size = PIECE_SIZE};
	uint32_t before = baton__slabs_mapped();
	uint32_t count = 0;

	take_many(&slabs);
	for (size_t i = 0; i < MANY; i += PIECES)
		give_one(&slabs, i);
	munmap_fails = true;
	for (size_t i = 0; i < 3 * PIECES; i++)
		if (i % PIECES)
			give_one(&slabs, i);
	munmap_fails = false;
	cr_assert_eq(baton__slabs_mapped(), before + 6);
	cr_assert_eq(slabs.mapped - slabs.unmapped, 6);
	/* It is the first, before the three that have one piece each, and the spares. */
	for (int i = 0; i < 6; i++) {
		cr_assert_not_null(baton__slabs_take(&slabs, &count));
		cr_assert_eq(count, i == 0 || i > 3 ? PIECES : 1, "%d: %u", i, count);
	}
	cr_assert_eq(baton__slabs_mapped(), before + 6);
	cr_assert_null(slabs.listed);
}

Test(slab, spares_are_taken_again_before_a_slab_is_mapped, .timeout = 5)
{
	struct baton__slabs slabs = {.piece_size = PIECE_SIZE};
	uint32_t before = baton__slabs_mapped();
	uint32_t count = 0;

	take_many(&slabs);
	for (size_t i = 0; i < MANY; i++)
		give_one(&slabs, i);
	for (size_t i = 0; i < BATON_SLAB_SPARES; i++) {
		cr_assert_not_null(baton__slabs_take(&slabs, &count));
		cr_assert_eq(count, PIECES);
		cr_assert_eq(slabs.taken - slabs.filed, (i + 1) * PIECES, "so many are out");
	}
	cr_assert_eq(baton__slabs_mapped(), before + BATON_SLAB_SPARES);
	(void)take_one(&slabs);
	cr_assert_eq(baton__slabs_mapped(), before + BATON_SLAB_SPARES + 1);
}

/* ---- The file is held by a thread that has been stopped ---- */

Test(slab, a_held_file_keeps_nobody_waiting, .timeout = 5)
{
	struct baton__slabs slabs = {.piece_size = PIECE_SIZE};
	uint32_t before = baton__slabs_mapped();

	take_many(&slabs);
	slabs.pile |= HELD;
	for (size_t i = 0; i < MANY - 1; i++)
		give_one(&slabs, i);
	cr_assert_eq(slabs.filed, 0);
	(void)take_one(&slabs); /* a new slab's */
	cr_assert_eq(baton__slabs_mapped(), before + 7);
}

Test(slab, the_next_that_gives_files_all_that_has_piled_up, .timeout = 5)
{
	struct baton__slabs slabs = {.piece_size = PIECE_SIZE};
	uint32_t before = baton__slabs_mapped();

	cr_assert_gt(MANY, 2 * BATON_SLAB_FILED_MAX);
	take_many(&slabs);
	slabs.pile |= HELD;
	for (size_t i = 0; i < MANY - 1; i++)
		give_one(&slabs, i);
	cr_assert_eq(slabs.filed, 0);
	slabs.pile &= ~HELD;
	give_one(&slabs, MANY - 1);
	cr_assert_eq(slabs.filed, MANY);
	cr_assert_eq(slabs.pile, 0);
	cr_assert_null(slabs.unfiled);
	cr_assert_eq(baton__slabs_mapped(), before + BATON_SLAB_SPARES);
}

Test(slab, a_fork_while_the_file_is_held_begins_it_anew, .timeout = 5)
{
	struct baton__slabs slabs = {.piece_size = PIECE_SIZE};
	uint32_t mapped;

	take_many(&slabs);
	for (size_t i = 0; i < PIECES / 2; i++)
		give_one(&slabs, i);
	slabs.pile |= HELD;
	give_one(&slabs, PIECES / 2);
	baton__slabs_forked(&slabs);
	/* The old slabs are left alone, however many of their pieces come back. */
	mapped = baton__slabs_mapped();
	for (size_t i = PIECES / 2 + 1; i < MANY; i++)
		give_one(&slabs, i);
	cr_assert_eq(baton__slabs_mapped(), mapped);
	/* New ones are unmapped as ever. */
	take_many(&slabs);
	for (size_t i = 0; i < MANY; i++)
		give_one(&slabs, i);
	cr_assert_eq(baton__slabs_mapped(), mapped + BATON_SLAB_SPARES);
}

Test(slab, a_fork_while_the_file_is_free_changes_nothing, .timeout = 5)
{
	struct baton__slabs slabs = {.piece_size = PIECE_SIZE};
	uint32_t before = baton__slabs_mapped();

	take_many(&slabs);
	baton__slabs_forked(&slabs);
	for (size_t i = 0; i < MANY; i++)
		give_one(&slabs, i);
	cr_assert_eq(baton__slabs_mapped(), before + BATON_SLAB_SPARES);
}

Test(slab, a_file_is_sparse_when_it_has_many_slabs_and_few_pieces_are_out, .timeout = 5)
{
	struct baton__slabs slabs = {.piece_size = PIECE_SIZE};

	slabs.mapped = BATON_SLAB_FEW;
	cr_assert_not(baton__slabs_sparse(&slabs));
	slabs.mapped = 64;
	cr_assert(baton__slabs_sparse(&slabs));
	slabs.taken = 8 * (BATON_SLAB_SIZE / PIECE_SIZE);
	cr_assert_not(baton__slabs_sparse(&slabs));
	slabs.filed = 1;
	cr_assert(baton__slabs_sparse(&slabs));
	slabs.unmapped = 64 - BATON_SLAB_FEW;
	cr_assert_not(baton__slabs_sparse(&slabs));
}

/* ---- What is left after a burst ---- */

#define RESOURCES 100
#define POSTERS 4
#define THREADS (POSTERS + 2 + 1) /* a pool's, and the test's */

/*
 * In so many slabs the nodes that one thread's cache may keep are not sparse: its own and those
 * that have been returned, 1,024 each, those that it has taken in of these, and a parcel of 35 in
 * each thread's hands. A post's node has 64 bytes.
 */
#define CACHED (3 * 1024 + THREADS * 35)
#define NOT_SPARSE (CACHED * 64 / (BATON_SLAB_SIZE / 8) + 1)

struct burst_case {
	const char *name;
	int posters;   /* threads; 0: this one */
	int resources; /* more than one: nodes come back in another order than they went */
	bool by_hand;  /* drained by this thread, not by a pool */
};

static const struct burst_case burst_cases[] = {
	{"posted and drained by this thread", 0, 1, true},
	{"posted by this thread, drained by a pool", 0, 1, false},
	{"posted by four threads, drained by this one", POSTERS, 1, true},
	{"posted by four threads, drained by a pool", POSTERS, 1, false},
	{"to many resources, by this thread alone", 0, RESOURCES, true},
	{"to many resources, by four threads, drained by this one", POSTERS, RESOURCES, true},
	{"to many resources, by four threads, drained by a pool", POSTERS, RESOURCES, false},
};

static struct baton_resource resources[RESOURCES];
static uint64_t counters[RESOURCES];

struct poster {
	const struct burst_case *which;
	int posts;
	pthread_barrier_t posted;
	pthread_barrier_t looked;
};

static void *count(void *arg)
{
	++*(uint64_t *)arg;
	return arg;
}

static void post_all(const struct poster *poster)
{
	uint32_t random = 1;

	for (int i = 0; i < poster->posts; i++) {
		uint32_t to = random >> 8;

		random = random * 1664525 + 1013904223;
		to %= (uint32_t)poster->which->resources;
		MUST(baton_post(&resources[to], count, &counters[to]) == 0);
	}
}

/* The thread outlives the drain: its caches are not given back by its end. */
static void *poster_main(void *arg)
{
	struct poster *poster = arg;

	post_all(poster);
	(void)pthread_barrier_wait(&poster->posted);
	(void)pthread_barrier_wait(&poster->looked);
	return NULL;
}

static uint64_t counted(void)
{
	uint64_t sum = 0;

	for (int i = 0; i < RESOURCES; i++) {
		sum += counters[i];
		counters[i] = 0;
	}
	return sum;
}

/* All posts come while the resources are suspended, on any machine and under any load. */
static void post_and_drain(struct poster *poster, pthread_t threads[POSTERS],
                           struct baton_manual *manual)
{
	static struct baton_suspension suspensions[RESOURCES];

	for (int i = 0; i < poster->which->resources; i++)
		cr_assert_eq(baton_resource_suspend(&resources[i], &suspensions[i]), 0);
	for (int i = 0; i < poster->which->posters; i++)
		threads[i] = thread_start(poster_main, poster);
	if (poster->which->posters)
		(void)pthread_barrier_wait(&poster->posted);
	else
		post_all(poster);
	for (int i = 0; i < poster->which->resources; i++)
		cr_assert_eq(baton_resource_resume(&suspensions[i]), 0);
	(void)baton_manual_run(manual, 0);
	for (int i = 0; i < poster->which->resources; i++)
		cr_assert_eq(baton_resource_await(&resources[i]), 0);
}

static void burst_case(const struct burst_case *which)
{
	struct baton_pool *pool = which->by_hand ? NULL : pool_of(2);
	struct baton_manual *manual = NULL;
	struct baton_resource_config config = BATON_RESOURCE_CONFIG_INIT;
	struct poster poster = {.which = which};
	pthread_t threads[POSTERS];
	uint32_t mapped = baton__slabs_mapped();

	cr_assert_eq(baton_manual_create(&manual), 0);
	config.executor =
		which->by_hand ? baton_manual_executor(manual) : baton_pool_executor(pool);
	for (int i = 0; i < which->resources; i++)
		baton_resource_init(&resources[i], &config);
	poster.posts = scaled(1000000) / (which->posters ? which->posters : 1);
	(void)pthread_barrier_init(&poster.posted, NULL, POSTERS + 1);
	(void)pthread_barrier_init(&poster.looked, NULL, POSTERS + 1);
	post_and_drain(&poster, threads, manual);
	cr_assert_eq(counted(), (uint64_t)poster.posts * (which->posters ? POSTERS : 1));
	/* Of a million posts' 977 slabs. */
	cr_assert_leq(baton__slabs_mapped(), mapped + THREADS * (NOT_SPARSE + BATON_SLAB_SPARES),
	              "%s: %u slabs more", which->name, baton__slabs_mapped() - mapped);
	if (which->posters)
		(void)pthread_barrier_wait(&poster.looked);
	for (int i = 0; i < which->posters; i++)
		thread_join(threads[i]);
	for (int i = 0; i < which->resources; i++)
		resource_end(&resources[i]);
	baton_manual_destroy(manual);
	if (pool)
		cr_assert_eq(baton_pool_destroy(pool), 0);
}

Test(slab, a_burst_is_given_back_to_the_system, .timeout = 30)
{
	for (size_t i = 0; i < sizeof(burst_cases) / sizeof(burst_cases[0]); i++)
		burst_case(&burst_cases[i]);
}
