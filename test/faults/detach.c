/* SPDX-License-Identifier: MIT */
/* Failing calls in: detached completion, deadlines, windows, readers. */
#include "scenario.h"

#include <baton/detach.h>
#include <baton/timer.h>
#include <baton/timers.h>
#include <baton/window.h>

#include "../parts.h"

#define LOOK_US 50

/* A task that is complete when its slip is signed. */
struct slip {
	struct baton_task task;
	struct baton_future future;
	struct baton_detached token;
	struct baton_deadline deadline;
	unsigned flags;
	uint64_t timeout_ns; /* 0: none */
	atomic_int runs;
	int signed_with;
};

static int slip_run(struct baton_task *task)
{
	struct slip *slip = baton_container_of(task, struct slip, task);

	atomic_fetch_add(&slip->runs, 1);
	if (slip->timeout_ns)
		INSIST(baton_detach_within(&slip->token, slip->flags, slip->timeout_ns,
		                           &slip->deadline),
		       TRY(baton_detached_complete(&slip->token, 0, NULL)) == -EINVAL);
	else
		EXPECT(TRY(baton_detach(&slip->token, slip->flags)) == 0);
	return -EIO; /* ignored */
}

static void slip_init(struct slip *slip, unsigned flags, uint64_t timeout_ns)
{
	atomic_init(&slip->runs, 0);
	slip->flags = flags;
	slip->timeout_ns = timeout_ns;
	slip->signed_with = 0;
	USE(baton_future_init(&slip->future));
	USE(baton_detached_init(&slip->token));
	USE(baton_deadline_init(&slip->deadline, NULL));
	baton_task_init(&slip->task, slip_run, &slip->future);
}

static void *sign(void *arg)
{
	struct slip *slip = arg;

	INSIST(baton_detached_complete(&slip->token, slip->signed_with, slip),
	       USE(baton_future_state(&slip->future)) == BATON_RUNNING);
	return NULL;
}

/* Submitted, with a probe behind it, and signed by a thread that is new. */
static void sign_with(unsigned flags, uint64_t timeout_ns, int status)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
	struct probe behind;
	struct slip slip;

	slip_init(&slip, flags, timeout_ns);
	slip.signed_with = status;
	probe_init(&behind);
	INSIST(baton_submit(&resource, &slip.task), !atomic_load(&slip.runs));
	EXPECT(atomic_load(&slip.runs) == 1);
	EXPECT(USE(baton_future_state(&slip.future)) == BATON_RUNNING);
	EXPECT(!USE(baton_detached_cancel_requested(&slip.token)));
	INSIST(baton_submit(&resource, &behind.task), probe_untouched(&behind));
	EXPECT(flags & BATON_DETACH_EXCLUSIVE ? !atomic_load(&behind.runs) : probe_done(&behind));
	elsewhere(sign, &slip);
	/* A deadline that has just passed completes it, elsewhere. */
	INSIST(baton_future_wait(&slip.future), true);
	EXPECT(TRY(baton_detached_complete(&slip.token, 0, NULL)) == -EALREADY);
	EXPECT(baton_future_status(&slip.future) == status);
	INSIST(baton_future_wait(&behind.future), true);
	EXPECT(probe_done(&behind));
	resource_end(&resource);
}

SCENARIO(detach, complete)
{
	sign_with(0, 0, 0);
}

SCENARIO(detach, complete_counted)
{
	sign_with(BATON_DETACH_COUNTED, 0, -EIO);
}

SCENARIO(detach, complete_held)
{
	sign_with(BATON_DETACH_EXCLUSIVE, 0, 0);
}

/* An hour of the clock's jumps is far from it. */
#define FAR (BATON_NEVER >> 8)

SCENARIO(detach, complete_within)
{
	sign_with(0, FAR, 0);
}

SCENARIO(detach, complete_within_held_and_counted)
{
	sign_with(BATON_DETACH_EXCLUSIVE | BATON_DETACH_COUNTED, FAR, -EIO);
}

static uint64_t refused(void)
{
	struct baton_timers *timers = NULL;
	struct baton_timers_stats stats;

	EXPECT(TRY(baton_timers_default(&timers)) == 0);
	USE(baton_timers_stats_read(timers, &stats));
	return stats.refused;
}

/* The deadline passes; where there is no pool for it to pass in, never. */
SCENARIO(detach, too_late)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
	struct baton_timers *timers = NULL;
	uint64_t refused_before;
	struct slip slip;
	int status;

	INSIST(baton_timers_default(&timers), !timers);
	refused_before = refused();
	slip_init(&slip, BATON_DETACH_EXCLUSIVE, BATON_MICROSECOND);
	INSIST(baton_submit(&resource, &slip.task), !atomic_load(&slip.runs));
	/* Ended by the wheel. */
	while (!USE(baton_future_is_complete(&slip.future)) && refused() == refused_before)
		fault_pause_us(LOOK_US);
	if (refused() != refused_before) {
		EXPECT(fault_planned());
		EXPECT(!baton_future_is_complete(&slip.future));
		EXPECT(TRY(baton_detached_complete(&slip.token, -ETIMEDOUT, NULL)) == 0);
		fault_end();
	}
	INSIST(baton_future_wait(&slip.future), true);
	status = baton_future_status(&slip.future);
	EXPECT(status == -ETIMEDOUT);
	resource_end(&resource);
}

/* ---- Windows ---- */

#define MESSAGES 5

struct message {
	struct windowed windowed;
	struct baton_future future;
	struct baton_deadline deadline;
	atomic_int sent;
};

struct session {
	struct baton_resource resource;
	struct baton_window window;
	struct baton_window_lane lanes[2];
	struct message messages[MESSAGES];
	uint32_t limit;
};

