/* SPDX-License-Identifier: MIT */
/*
 * A main loop inside libuv's: keys of a user, an animation, a long job that works while nothing
 * else is to be done, and a layout that waits for the job.
 *
 *	mainloop			in libuv; prints how late keys were served
 *	mainloop --deterministic	on a virtual clock: always the same output
 *
 * Each letter of the timeline is one run: k a key, a the animation, j a slice of the job, L the
 * layout.
 */
#include <baton.h>
#include <baton/mainloop.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

#define KEYS 20
#define KEY_EVERY (11 * BATON_MILLISECOND)
#define FRAME (16 * BATON_MILLISECOND)
#define UNITS 120
#define UNIT BATON_MILLISECOND /* of work */
#define SLICE (20 * BATON_MILLISECOND)

static struct baton_mainloop loop;
static bool deterministic;
static int keys_left = KEYS;
static int units_left = UNITS;
static char timeline[512];
static size_t timeline_length;
static uint64_t worst; /* from a key until it is served */
static int pipe_ends[2];

static void note(char letter)
{
	if (timeline_length < sizeof(timeline) - 1)
		timeline[timeline_length++] = letter;
}

/* ---- The sources ---- */

/* One unit of work takes a millisecond. */
static void work(void)
{
	const uint64_t end = baton_mainloop_now(&loop) + UNIT;

	if (deterministic)
		BATON_IGNORE(baton_mainloop_pass(&loop, UNIT));
	else
		while (baton_mainloop_now(&loop) < end)
			continue;
}

/* Works until it has to make room, and goes on when nothing more important is ready. */
static int job(struct baton_source *source)
{
	note('j');
	do
		work();
	while (--units_left && !baton_mainloop_should_yield(&loop));
	return units_left ? baton_source_start(source) : 0;
}

static int layout(struct baton_source *source)
{
	(void)source;
	note('L');
	return 0;
}

static int animate(struct baton_source *source)
{
	note('a');
	return keys_left || units_left ? 0 : baton_source_stop(source).met < 0;
}

/* A key, in the deterministic mode: there it is a timer. */
static int press(struct baton_source *source)
{
	note('k');
	return --keys_left ? 0 : baton_source_stop(source).met < 0;
}

static const struct baton_source_config job_config = {
	.fn = job, .kind = BATON_SOURCE_IDLE, .level = BATON_PRIORITY_LOWEST};
static const struct baton_source_config layout_config = {
	.fn = layout, .kind = BATON_SOURCE_IDLE, .level = BATON_PRIORITY_RESIZE};
static const struct baton_source_config animation_config = {.fn = animate,
                                                            .kind = BATON_SOURCE_TIMER,
                                                            .level = BATON_PRIORITY_REPAINT,
                                                            .again = true,
                                                            .period_ns = FRAME};
static const struct baton_source_config key_config = {.fn = press,
                                                      .kind = BATON_SOURCE_TIMER,
                                                      .level = BATON_PRIORITY_HIGHEST,
                                                      .again = true,
                                                      .period_ns = KEY_EVERY};

static struct baton_source job_source = BATON_SOURCE_INIT(&loop, &job_config, "job");
static struct baton_source layout_source = BATON_SOURCE_INIT(&loop, &layout_config, "layout");
static struct baton_source animation = BATON_SOURCE_INIT(&loop, &animation_config, "animation");
static struct baton_source key = BATON_SOURCE_INIT(&loop, &key_config, "key");

/* The layout waits for the job, although it is more important. */
static int start(void)
{
	int error = baton_source_depend(&job_source, &layout_source);

	if (!error)
		error = baton_source_start(&layout_source);
	if (!error)
		error = baton_source_start(&job_source);
	return error ? error : baton_source_start(&animation);
}

/* ---- libuv ---- */

static uv_poll_t due_poll;
static uv_poll_t key_poll;
static uv_timer_t due_timer;
static uv_prepare_t before;

static bool any_input(void *arg, uint32_t kinds)
{
	int bytes = 0;

	(void)arg;
	(void)kinds;
	return !ioctl(pipe_ends[0], FIONREAD, &bytes) && bytes > 0;
}

