/* SPDX-License-Identifier: MIT */
/*
 * baton: work on resources, serialised without blocking those who ask for it. See README.md.
 *
 * This is the first floor, what a program needs first: resources, tasks, futures, the pool, timers.
 * baton/all.h includes every header of libbaton.
 */
#ifndef BATON_H
#define BATON_H

#include <baton/call.h>
#include <baton/error.h>
#include <baton/executor.h>
#include <baton/future.h>
#include <baton/pool.h>
#include <baton/resource.h>
#include <baton/task.h>
#include <baton/thread.h>
#include <baton/time.h>
#include <baton/timer.h>
#include <baton/version.h>

#endif
