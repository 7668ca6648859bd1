/* SPDX-License-Identifier: MIT */
/*
 * Calls of random programs, on what stands on top of the core. An execution fails when something
 * that was accepted is never over, when a bound's books do not balance, a batch is not ended.
 */
#include "api_more.h"
#include "posts.h"

#include "base/atomic.h"

#include "../../parts.h"

#include <baton/call.h>
#include <baton/hold.h>

#define TICK 1024U
#define PARCELS 4

/* Completes a token in a task of the other topic, whatever becomes of that. */
struct completer {
	struct baton_trigger trigger;
	struct baton_detached *token;
	int status;
};

/* A reader, whose note is elsewhere. */
struct reading {
	struct read_task read;
	struct sim_note *note;
};

static struct sim_topic *both;
static struct extra {
	struct baton_readers readers;
	struct baton_lane array[2];
	struct baton_lanes lanes;
	struct baton_bound_config limits;
	struct baton_bound bound;
	bool bounded;
	bool open; /* a batch; under the baton */
} extras[2];

static struct baton_window window;
static struct parcel {
	struct windowed windowed;
	struct baton_future future;
	bool accepted;
} parcels[PARCELS];
static uint32_t parcel_count;

static struct baton_timers *timers;
static struct baton_timer timer;

/* ---- Topics ---- */

static struct extra *extra_of(struct baton_resource *resource)
{
	return &extras[resource == &both[1].resource];
}

static int batch_begin(struct baton_resource *resource)
{
	sim_require(!extra_of(resource)->open);
	extra_of(resource)->open = true;
	return 0;
}

static int batch_end(struct baton_resource *resource)
{
	sim_require(extra_of(resource)->open);
	extra_of(resource)->open = false;
	return 0;
}

static void extend(struct extra *extra, struct sim_topic *topic)
{
	static const enum baton_bound_policy policies[] = {
		BATON_BOUND_REFUSE, BATON_BOUND_DROP_NEWEST, BATON_BOUND_DROP_OLDEST};
	bool laned = sim_pick(2);

	extra->limits = (struct baton_bound_config)BATON_BOUND_CONFIG_INIT;
	extra->limits.tasks_max = sim_pick(2) + 1;
	extra->limits.policy = policies[sim_pick(laned ? 3 : 2)];
	if (laned) {
		baton_lanes_init(&extra->lanes, extra->array, 2, NULL);
		baton_resource_set_lanes(&topic->resource, &extra->lanes);
	}
	extra->bounded = !laned || sim_pick(2);
	if (!extra->bounded)
		return;
	baton_bound_init(&extra->bound, &extra->limits);
	sim_topic_bound(topic, &extra->bound);
	if (extra->limits.policy != BATON_BOUND_REFUSE)
		sim_posts_cancelled();
}

static int count(struct baton_timer *unused)
{
	both[1].changes++;
	return 0;
}

void sim_more_begin(struct sim_topic *topics)
{
	both = topics;
	for (int i = 0; i < 2; i++) {
		struct sim_topic *topic = &topics[i];
		unsigned has = sim_pick(4);

		if (has & 1) {
			topic->config.batch_begin = batch_begin;
			topic->config.batch_end = batch_end;
			topic->config.delay_completions = sim_pick(2);
		}
		baton_resource_init(&topic->resource, &topic->config);
		if (has & 2)
			extend(&extras[i], topic);
		baton_readers_init(&extras[i].readers, &topic->resource);
	}
	baton_window_init(&window, &topics[0].resource, 1);
	sim_require(
		baton_timers_create(&(struct baton_timers_options){.source = BATON_TIMERS_VIRTUAL},
	                            &timers) == 0);
	baton_timer_init(&timer, timers, &topics[1].resource, count);
}

/* ---- Detached completions ---- */

static void complete(struct completer *completer)
{
	sim_require(baton_detached_complete(completer->token, completer->status, NULL) == 0);
}

static int complete_in_task(struct baton_trigger *trigger, uint64_t fires)
{
	sim_require(fires == 1);
	complete(baton_container_of(trigger, struct completer, trigger));
	return 0;
}

static void complete_dropped(struct baton_trigger *trigger, int error, uint64_t fires)
{
	(void)complete_in_task(trigger, fires);
}