/* The user: each key is the time at which it was pressed. */
static void *user(void *arg)
{
	const struct timespec pause = {0, KEY_EVERY};

	for (int i = 0; i < KEYS; i++) {
		const uint64_t now = baton_mainloop_now(&loop);

		if (write(pipe_ends[1], &now, sizeof(now)) != sizeof(now))
			abort();
		(void)nanosleep(&pause, NULL);
	}
	return arg;
}

static void run_loop(void)
{
	BATON_IGNORE(baton_mainloop_run(&loop, 10));
	if (keys_left || units_left || baton_source_is_active(&layout_source))
		return;
	uv_close((uv_handle_t *)&due_poll, NULL);
	uv_close((uv_handle_t *)&key_poll, NULL);
	uv_close((uv_handle_t *)&due_timer, NULL);
	uv_close((uv_handle_t *)&before, NULL);
}

static void on_readable(uv_poll_t *handle, int status, int events)
{
	(void)handle;
	(void)status;
	(void)events;
	run_loop();
}

static void on_due(uv_timer_t *handle)
{
	(void)handle;
	run_loop();
}

static void on_key(uv_poll_t *handle, int status, int events)
{
	uint64_t pressed;

	(void)handle;
	(void)status;
	(void)events;
	if (read(pipe_ends[0], &pressed, sizeof(pressed)) != sizeof(pressed))
		return;
	note('k');
	keys_left--;
	pressed = baton_mainloop_now(&loop) - pressed;
	if (pressed > worst)
		worst = pressed;
}

/* Before libuv sleeps: until when? A wake that comes too early does no harm. */
static void on_before(uv_prepare_t *handle)
{
	const uint64_t next = baton_mainloop_next(&loop);
	const uint64_t now = baton_mainloop_now(&loop);

	(void)handle;
	if (next == BATON_NEVER)
		(void)uv_timer_stop(&due_timer);
	else
		(void)uv_timer_start(&due_timer, on_due,
		                     next > now ? (next - now) / BATON_MILLISECOND + 1 : 0, 0);
}

static int in_libuv(void)
{
	uv_loop_t *uv = uv_default_loop();
	pthread_t thread;

	if (!uv || pipe(pipe_ends) || uv_poll_init(uv, &due_poll, baton_mainloop_fd(&loop)) ||
	    uv_poll_start(&due_poll, UV_READABLE, on_readable) ||
	    uv_poll_init(uv, &key_poll, pipe_ends[0]) ||
	    uv_poll_start(&key_poll, UV_READABLE, on_key) || uv_timer_init(uv, &due_timer) ||
	    uv_prepare_init(uv, &before) || uv_prepare_start(&before, on_before) || start() ||
	    pthread_create(&thread, NULL, user, NULL))
		return 1;
	(void)uv_run(uv, UV_RUN_DEFAULT);
	(void)pthread_join(thread, NULL);
	BATON_IGNORE(baton_source_stop(&animation).met);
	return uv_loop_close(uv) != 0;
}

/* ---- The virtual clock ---- */

static int on_virtual_clock(void)
{
	if (start() || baton_source_start(&key))
		return 1;
	return baton_mainloop_advance_to(&loop, 300 * BATON_MILLISECOND, 1000) < 0;
}

int main(int argc, char **argv)
{
	struct baton_mainloop_options options = {.slice_ns = SLICE, .any_input = any_input};
	int failed;

	deterministic = argc > 1 && !strcmp(argv[1], "--deterministic");
	options.deterministic = deterministic;
	if (baton_mainloop_init(&loop, &options))
		return 1;
	failed = deterministic ? on_virtual_clock() : in_libuv();
	printf("%s\n", timeline);
	if (!deterministic)
		printf("%d keys; the latest was served after %.1f ms; a slice has %.1f ms\n", KEYS,
		       (double)worst / 1e6, (double)SLICE / 1e6);
	return baton_mainloop_deinit(&loop) != 0 || failed;
}
