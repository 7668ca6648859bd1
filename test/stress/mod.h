/* SPDX-License-Identifier: MIT */
/*
 * Rounds of the modules: a few resources ("grounds"), each with lanes, a bound, a window, drain
 * hooks, timers and triggers as the seed decides, and threads that make all sorts of calls on them.
 *
 * Only clients wait, outside of tasks, while they have suspended and held nothing. The keeper never
 * waits, and completes outstanding tokens and suspensions: so every wait ends.
 *
 * A ground's memory lasts for the round; an item's is given back the moment the headers allow it.
 */
#ifndef BATON_TEST_STRESS_MOD_H
#define BATON_TEST_STRESS_MOD_H

#include <baton/all.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define MOD_STREAMS 48
#define MOD_LANES 6
/* keys of the order that is checked: one for each lane, and one for the window */
#define MOD_KEYS (MOD_LANES + 1)
#define MOD_STASH 16
#define MOD_ALARMS 3
#define MOD_TRIGGERS 2
#define MOD_TAGS 4
#define MOD_WINDOW_MAX 4
#define MOD_BATCHES 4096

#define MOD_END_FAILS 77 /* statuses: a batch_end's, a batch_begin's, a task's, a token's */
#define MOD_BEGIN_FAILS 78
#define MOD_TASK_FAILS 79
#define MOD_TOKEN_FAILS 80

struct ground;
struct item;

/* A timer of the round; see mod_timer.c. */
struct alarm {
	struct baton_timer timer;
	struct ground *ground;
	uint32_t magic;
	uint32_t kind;
	uint64_t deadline_ns;
	_Atomic uint64_t arms;
	_Atomic uint64_t runs;
	atomic_bool repeats;
};

struct firing {
	struct baton_trigger trigger;
	struct ground *ground;
	uint32_t magic;
	_Atomic uint64_t accepted;
	_Atomic uint64_t answered; /* or given to `cancelled` */
};

struct ground {
	struct baton_resource resource;
	struct baton_resource_config config;
	struct baton_resource_stats stats;
	struct baton_lanes lanes;
	struct baton_lanes_config aging;
	struct baton_lane lane[MOD_LANES];
	struct baton_bound bound;
	struct baton_bound_config bound_config;
	struct baton_window window;
	struct baton_readers readers;
	struct baton_task finaliser;
	struct alarm alarms[MOD_ALARMS];
	struct firing firings[MOD_TRIGGERS];
	uint32_t number;
	uint32_t lane_count;
	bool bounded;
	bool drops;
	bool hooked;
	bool hooks_fail;
	/* The shadow: plain members, touched only by the thread that has the baton (or has
	 * suspended the ground, or holds it by a token). */
	uint32_t owner;
	uint64_t version;
	uint64_t version_again;
	bool held;
	bool suspended;
	bool in_batch;
	bool above;
	uint32_t batch;
	int64_t undone;
	int64_t undo_kept;
	uint64_t tags_seen[MOD_TAGS];
	uint64_t last[MOD_STREAMS][MOD_KEYS];
	/* Each thread uses one row only. */
	uint64_t next[MOD_STREAMS][MOD_KEYS];
	/* The accounts: relaxed, so that they order nothing. */
	_Atomic uint64_t accepted;
	_Atomic uint64_t over;
	_Atomic uint64_t bound_in; /* of the tasks that the bound counts: submits that returned */
	_Atomic uint64_t bound_out;
	_Atomic uint64_t refused;
	_Atomic uint64_t cancel_begun;
	_Atomic uint64_t cancel_done;
	_Atomic uint64_t window_cancels;
	_Atomic uint64_t read_last[MOD_STREAMS][MOD_KEYS]; /* as `last`, by readers; relaxed */
	atomic_int reading;                                /* readers in their functions; relaxed */
	atomic_int flying;  /* tasks of windows that are certainly in flight */
	atomic_int counted; /* tokens that the resource's end waits for */
	atomic_int alarms_out;
	_Atomic uint32_t failed[MOD_BATCHES]; /* the batch of that number has failed */
	_Atomic uint32_t batches_over;
	atomic_int pins;
	atomic_bool closing;
	atomic_bool finalised;
	_Atomic(struct item *) stash[MOD_STASH];
};

