/* SPDX-License-Identifier: MIT */
/*
 * The structs by which a program sets something. Their list, and that of their members, is made
 * from the public headers (test/options.awk): a member without a row in option_rows.inc does not
 * compile. In each of them 0 is the default; its macro says nothing that {0} does not say; a
 * malformed value, or a member that this library does not know, is refused.
 */
#include "misuse.h"
#include "inspect/board.h"
#include "core/config.h"
#include "pool/pool.h"

#include <baton/admission.h>
#include <baton/board.h>
#include <baton/bound.h>
#include <baton/call.h>
#include <baton/error.h>
#include <baton/fan_out.h>
#include <baton/lane.h>
#include <baton/mainloop.h>
#include <baton/redis.h>
#include <baton/registry.h>
#include <baton/remote.h>
#include <baton/timers.h>
#include <baton/watchdog.h>

/* ---- Every member has a row, every struct has reserved words ---- */

#define NONE(name, member) ROW_##name##_##member,
#define DEFAULT(name, member, value) ROW_##name##_##member,
#define ELSEWHERE(name, member) ROW_##name##_##member,
#define NEEDED(name, member) ROW_##name##_##member,
#define BAD(name, member, value)
#define WRONG(name, member, value)
enum row {
#include "option_rows.inc"
	ROWS
};
#undef NONE
#undef DEFAULT
#undef ELSEWHERE
#undef NEEDED

#define OPTIONS(name)
#define MEMBER(name, member) _Static_assert(ROW_##name##_##member < ROWS, "");
#define RESERVED(name, words) _Static_assert((words) >= 4, "struct baton_" #name);
#include "../../../build/options.inc"
#undef OPTIONS
#undef MEMBER
#undef RESERVED

/* ---- 0, and the macro ---- */

static bool is_zero(const void *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (((const unsigned char *)bytes)[i])
			return false;
	return true;
}

/* What a macro is given is NULL and 0. */
#define SAYS_NOTHING(name, ...)                                                                    \
	do {                                                                                       \
		static const struct baton_##name macro = __VA_ARGS__;                              \
		cr_expect(is_zero(&macro, sizeof(macro)), "struct baton_" #name);                  \
	} while (0)

Test(settings, a_macro_says_what_zero_says, .timeout = 5)
{
	SAYS_NOTHING(resource_config, BATON_RESOURCE_CONFIG_INIT);
	SAYS_NOTHING(resource_config, BATON_RESOURCE_CONFIG_NAMED(NULL));
	SAYS_NOTHING(admission_config, BATON_ADMISSION_CONFIG_INIT);
	SAYS_NOTHING(bound_config, BATON_BOUND_CONFIG_INIT);
	SAYS_NOTHING(lanes_config, BATON_LANES_CONFIG_INIT);
	SAYS_NOTHING(pool_options, BATON_POOL_OPTIONS_INIT);
	SAYS_NOTHING(registry_options, BATON_REGISTRY_OPTIONS_INIT(0, NULL, NULL, NULL));
	SAYS_NOTHING(rules_config, BATON_RULES_CONFIG_INIT);
	SAYS_NOTHING(timers_options, BATON_TIMERS_OPTIONS_INIT);
}

/*
 * For each struct: what a program must set (base); a call that is given the struct, and what has
 * become of the numbers in it. An error: nothing is seen.
 */
enum { SEEN = 10 };

static const struct baton_label bad_label = {.lane = BATON_LANES_MAX};
static const struct baton_pool_policy bad_policy = {.injection_min = 1};
static const int bad_cpu = -1;
static const struct baton_resource_config never_captured = {.capture_max = BATON_CAPTURE_NONE};

static int visit(struct baton_resource *resource, void *arg, size_t index)
{
	return 0;
}

static const struct baton_pool_options base_pool_options = {.workers = 1};

static int try_pool_options(const struct baton_pool_options *options, uint64_t *seen)
{
	struct baton_pool *pool;
	int error = baton_pool_create(options, &pool);

	if (error)
		return error;
	seen[0] = pool->threads_max;
	seen[1] = pool->spare_keep_ns;
	return baton_pool_destroy(pool);
}

static const struct baton_pool_policy base_pool_policy;

static int try_pool_policy(const struct baton_pool_policy *policy, uint64_t *seen)
{
	struct baton_pool_policy filled;
	int error = baton__policy_fill(&filled, policy);
	const uint64_t numbers[] = {filled.injection_ns, filled.injection_min, filled.injection_max,
	                            filled.smoothing,    filled.tick_budget,   filled.steal_max,
	                            filled.hot_from,     filled.hot_share};

	memcpy(seen, numbers, sizeof(numbers));
	return error;
}

static const struct baton_board_options base_board_options;

static int try_board_options(const struct baton_board_options *options, uint64_t *seen)
{
	struct baton_board *board;
	int error = baton_board_create(options, &board);

	if (error)
		return error;
	seen[0] = board->file->lines_max;
	baton_board_destroy(board);
	return 0;
}

static const struct baton_timers_options base_timers_options;

static int try_timers_options(const struct baton_timers_options *options, uint64_t *seen)
{
	struct baton_timers *timers;
	int error = baton_timers_create(options, &timers);

	return error ? error : baton_timers_destroy(timers);
}

static const struct baton_registry_options base_registry_options = {
	.object_size = sizeof(struct baton_registry_entry)};

static int try_registry_options(const struct baton_registry_options *options, uint64_t *seen)
{
	struct baton_registry *registry;
	int error = baton_registry_create(options, &registry);

	return error ? error : baton_registry_destroy(registry);
}

static void *nothing_called(void *arg)
{
	return NULL;
}

static const struct baton_call_options base_call_options = {.fn = nothing_called};

/* All three functions answer alike. */
static int try_call_options(const struct baton_call_options *options, uint64_t *seen)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
	struct baton_future *future = NULL;
	const int error = baton_call_with(&resource, options, NULL);

	cr_expect_eq(baton_post_with(&resource, options), error);
	cr_expect_eq(baton_async_with(&resource, options, &future), error);
	if (future)
		baton_future_unref(future);
	return error;
}

