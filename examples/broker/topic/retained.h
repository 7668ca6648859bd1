/* SPDX-License-Identifier: MIT */
/*
 * The retained message of a topic: it lies in the topic, is changed and sent under the topic's
 * baton, and keeps the topic in the table. So a new subscriber gets it in the topic's own order:
 * each message comes to it either as the retained one or live.
 */
#ifndef BROKER_RETAINED_H
#define BROKER_RETAINED_H

#include "topic/topic.h"

/* A message with the retain flag has come: an empty one clears, others replace. */
void retained_publish(struct topic *topic, struct message *message);

/* Sends the retained message, if there is one, to this new subscriber. */
void retained_send(const struct topic *topic, const struct topic_tell *tell);

/* The topic ends. */
void retained_drop(struct topic *topic);

#endif