/* Of the one only: what completes it waits in the other. */
static unsigned any_flags(unsigned topic)
{
	unsigned flags = sim_pick(2) ? BATON_DETACH_COUNTED : 0;

	return topic == 0 && sim_pick(2) ? flags | BATON_DETACH_EXCLUSIVE : flags;
}

/* Detaches the running task of the topic; it completes soon, here or there. */
static void detach(unsigned topic, struct baton_detached *token, int status, unsigned flags)
{
	struct completer *completer = sim_alloc(sizeof(*completer));

	*completer = (struct completer){.token = token, .status = status};
	baton_trigger_init(&completer->trigger, &both[!topic].resource, complete_in_task);
	baton_trigger_set_dropped(&completer->trigger, complete_dropped);
	sim_require(baton_detach(token, flags) == 0);
	if (sim_pick(3) == 0 || baton_trigger_fire(&completer->trigger))
		complete(completer);
}

static void detach_note(struct sim_note *note)
{
	struct baton_detached *token = sim_alloc(sizeof(*token));
	const unsigned topic = note->topic == &both[1];
	unsigned flags = any_flags(topic);

	baton_detached_init(token);
	if (note->reads) {
		sim_require(baton_detach(token, BATON_DETACH_EXCLUSIVE) == -EPERM);
		flags &= BATON_DETACH_COUNTED;
	}
	detach(topic, token, note->status, flags);
}

int sim_more_run_detached(struct baton_task *task)
{
	struct sim_note *note = baton_container_of(task, struct sim_note, task);

	note->body = detach_note;
	(void)sim_note_run(note); /* last touch */
	return 0;
}

/* ---- Readers ---- */

static int run_reading(struct baton_task *task)
{
	struct reading *reading = baton_container_of(task, struct reading, read.task);
	const int status = reading->note->status;
	const bool own_future = reading->note->own_future;

	sim_require(baton_reading(&reading->note->topic->resource));
	sim_require(!baton_held(&reading->note->topic->resource));
	(void)sim_note_read(reading->note); /* last touch, if it has a future */
	if (!own_future)
		sim_retire(reading, sizeof(*reading));
	return status;
}

static void cancel_reading(struct baton_task *task)
{
	struct reading *reading = baton_container_of(task, struct reading, read.task);

	sim_note_cancelled(reading->note);
	sim_retire(reading, sizeof(*reading));
}

static const struct baton_task_type reading_type = {
	.run = run_reading,
	.cancelled = cancel_reading,
	.future = BATON_TASK_PLACE(struct reading, read.task, read.future),
	.reader = BATON_TASK_PLACE(struct reading, read.task, read.reader),
};

void sim_more_moved(struct sim_note *note)
{
	struct reading *reading = baton_container_of(note->entry, struct reading, read.task);

	baton_reader_init(&reading->read.reader, &extra_of(&note->topic->resource)->readers);
}

void sim_more_reads(struct sim_note *note, bool detached)
{
	struct reading *reading = sim_alloc(sizeof(*reading));

	baton_task_init_of(&reading->read.task, &reading_type);
	reading->read.future = note->own_future ? &note->future : NULL;
	reading->note = note;
	note->entry = &reading->read.task;
	note->reads = true;
	if (detached)
		note->body = detach_note;
	sim_more_moved(note);
}

/* ---- Windows ---- */

static int run_parcel(struct baton_task *task)
{
	struct parcel *parcel = baton_container_of(task, struct parcel, windowed.task);

	if (sim_pick(2))
		detach(0, &parcel->windowed.part.token, 0, any_flags(0));
	return 0;
}

static void submit_parcel(void)
{
	uint32_t number = add_relaxed(&parcel_count, 1);
	struct parcel *parcel = &parcels[number];
	int status;

	if (number >= PARCELS)
		return;
	baton_future_init(&parcel->future);
	windowed_init(&parcel->windowed, &window, run_parcel, &parcel->future);
	status = baton_submit(&both[0].resource, &parcel->windowed.task);
	parcel->accepted = status == 0;
}

/* ---- Others ---- */

static int deliver(struct baton_resource *resource, void *arg, size_t index)
{
	sim_require(resource == &both[index].resource && baton_held(resource));
	both[index].changes++;
	return sim_pick(3) == 2 ? -EIO : 0;
}