static inline struct ground *ground_of(struct baton_resource *resource)
{
	return baton_container_of(resource, struct ground, resource);
}

/* Runs one round, instead of round_run(). */
uint64_t mod_round_run(uint64_t number, uint64_t operations_max, uint64_t duration_ns);
void mod_print(void);

/* mod_deed.c */
void mod_deeds_weigh(uint64_t *random);
void mod_deed(void);
void mod_nested(struct ground *ground, const struct alarm *within);

/* mod_ground.c */
void grounds_start(uint64_t *random, struct baton_executor *const *executors, uint32_t count);
uint32_t grounds_count(void);
struct ground *ground_at(uint32_t index);
struct ground *ground_pick(uint64_t *random);
void ground_enter(struct ground *ground);
void ground_leave(struct ground *ground);
void ground_look(const struct ground *ground); /* what holds for readers, too */
bool ground_pin(struct ground *ground); /* true: the ground is open, and stays open until unpin */
void ground_unpin(struct ground *ground);
void ground_close(struct ground *ground);
void grounds_end(void);
void grounds_free(void);
bool mod_stopping(void);
void mod_stop(bool now); /* now: deeds in tasks are refused; returns when none is under way */
bool mod_deed_begin(void);
void mod_deed_end(void);
uint32_t mod_stream(void);
void mod_expect(const struct ground *ground, int error, const char *doing);

/* mod_item.c: tasks; mod_open.c: those with a future, which the client sees to the end. */
void items_look(struct ground *ground); /* called at the end of a task of the ground */
void item_post(struct ground *ground);
void item_post_for(struct ground *ground, struct baton_group *group);
void item_batch(struct ground *ground);
void item_post_stamped(struct ground *ground);
void item_hold_tag(struct ground *ground);
void item_tag_cancel(uint64_t *random);
void item_cancelled(struct baton_task *task);
void open_submit(struct ground *ground);
void open_cancel(void);
void open_finish(bool all);

/* mod_reader.c */
void ground_read_begin(struct ground *ground);
void ground_read_end(struct ground *ground);
int reader_run(struct baton_task *task);

/* mod_window.c */
void window_post(struct ground *ground);
void window_change(struct ground *ground, bool inside);
bool stash_complete(struct ground *ground, bool all);

/* mod_timer.c, mod_trigger.c */
void alarms_start(void);
void alarms_end(void);
void alarms_poll(void);
struct baton_timers *alarms_wheel(uint64_t *random);
void alarms_init(struct ground *ground);
void alarms_stop(struct ground *ground);
void alarm_shared(struct ground *ground, const struct alarm *within, bool inside);
void alarm_once(struct ground *ground);
void alarm_private(struct ground *ground);
void alarm_wheel(void);
void firings_init(struct ground *ground);
void firings_check(struct ground *ground);
void firing_fire(struct ground *ground);
void firing_private(struct ground *ground);
void firing_notify(struct ground *ground, struct baton_group *group,
                   struct baton_continuation *continuation);

/* mod_admission.c */
void admission_start(uint64_t *random, struct baton_executor *executor);
void admission_end(uint64_t *random);
void admission_guest(void);

/* mod_mainloop.c; start returns the loop's executor */
struct baton_executor *sources_start(uint64_t *random);
void sources_end(void);
void source_shared(void);
void source_private(void);

/* mod_io.c */
void watches_start(uint64_t *random, struct baton_executor *executor);
void watches_end(void);
void watch_shared(void);
void watch_private(void);

/* mod_many.c, mod_loop.c, mod_suspend.c, mod_registry.c */
void many_fan_out(uint64_t *random);
void many_group(uint64_t *random);
void loop_run(uint64_t *random);
void suspend_one(struct ground *ground);
void suspend_many(uint64_t *random);
void hold_one(struct ground *ground);
void hold_many(uint64_t *random);
void names_start(void);
void names_end(void);
void names_use(bool may_wait);
void names_walk(void);

#endif
