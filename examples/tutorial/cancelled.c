/* SPDX-License-Identifier: MIT */
/*
 * Who frees a task that is cancelled: the function that would have freed it had it run, or the one
 * that is called in its place; never both, never neither.
 */
#include "../check.h"

#include <baton.h>

#include <errno.h>

static unsigned ran, cancelled;

/* ---- In baton-tutorial(7) ---- */
struct note {
	struct baton_task task;
	char text[32];
};

/* Runs: frees the note. */
static int note_run(struct baton_task *task)
{
	ran++;
	free(baton_container_of(task, struct note, task));
	return 0;
}

/* Does not run: frees the note, too. */
static void note_cancelled(struct baton_task *task)
{
	cancelled++;
	free(baton_container_of(task, struct note, task));
}

static const struct baton_task_type note_type = {.run = note_run, .cancelled = note_cancelled};

static int note_send(struct baton_resource *resource)
{
	struct note *note = calloc(1, sizeof(*note));
	int error;

	if (note == NULL)
		return -ENOMEM;
	baton_task_init_of(&note->task, &note_type);
	error = baton_submit(resource, &note->task);
	if (error)
		free(note); /* refused: nothing was called, the note is still ours */
	return error;
}
/* ---- To here ---- */

/* A task: the notes wait behind it, and are cancelled. */
static void *send_and_cancel(void *arg)
{
	struct baton_resource *resource = arg;

	CHECK(note_send(resource) == 0);
	CHECK(note_send(resource) == 0);
	CHECK(baton_resource_cancel_pending(resource) == 0);
	return NULL;
}

int main(void)
{
	static struct baton_resource resource = BATON_RESOURCE_INIT(NULL);

	CHECK(note_send(&resource) == 0);
	CHECK(baton_call(&resource, send_and_cancel, &resource, NULL) == 0);
	CHECK(baton_resource_close(&resource) == 0);
	CHECK(note_send(&resource) == -EPIPE);
	CHECK(baton_resource_await(&resource) == 0);
	CHECK(ran == 1 && cancelled == 2);
	printf("of 3 notes %u ran and %u were cancelled; all are freed\n", ran, cancelled);
	return 0;
}