static void fan_out(void)
{
	struct baton_resource *resources[] = {&both[0].resource, &both[1].resource};
	struct baton_fan_out_options options = {.fn = deliver, .arg = NULL, .flags = sim_pick(4)};
	uint64_t deadline = sim_in(20000);
	struct baton_fan_out *fan_out;
	bool told = sim_pick(2);
	int status;

	status = baton_fan_out_submit(resources, 2, &options, told ? &fan_out : NULL);
	sim_require(status == 0);
	if (!told)
		return;
	status = baton_fan_out_wait_until(fan_out, deadline);
	sim_require(status == 0 || status == -ETIMEDOUT);
	baton_fan_out_unref(fan_out);
}

static void quiesce(void)
{
	struct baton_resource *resources[] = {&both[1].resource, &both[0].resource};
	struct baton_suspension suspensions[2];
	uint64_t deadline = sim_in(5000);
	int status = baton_quiesce_until(resources, 2, suspensions, deadline);

	sim_require(status == 0 || status == -ETIMEDOUT || status == -EPIPE);
	if (status)
		return;
	both[0].changes++;
	both[1].changes++;
	sim_require(baton_quiesce_end(suspensions, 2) == 0);
}

/* All or none, of one topic or two. */
static void hold(void)
{
	const size_t count = sim_pick(2) + 1;
	const unsigned first = sim_pick(2);
	struct baton_resource *resources[] = {&both[first].resource, &both[!first].resource};
	struct baton_hold holds[2] = {BATON_HOLD_INIT, BATON_HOLD_INIT};
	const uint64_t deadline = sim_pick(2) ? sim_in(5000) : BATON_FOREVER;
	const int status = baton_hold_many_until(resources, count, holds, deadline);

	sim_require(status == 0 || (status == -ETIMEDOUT && deadline != BATON_FOREVER) ||
	            status == -EPIPE || status == -EAGAIN || status == -ECANCELED ||
	            status == -ESHUTDOWN || status == -EPERM);
	for (size_t i = 0; i < count; i++)
		sim_require(baton_held(resources[i]) == (status == 0));
	for (size_t i = 0; status == 0 && i < count; i++) {
		struct sim_topic *topic = &both[i ? !first : first];
		const int before = ++topic->changes;

		sim_point();
		sim_require(!topic->reading && !topic->entered && topic->changes == before);
	}
	for (size_t i = 0; status == 0 && i < count; i++)
		sim_require(baton_release(&holds[i]) == 0);
}

static void stamped_post(void)
{
	struct baton_label label = BATON_LABEL_INIT;

	label.lane = (uint8_t)sim_pick(2);
	label.bytes = 7;
	BATON_IGNORE(baton_post_with(
		&both[sim_pick(2)].resource,
		&(struct baton_call_options){.fn = sim_nothing, .arg = NULL, .label = &label}));
}

void sim_more_act(void)
{
	int64_t fired;

	switch (sim_pick(10)) {
	case 0:
		fan_out();
		break;
	case 1:
		quiesce();
		break;
	case 2:
		stamped_post();
		break;
	case 3:
		BATON_IGNORE(baton_timer_arm_every(&timer, 0, 4 * TICK, BATON_TIMER_SKIP));
		break;
	case 4:
		fired = baton_timers_advance(timers, 3 * TICK);
		sim_require(fired >= 0 || fired == -EBUSY);
		break;
	case 5:
	case 6:
	case 7:
		hold();
		break;
	default:
		submit_parcel();
		break;
	}
}

void sim_more_close(void)
{
	sim_require(baton_timer_stop_wait(&timer) == 0);
	sim_require(baton_timers_destroy(timers) == 0);
}

void sim_more_end(void)
{
	for (int i = 0; i < PARCELS; i++)
		sim_require(!parcels[i].accepted || baton_future_is_complete(&parcels[i].future));
	baton_window_deinit(&window);
	for (int i = 0; i < 2; i++) {
		sim_require(!extras[i].open);
		sim_require(extras[i].bound._pushed == extras[i].bound._gone);
		sim_require(!extras[i].bound._sorted && !extras[i].lanes._busy);
		sim_require(baton_readers_at_work(&extras[i].readers) == 0);
		baton_readers_deinit(&extras[i].readers);
	}
}
