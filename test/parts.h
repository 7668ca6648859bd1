/* SPDX-License-Identifier: MIT */
/* Tasks with parts. Each has a function of its own, as a task without a type has. */
#ifndef BATON_TEST_PARTS_H
#define BATON_TEST_PARTS_H

#include <baton/label.h>
#include <baton/reader.h>
#include <baton/window.h>

/* A task with a stamp. */
struct stamped {
	struct baton_task task;
	struct baton_stamp stamp;
	struct baton_future *future;
	baton_task_fn fn;
};

static inline int stamped_run(struct baton_task *task)
{
	return baton_container_of(task, struct stamped, task)->fn(task);
}

static inline void stamped_init(struct stamped *stamped, baton_task_fn fn,
                                struct baton_future *future)
{
	static const struct baton_task_type type = {
		.run = stamped_run,
		.future = BATON_TASK_PLACE(struct stamped, task, future),
		.stamp = BATON_TASK_PLACE(struct stamped, task, stamp),
		.function = BATON_TASK_PLACE(struct stamped, task, fn),
	};

	baton_task_init_of(&stamped->task, &type);
	stamped->future = future;
	stamped->fn = fn;
}

/* A task with a stamp and a place in a window. */
struct windowed {
	struct baton_task task;
	struct baton_window_part part;
	struct baton_stamp stamp;
	struct baton_future *future;
	baton_task_fn fn;
};

static inline int windowed_run(struct baton_task *task)
{
	return baton_container_of(task, struct windowed, task)->fn(task);
}

static inline void windowed_init(struct windowed *windowed, struct baton_window *window,
                                 baton_task_fn fn, struct baton_future *future)
{
	static const struct baton_task_type type = {
		.run = windowed_run,
		.future = BATON_TASK_PLACE(struct windowed, task, future),
		.stamp = BATON_TASK_PLACE(struct windowed, task, stamp),
		.window = BATON_TASK_PLACE(struct windowed, task, part),
		.function = BATON_TASK_PLACE(struct windowed, task, fn),
	};

	baton_task_init_of(&windowed->task, &type);
	baton_window_part_init(&windowed->part, window);
	windowed->future = future;
	windowed->fn = fn;
}

/* A task that is a reader, with a stamp. */
struct read_task {
	struct baton_task task;
	struct baton_reader reader;
	struct baton_stamp stamp;
	struct baton_future *future;
	baton_task_fn fn;
};

static inline int read_task_run(struct baton_task *task)
{
	return baton_container_of(task, struct read_task, task)->fn(task);
}

static inline void read_task_init(struct read_task *read, struct baton_readers *readers,
                                  baton_task_fn fn, struct baton_future *future)
{
	static const struct baton_task_type type = {
		.run = read_task_run,
		.future = BATON_TASK_PLACE(struct read_task, task, future),
		.stamp = BATON_TASK_PLACE(struct read_task, task, stamp),
		.reader = BATON_TASK_PLACE(struct read_task, task, reader),
		.function = BATON_TASK_PLACE(struct read_task, task, fn),
	};

	baton_task_init_of(&read->task, &type);
	baton_reader_init(&read->reader, readers);
	read->future = future;
	read->fn = fn;
}

#endif
