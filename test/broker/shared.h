/* SPDX-License-Identifier: MIT */
/* For the stories of shared subscriptions. */
#ifndef BROKER_SHARED_H
#define BROKER_SHARED_H

#include "client.h"

/*
 * The filter "$share/GROUP/FILTER" in the words of packet.h, both with the story's name in front;
 * until the eighth next call. `filter` may end in ":qos".
 */
const char *shared(const char *group, const char *filter);

#endif
