/* SPDX-License-Identifier: MIT */
/*
 * What libbaton has, except baton/inline.h. A program mostly wants baton.h, and the headers of the
 * modules that it uses.
 */
#ifndef BATON_ALL_H
#define BATON_ALL_H

#include <baton.h>

#include <baton/blocking.h>
#include <baton/board.h>
#include <baton/bound.h>
#include <baton/carried.h>
#include <baton/detach.h>
#include <baton/epoch.h>
#include <baton/fan_out.h>
#include <baton/group.h>
#include <baton/hold.h>
#include <baton/hooks.h>
#include <baton/io.h>
#include <baton/label.h>
#include <baton/lane.h>
#include <baton/loop.h>
#include <baton/manual.h>
#include <baton/parallel.h>
#include <baton/published.h>
#include <baton/reader.h>
#include <baton/registry.h>
#include <baton/stats.h>
#include <baton/stop.h>
#include <baton/suspend.h>
#include <baton/tag.h>
#include <baton/timers.h>
#include <baton/trigger.h>
#include <baton/undo.h>
#include <baton/watchdog.h>
#include <baton/window.h>

#endif
