/* SPDX-License-Identifier: MIT */
/*
 * What the scenarios of windows share: parcels, which are windowed tasks of one topic.
 *
 * An execution fails when more are in flight than the limit allows; when they start out of order;
 * when one that was accepted never starts although there is room, and is not cancelled; when the
 * library touches the window or its resource after the finaliser.
 */
#ifndef BATON_SIM_WINDOWS_H
#define BATON_SIM_WINDOWS_H

#include "support.h"

#include <baton/window.h>

#define PARCELS_MAX 4

struct parcel {
	struct baton_windowed windowed;
	struct baton_future future;
	uint32_t told; /* 1: it is in flight; 2: it never will be */
	bool stays;    /* does not detach */
};

extern struct sim_topic sim_window_topic;
extern struct baton_window sim_window;
extern struct parcel sim_parcels[PARCELS_MAX];
extern unsigned sim_in_flight_max;
extern unsigned sim_started_parcels; /* under the baton */

/* The first `futures` parcels have one. */
void sim_window_begin(uint32_t limit, unsigned futures, struct baton_executor *executor);
/* Everything is over: so many have started. */
void sim_window_end(unsigned count);

int sim_parcel_submit(unsigned number);
/* Waits until it is in flight, completes it. False: it will not be. */
bool sim_parcel_acknowledge(unsigned number);

/* Closes the topic with a finaliser; that it has been called, and so many have started. */
void sim_window_close_then(void *argument);
void sim_window_finalised(unsigned count);

#endif