static const struct baton_fan_out_options base_fan_out_options = {.fn = visit};

static int try_fan_out_options(const struct baton_fan_out_options *options, uint64_t *seen)
{
	return baton_fan_out_submit(NULL, 0, options, NULL);
}

static struct baton_board *board_of_the_watchdog;
static struct baton_watchdog_options base_watchdog_options;

static int try_watchdog_options(const struct baton_watchdog_options *options, uint64_t *seen)
{
	struct baton_watchdog *watchdog;
	int error = baton_watchdog_create(options, &watchdog);

	if (!error)
		baton_watchdog_destroy(watchdog);
	return error;
}

static const struct baton_resource_config base_resource_config;

static int try_resource_config(const struct baton_resource_config *config, uint64_t *seen)
{
	struct baton_resource resource;

	baton_resource_init(&resource, config);
	seen[0] = baton__capture_max(&resource);
	seen[1] = baton__quantum(config);
	return 0;
}

static const struct baton_bound_config base_bound_config;

static int try_bound_config(const struct baton_bound_config *config, uint64_t *seen)
{
	struct baton_bound bound;

	baton_bound_init(&bound, config);
	return 0;
}

static const struct baton_lanes_config base_lanes_config;

static int try_lanes_config(const struct baton_lanes_config *config, uint64_t *seen)
{
	struct baton_lane lane;
	struct baton_lanes lanes;

	baton_lanes_init(&lanes, &lane, 1, config);
	return 0;
}

#define NONE(name, member)
#define ELSEWHERE(name, member)
#define NEEDED(name, member)

/* ---- A default by its number ---- */

