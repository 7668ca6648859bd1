/* SPDX-License-Identifier: MIT */
/* The word: each transition from each state in which it may be tried; and what the word says. */
#include "core/word.h"

#include <baton/stats.h>

#include <criterion/criterion.h>

TestSuite(word, .timeout = 5);

#define BUSY BATON__WORD_BUSY
#define ATTENTION BATON__WORD_ATTENTION
#define CLOSED BATON__WORD_CLOSED

/* The newest entry of the inbox, and the older one to which it is linked. */
static struct baton_task entries[2];
static struct baton_task mark;

static uintptr_t with(const struct baton_task *newest, uintptr_t flags)
{
	return (uintptr_t)newest | flags;
}

#define NEWEST with(&entries[0], 0)
#define OLDER with(&entries[1], 0)
#define MARK with(&mark, 0)

static bool capture_plain(struct baton_resource *resource, uintptr_t *word)
{
	return baton__word_capture(resource, *word, BATON__NORMAL);
}

static bool capture_for_nothing(struct baton_resource *resource, uintptr_t *word)
{
	return baton__word_capture_for(resource, word, BATON__ASK_NOTHING);
}

static bool capture_to_close(struct baton_resource *resource, uintptr_t *word)
{
	return baton__word_capture_for(resource, word, BATON__ASK_CLOSE);
}

static bool release(struct baton_resource *resource, uintptr_t *word)
{
	return baton__word_release(resource, *word);
}

static bool release_at_once(struct baton_resource *resource, uintptr_t *word)
{
	return baton_inline_release(resource, BATON__NORMAL);
}

static bool push(struct baton_resource *resource, uintptr_t *word)
{
	return baton__word_push(resource, word, &mark, &mark);
}

static bool push_kick(struct baton_resource *resource, uintptr_t *word)
{
	return baton__word_push_kick(resource, word, &mark);
}

static bool push_await(struct baton_resource *resource, uintptr_t *word)
{
	return baton__word_push_mark(resource, word, &mark, BATON__ASK_NOTHING);
}

static bool push_cancel(struct baton_resource *resource, uintptr_t *word)
{
	return baton__word_push_mark(resource, word, &mark, BATON__ASK_LOOK);
}

static bool push_finaliser(struct baton_resource *resource, uintptr_t *word)
{
	return baton__word_push_mark(resource, word, &mark, BATON__ASK_CLOSE);
}

static bool take(struct baton_resource *resource, uintptr_t *word)
{
	return baton__word_take(resource) == *word;
}

static bool cut_one(struct baton_resource *resource, uintptr_t *word)
{
	return baton__word_cut(resource, *word, &entries[1]);
}

static bool cut_all(struct baton_resource *resource, uintptr_t *word)
{
	return baton__word_cut(resource, *word, NULL);
}

static bool ask(struct baton_resource *resource, uintptr_t *word)
{
	baton__word_set_attention(resource);
	return true;
}

static bool answer(struct baton_resource *resource, uintptr_t *word)
{
	return baton__word_clear_attention(resource);
}

static bool close_it(struct baton_resource *resource, uintptr_t *word)
{
	return baton__word_close(resource);
}

static void check(const char *name,
                  bool (*transition)(struct baton_resource *resource, uintptr_t *word),
                  uintptr_t before, uintptr_t after, bool made)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
	uintptr_t word = before;

	entries[0]._next = &entries[1];
	entries[1]._next = NULL;
	resource._word = before;
	cr_expect_eq(transition(&resource, &word), made, "%s: made", name);
	cr_expect_eq(resource._word, after, "%s: from %#lx to %#lx, not %#lx", name,
	             (unsigned long)before, (unsigned long)after, (unsigned long)resource._word);
}

Test(word, each_transition_leads_where_its_table_says)
{
	check("capture", capture_plain, BATON__NORMAL, BUSY, true);
	check("capture, SPECIAL at first", capture_plain, BATON__SPECIAL, BUSY, true);
	check("capture for a mark", capture_for_nothing, BATON__SPECIAL, BATON__SPECIAL | BUSY,
	      true);
	check("capture for a mark, closed", capture_for_nothing, CLOSED, CLOSED | BUSY, true);
	check("capture to close", capture_to_close, BATON__NORMAL, CLOSED | BUSY, true);
	check("release", release, BUSY, 0, true);
	check("release, closed", release, CLOSED | BUSY, CLOSED, true);
	check("release answers", release, ATTENTION | BUSY, BATON__NORMAL, true);
	check("release at once", release_at_once, BUSY, 0, true);
	check("release at once, tasks", release_at_once, NEWEST | BUSY, NEWEST | BUSY, false);
	check("release at once, closed", release_at_once, CLOSED | BUSY, CLOSED | BUSY, false);
	check("push", push, NEWEST | BUSY, MARK | BUSY, true);
	check("push keeps the mode", push, BATON__SPECIAL | BUSY, MARK | BATON__SPECIAL | BUSY,
	      true);
	check("push a kick, closed", push_kick, NEWEST | CLOSED | BUSY, MARK | CLOSED | BUSY, true);
	check("push an await", push_await, NEWEST | ATTENTION | BUSY, MARK | ATTENTION | BUSY,
	      true);
	check("push a cancel mark", push_cancel, BATON__SPECIAL | BUSY, MARK | ATTENTION | BUSY,
	      true);
	check("push a cancel mark, closed", push_cancel, CLOSED | BUSY, MARK | CLOSED | BUSY, true);
	check("push a finaliser", push_finaliser, ATTENTION | BUSY, MARK | CLOSED | BUSY, true);
	check("take", take, NEWEST | BATON__SPECIAL | BUSY, BATON__SPECIAL | BUSY, true);
	check("take answers", take, NEWEST | ATTENTION | BUSY, BATON__NORMAL | BUSY, true);
	check("take, closed", take, NEWEST | CLOSED | BUSY, CLOSED | BUSY, true);
	check("cut one", cut_one, NEWEST | CLOSED | BUSY, OLDER | CLOSED | BUSY, true);
	check("cut all", cut_all, NEWEST | BUSY, BUSY, true);
	check("ask", ask, NEWEST | BATON__SPECIAL | BUSY, NEWEST | ATTENTION | BUSY, true);
	check("ask, closed", ask, CLOSED | BUSY, CLOSED | BUSY, true);
	check("answer", answer, NEWEST | ATTENTION | BUSY, NEWEST | BUSY, true);
	check("answer, closed", answer, NEWEST | CLOSED | BUSY, NEWEST | CLOSED | BUSY, false);
	check("close", close_it, NEWEST | ATTENTION | BUSY, NEWEST | CLOSED | BUSY, true);
	check("close, closed", close_it, CLOSED, CLOSED, false);
}

