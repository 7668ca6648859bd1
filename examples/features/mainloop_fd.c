/* SPDX-License-Identifier: MIT */
/*
 * Descriptors in a main loop of one's own: lines come through a pipe, and a timer gives up when no
 * line has come for a while. The host is ten lines of poll().
 */
#include <baton.h>
#include <baton/mainloop.h>

#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "../check.h"

#define LINES 5
#define PATIENCE (60 * BATON_SECOND)

static struct baton_mainloop loop;
static struct baton_source_fd input;
static struct baton_source silence;
static int lines;
static bool over;

static int read_input(struct baton_source *source)
{
	char buffer[64];
	ssize_t count = read(input.fd, buffer, sizeof(buffer));

	if (count > 0) {
		lines += (int)count / 2; /* each line is "x\n" */
		return baton_source_start(&silence);
	}
	/* The writer has closed its end. Stop comes before close. */
	over = true;
	CHECK(baton_source_stop(&silence).met == BATON_STOP_PREVENTED);
	CHECK(baton_source_stop(source).met == BATON_STOP_RUNNING);
	return close(input.fd);
}

static int give_up(struct baton_source *source)
{
	(void)source;
	over = true;
	return 0;
}

static const struct baton_source_config reading = {
	.fn = read_input, .kind = BATON_SOURCE_READABLE, .level = 2, .again = true};
static const struct baton_source_config waiting = {
	.fn = give_up, .kind = BATON_SOURCE_TIMER, .level = 3, .period_ns = PATIENCE};

static void host(void)
{
	const uint64_t next = baton_mainloop_next(&loop);
	const uint64_t now = baton_mainloop_now(&loop);
	struct pollfd entry = {.fd = baton_mainloop_fd(&loop), .events = POLLIN};
	int timeout_ms = -1;

	if (next != BATON_NEVER)
		timeout_ms = next > now ? (int)((next - now) / BATON_MILLISECOND) + 1 : 0;
	CHECK(poll(&entry, 1, timeout_ms) >= 0);
	CHECK(baton_mainloop_run(&loop, 10) >= 0);
}

int main(void)
{
	int ends[2];

	CHECK(pipe(ends) == 0);
	CHECK(baton_mainloop_init(&loop, NULL) == 0);
	baton_source_fd_init(&input, &loop, &reading, "input");
	baton_source_init(&silence, &loop, &waiting, "silence");
	input.fd = ends[0];
	CHECK(baton_source_start(&input.source) == 0);
	CHECK(baton_source_start(&silence) == 0);
	for (int i = 0; i < LINES; i++)
		CHECK(write(ends[1], "x\n", 2) == 2);
	(void)close(ends[1]);
	while (!over)
		host();
	printf("%d lines\n", lines);
	return lines != LINES || baton_mainloop_deinit(&loop) != 0;
}
