/* SPDX-License-Identifier: MIT */
/* A function of each sort that the library calls. They do nothing, save that tasks are counted. */
#ifndef BATON_TEST_UNIT_CALLBACKS_H
#define BATON_TEST_UNIT_CALLBACKS_H

#include "support.h"

#include <baton/admission.h>
#include <baton/epoch.h>
#include <baton/published.h>
#include <baton/io.h>
#include <baton/mainloop.h>
#include <baton/registry.h>
#include <baton/rules.h>
#include <baton/timer.h>
#include <baton/trigger.h>
#include <baton/undo.h>

static int ran; /* tasks */

static void *nothing(void *arg)
{
	ran++;
	return arg;
}

static void nothing_of(void *arg)
{
	(void)arg;
}

static int task_nothing(struct baton_task *task)
{
	ran++;
	return 0;
}

static int timer_nothing(struct baton_timer *timer)
{
	return 0;
}

static int trigger_nothing(struct baton_trigger *trigger, uint64_t fires)
{
	return 0;
}

static void stopped_nothing(void *arg)
{
}

static void trigger_dropped_nothing(struct baton_trigger *trigger, int error, uint64_t fires)
{
}

static int io_nothing(struct baton_io *io)
{
	return 0;
}

static void io_dropped_nothing(struct baton_io *io, int error)
{
}

static void timer_dropped_nothing(struct baton_timer *timer, int error)
{
}

static int item_nothing(struct baton_resource *resource, void *arg, size_t index)
{
	ran++;
	return 0;
}

static void job_nothing(struct baton_plain_job *job)
{
}

static int undo_nothing(struct baton_undo *undo)
{
	return 0;
}

static int undo_call_nothing(void *arg)
{
	return 0;
}

static int chunk_nothing(void *arg, size_t begin, size_t end)
{
	return 0;
}

static void retired_nothing(struct baton_retired *retired)
{
}

static void rules_nothing(struct baton_rules *rules, struct baton_rules_entry *entry)
{
}

static void rules_at_nothing(struct baton_rules *rules, struct baton_rules_entry *entry,
                             uint64_t at)
{
}

static const struct baton_rules_events rules_events = {
	.start = rules_at_nothing,
	.shorten = rules_at_nothing,
	.estimate = rules_at_nothing,
	.halt = rules_nothing,
	.overrun = rules_nothing,
};

static int source_nothing(struct baton_source *source)
{
	return 0;
}

static void admission_nothing(struct baton_admission *admission, struct baton_admitted *admitted)
{
}

static bool visit_nothing(struct baton_registry_entry *entry, void *arg)
{
	return true;
}

#endif