Test(word, a_transition_from_another_word_is_refused_and_tells_the_word)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
	uintptr_t word = BUSY;

	resource._word = NEWEST | BUSY;
	cr_expect_not(baton__word_push(&resource, &word, &mark, &mark));
	cr_expect_eq(word, NEWEST | BUSY);
	word = BUSY;
	cr_expect_not(baton__word_push_mark(&resource, &word, &mark, BATON__ASK_LOOK));
	cr_expect_eq(word, NEWEST | BUSY);
	word = BUSY;
	cr_expect_not(baton__word_push_kick(&resource, &word, &mark));
	cr_expect_eq(word, NEWEST | BUSY);
	word = BATON__NORMAL;
	cr_expect_not(baton__word_capture_for(&resource, &word, BATON__ASK_CLOSE));
	cr_expect_eq(word, NEWEST | BUSY);
	cr_expect_not(baton__word_capture(&resource, BATON__NORMAL, BATON__NORMAL));
	cr_expect_not(baton__word_cut(&resource, BUSY, NULL));
	cr_expect_not(baton__word_release(&resource, BUSY));
	cr_expect_eq(resource._word, NEWEST | BUSY);
}

Test(word, a_pushed_entry_is_linked_to_the_one_that_was_the_newest)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
	uintptr_t word = NEWEST | BUSY;

	resource._word = word;
	cr_assert(baton__word_push(&resource, &word, &mark, &mark));
	cr_assert_eq(mark._next, &entries[0]);
	cr_assert_eq(baton__word_newest(resource._word), &mark);
	resource._word = NEWEST | BUSY;
	cr_assert(baton__word_push_kick(&resource, &word, &mark));
	cr_assert_eq(mark._next, &entries[0]);
	resource._word = NEWEST | BUSY;
	word = NEWEST | BUSY;
	cr_assert(baton__word_push_mark(&resource, &word, &mark, BATON__ASK_LOOK));
	cr_assert_eq(mark._next, &entries[0]);
}

Test(word, the_predicates_tell_the_modes_apart)
{
	static const struct {
		uintptr_t word;
		bool busy, closed, must_look, asking, plainly_busy;
	} cases[] = {
		{0, false, false, false, false, false}, {2, false, false, false, false, false},
		{6, false, true, true, false, false},   {1, true, false, false, false, true},
		{3, true, false, false, false, false},  {5, true, false, true, true, false},
		{7, true, true, true, false, false},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uintptr_t word = cases[i].word;

		cr_expect_eq(baton__word_is_busy(word), cases[i].busy, "word %zu", i);
		cr_expect_eq(baton__word_is_closed(word), cases[i].closed, "word %zu", i);
		cr_expect_eq(baton__word_must_look(word), cases[i].must_look, "word %zu", i);
		cr_expect_eq(baton__word_has_attention(word), cases[i].asking, "word %zu", i);
		cr_expect_eq(baton__word_is_plainly_busy(word), cases[i].plainly_busy, "word %zu",
		             i);
		cr_expect_null(baton__word_newest(word), "word %zu", i);
		cr_expect_eq(baton__word_newest(word | NEWEST), &entries[0], "word %zu", i);
	}
}

Test(word, a_resource_of_which_something_is_asked_is_special)
{
	static const struct baton_resource_config limit_0 = {.capture_max = BATON_CAPTURE_NONE};
	static const struct baton_resource_config held = {.capture_max = 1,
	                                                  .delay_completions = true};
	static const struct baton_resource_config plain = {.capture_max = 1};
	struct baton_resource_stats stats = {0};
	const struct {
		const struct baton_resource_config *config;
		struct baton_resource_stats *stats;
		uintptr_t mode;
	} cases[] = {
		{NULL, NULL, BATON__NORMAL},      {&plain, NULL, BATON__NORMAL},
		{&limit_0, NULL, BATON__SPECIAL}, {&held, NULL, BATON__SPECIAL},
		{NULL, &stats, BATON__SPECIAL},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct baton_resource resource = BATON_RESOURCE_INIT(cases[i].config);

		cr_expect_eq(resource._word, BATON__SPECIAL, "nobody has looked at config %zu", i);
		baton_resource_init(&resource, cases[i].config);
		if (cases[i].stats)
			baton_resource_set_stats(&resource, cases[i].stats);
		cr_expect_eq(resource._word, cases[i].mode, "config %zu", i);
		resource._word = NEWEST | ATTENTION | BUSY;
		(void)baton__word_take(&resource);
		cr_expect_eq(resource._word, cases[i].mode | BUSY, "config %zu", i);
	}
}
