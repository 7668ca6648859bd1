/* SPDX-License-Identifier: MIT */
/* baton: work on resources, serialised without blocking those who ask for it. See README.md. */
#ifndef BATON_H
#define BATON_H

#include <baton/admission.h>
#include <baton/attributes.h>
#include <baton/blocking.h>
#include <baton/board.h>
#include <baton/detach.h>
#include <baton/epoch.h>
#include <baton/error.h>
#include <baton/executor.h>
#include <baton/fan_out.h>
#include <baton/future.h>
#include <baton/group.h>
#include <baton/hooks.h>
#include <baton/mainloop.h>
#include <baton/pool.h>
#include <baton/registry.h>
#include <baton/resource.h>
#include <baton/rules.h>
#include <baton/suspend.h>
#include <baton/bound.h>
#include <baton/io.h>
#include <baton/labelled.h>
#include <baton/lane.h>
#include <baton/tag.h>
#include <baton/task.h>
#include <baton/task_type.h>
#include <baton/thread.h>
#include <baton/timer.h>
#include <baton/trigger.h>
#include <baton/undo.h>
#include <baton/version.h>
#include <baton/watchdog.h>
#include <baton/window.h>

#endif
