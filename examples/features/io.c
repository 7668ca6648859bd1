/* SPDX-License-Identifier: MIT */
/*
 * Descriptors without an event loop: a pipe's bytes are counted by a task of a resource, which runs
 * whenever the pipe can be read.
 */
#include <baton.h>
#include <baton/io.h>

#include <stdio.h>
#include <unistd.h>

#include "../check.h"

#define BYTES 100000

struct sink {
	struct baton_resource resource;
	struct baton_io readable;
	struct baton_future ended;
	size_t bytes; /* touched by the resource's tasks alone */
};

static int sink_readable(struct baton_io *io)
{
	struct sink *sink = baton_container_of(io, struct sink, readable);
	char buffer[4096];
	ssize_t count = read(io->fd, buffer, sizeof(buffer));

	if (count > 0) {
		sink->bytes += (size_t)count; /* what is left makes the function run again */
		return 0;
	}
	/* The writer has closed its end. Stop comes before close. */
	BATON_IGNORE(baton_io_stop(io).met);
	(void)close(io->fd);
	return baton_future_complete(&sink->ended, 0, NULL);
}

int main(void)
{
	struct sink sink = {.resource = BATON_RESOURCE_INIT(NULL)};
	int ends[2];

	CHECK(pipe(ends) == 0);
	baton_promise_init(&sink.ended);
	baton_io_init(&sink.readable, &sink.resource, sink_readable);
	CHECK(baton_io_start(&sink.readable, ends[0], BATON_IO_READ | BATON_IO_AGAIN) == 0);
	for (int i = 0; i < BYTES / 100; i++)
		CHECK(write(ends[1], (char[100]){0}, 100) == 100);
	(void)close(ends[1]);
	CHECK(baton_future_wait(&sink.ended) == 0);
	CHECK(baton_resource_close(&sink.resource) == 0);
	CHECK(baton_resource_await(&sink.resource) == 0);
	printf("%zu bytes\n", sink.bytes);
	return baton_io_destroy();
}