/* Its place is kept by the try that succeeds. */
static int message_send(struct baton_task *task)
{
	struct message *message = baton_container_of(task, struct message, windowed.task);

	INSIST(baton_detach_within(&message->windowed.part.token, 0, FAR, &message->deadline),
	       true);
	atomic_fetch_add(&message->sent, 1);
	return 0;
}

static void session_init(struct session *session, uint32_t limit)
{
	USE(baton_resource_init(&session->resource, NULL));
	USE(baton_window_init(&session->window, &session->resource, limit));
	USE(baton_window_set_lanes(&session->window, session->lanes, 2));
	for (int i = 0; i < MESSAGES; i++) {
		struct message *message = &session->messages[i];

		baton_future_init(&message->future);
		baton_deadline_init(&message->deadline, NULL);
		atomic_init(&message->sent, 0);
		windowed_init(&message->windowed, &session->window, message_send, &message->future);
	}
}

static bool stands(const struct session *session, uint32_t in_flight, uint32_t waiting)
{
	return USE(baton_window_in_flight(&session->window)) == in_flight &&
	       USE(baton_window_waiting(&session->window)) == waiting;
}

static void *acknowledge(void *arg)
{
	struct message *message = arg;

	INSIST(baton_detached_complete(&message->windowed.part.token, 0, NULL), true);
	return NULL;
}

static void *take_back(void *arg)
{
	struct message *message = arg;

	INSIST(baton_window_cancel_task(&message->windowed.task),
	       USE(baton_future_state(&message->future)) == BATON_PENDING);
	return NULL;
}

static void *widen(void *arg)
{
	struct session *session = arg;

	INSIST(baton_window_set_limit(&session->window, session->limit), stands(session, 1, 2));
	return NULL;
}

static void *hang_up(void *arg)
{
	struct session *session = arg;

	INSIST(baton_window_cancel(&session->window), stands(session, 2, 1));
	return NULL;
}

/* 0 and 1 are sent, 2 and 3 cancelled, 4 comes through when the window is empty. */
SCENARIO(window, full)
{
	struct session session = {.limit = 2};
	struct message *messages = session.messages;

	session_init(&session, 1);
	for (int i = 0; i < MESSAGES - 1; i++)
		INSIST(baton_submit(&session.resource, &messages[i].windowed.task),
		       !atomic_load(&messages[i].sent));
	EXPECT(stands(&session, 1, 3));
	elsewhere(take_back, &messages[3]);
	EXPECT(baton_future_state(&messages[3].future) == BATON_CANCELLED);
	EXPECT(stands(&session, 1, 2));
	elsewhere(widen, &session);
	EXPECT(stands(&session, 2, 1));
	elsewhere(hang_up, &session);
	EXPECT(baton_future_state(&messages[2].future) == BATON_CANCELLED);
	EXPECT(stands(&session, 2, 0));
	INSIST(baton_submit(&session.resource, &messages[4].windowed.task), true);
	EXPECT(stands(&session, 2, 1));
	for (int i = 0; i < 2; i++)
		elsewhere(acknowledge, &messages[i]);
	INSIST(baton_future_wait(&messages[1].future), true);
	EXPECT(atomic_load(&messages[4].sent) == 1);
	elsewhere(acknowledge, &messages[4]);
	for (int i = 0; i < MESSAGES; i++)
		EXPECT(atomic_load(&messages[i].sent) == (i != 2 && i != 3));
	resource_end(&session.resource);
	EXPECT(stands(&session, 0, 0));
	USE(baton_window_deinit(&session.window));
}

/* ---- Readers ---- */

#define LOOKS 6

struct library {
	struct baton_resource resource;
	struct baton_resource_config config;
	struct baton_readers readers;
	struct occupant first; /* an ordinary task, behind which the readers wait */
	struct look {
		struct read_task read;
		struct baton_future future;
		atomic_int runs;
	} looks[LOOKS];
};

static int look_run(struct baton_task *task)
{
	struct look *look = baton_container_of(task, struct look, read.task);

	atomic_fetch_add(&look->runs, 1);
	return 0;
}

static void *look_alone(void *arg)
{
	struct library *library = arg;
	struct look *look = &library->looks[0];

	INSIST(baton_submit(&library->resource, &look->read.task), !atomic_load(&look->runs));
	EXPECT(atomic_load(&look->runs) == 1);
	return NULL;
}

/* One looks alone; the others wait together, and run on the pool. */
SCENARIO(reader, together)
{
	struct baton_pool *pool = pool_get();
	struct library library = {.config = {.capture_max = 1}};

	library.config.executor = baton_pool_executor(pool);
	baton_resource_init(&library.resource, &library.config);
	USE(baton_readers_init(&library.readers, &library.resource));
	for (int i = 0; i < LOOKS; i++) {
		struct look *look = &library.looks[i];

		USE(baton_future_init(&look->future));
		read_task_init(&look->read, &library.readers, look_run, &look->future);
		USE(baton_reader_init(&look->read.reader, &library.readers));
	}
	elsewhere(look_alone, &library);
	occupy(&library.first, &library.resource);
	for (int i = 1; i < LOOKS; i++)
		INSIST(baton_submit(&library.resource, &library.looks[i].read.task),
		       !atomic_load(&library.looks[i].runs));
	leave(&library.first);
	for (int i = 1; i < LOOKS; i++)
		INSIST(baton_future_wait(&library.looks[i].future), true);
	for (int i = 0; i < LOOKS; i++)
		EXPECT(atomic_load(&library.looks[i].runs) == 1);
	EXPECT(!USE(baton_reading(&library.resource)));
	resource_end(&library.resource);
	EXPECT(USE(baton_readers_at_work(&library.readers)) == 0);
	USE(baton_readers_deinit(&library.readers));
	pool_put(pool);
}