/* A neighbour of the number that is taken, too, says something else. */
#define DEFAULT(name, what, value)                                                                 \
	do {                                                                                       \
		struct baton_##name said = base_##name, other = base_##name;                       \
		uint64_t seen[3][SEEN] = {{0}};                                                    \
		said.what = (value);                                                               \
		other.what = (value)-1;                                                            \
		cr_expect_eq(try_##name(&base_##name, seen[0]), 0);                                \
		cr_expect_eq(try_##name(&said, seen[1]), 0);                                       \
		if (try_##name(&other, seen[2])) {                                                 \
			other.what = (value) + 1;                                                  \
			cr_expect_eq(try_##name(&other, seen[2]), 0);                              \
		}                                                                                  \
		cr_expect_arr_eq(seen[0], seen[1], sizeof(seen[0]), #name "." #what);              \
		cr_expect_arr_neq(seen[0], seen[2], sizeof(seen[0]), #name "." #what);             \
	} while (0);

Test(settings, a_member_that_is_0_has_its_default, .timeout = 20)
{
#include "option_rows.inc"
}
#undef DEFAULT
#define DEFAULT(name, member, value)
#undef BAD
#undef WRONG

/* ---- Malformed values ---- */

/* Does the text name a function, and the member? */
static bool names(const char *text, const char *member)
{
	return text && strncmp(text, "baton_", 6) == 0 && strstr(text, ": ") &&
	       strstr(strstr(text, ": "), member);
}

#define BAD(name, what, value)                                                                     \
	do {                                                                                       \
		struct baton_##name malformed = base_##name;                                       \
		uint64_t seen[SEEN];                                                               \
		malformed.what = (value);                                                          \
		cr_expect_eq(try_##name(&malformed, seen), -EINVAL, #name "." #what);              \
		cr_expect(names(baton_refused(), #what), #name "." #what ": %s", baton_refused()); \
	} while (0);
#define WRONG(name, what, value)

Test(settings, a_malformed_value_is_refused_by_its_name, .timeout = 20)
{
	cr_assert_eq(baton_board_create(NULL, &board_of_the_watchdog), 0);
	base_watchdog_options.board = board_of_the_watchdog;
#include "option_rows.inc"
	baton_board_destroy(board_of_the_watchdog);
}

#define UNKNOWN(name)                                                                              \
	for (int word = 0; word < 4; word++) {                                                     \
		struct baton_##name malformed = base_##name;                                       \
		uint64_t seen[SEEN];                                                               \
		malformed._reserved[word] = UINT64_C(1) << (16 * word);                            \
		cr_expect_eq(try_##name(&malformed, seen), -EINVAL, #name ": %d", word);           \
		cr_expect(names(baton_refused(), "_reserved"), #name ": %s", baton_refused());     \
	}

Test(settings, so_is_a_member_that_the_library_does_not_know, .timeout = 20)
{
	cr_assert_eq(baton_board_create(NULL, &board_of_the_watchdog), 0);
	base_watchdog_options.board = board_of_the_watchdog;
	UNKNOWN(pool_options)
	UNKNOWN(pool_policy)
	UNKNOWN(board_options)
	UNKNOWN(timers_options)
	UNKNOWN(registry_options)
	UNKNOWN(fan_out_options)
	UNKNOWN(call_options)
	UNKNOWN(watchdog_options)
	baton_board_destroy(board_of_the_watchdog);
}

/* Where no error can be returned the process ends. */
#undef BAD
#undef WRONG
#define BAD(name, member, value)
#define WRONG(name, what, value)                                                                   \
	do {                                                                                       \
		struct baton_##name malformed = base_##name;                                       \
		malformed.what = (value);                                                          \
		ends_##name(&malformed, #name "." #what);                                          \
	} while (0);

static const void *given;

#define ENDS(name)                                                                                 \
	static void give_##name(void)                                                              \
	{                                                                                          \
		uint64_t seen[SEEN];                                                               \
		(void)try_##name(given, seen);                                                     \
	}                                                                                          \
	static void ends_##name(const struct baton_##name *malformed, const char *what)            \
	{                                                                                          \
		const struct mistake mistake = {give_##name, NULL};                                \
		char printed[512];                                                                 \
		given = malformed;                                                                 \
		cr_expect(mistake_made(&mistake, printed, sizeof(printed)), "%s", what);           \
	}                                                                                          \
	static void knows_##name(void)                                                             \
	{                                                                                          \
		struct baton_##name malformed = base_##name;                                       \
		malformed._reserved[3] = 1;                                                        \
		ends_##name(&malformed, #name "._reserved");                                       \
	}

ENDS(resource_config)
ENDS(bound_config)
ENDS(lanes_config)

Test(settings, or_ends_the_process_where_no_error_is_returned, .timeout = 30)
{
#include "option_rows.inc"
	knows_resource_config();
	knows_bound_config();
	knows_lanes_config();
}
