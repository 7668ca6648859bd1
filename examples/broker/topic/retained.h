/* SPDX-License-Identifier: MIT */
/*
 * The retained message of a topic. It lies in the topic, is changed and sent under the topic's
 * baton, and keeps the topic in the table. So a new subscriber gets it in the topic's own order:
 * each message comes to the subscriber either as the retained one or live.
 */
#ifndef BROKER_RETAINED_H
#define BROKER_RETAINED_H

#include "topic/topic.h"

/* Keeps a message with the retain flag in place of the old one; an empty one only clears. */
void retained_publish(struct topic *topic, struct message *message);

/* Sends the retained message, if there is one, to a new subscriber. */
void retained_send(struct topic *topic, const struct topic_tell *tell);

/* At the start of the broker: the retained message of an earlier run. The caller has a use of the
 * topic, and a reference on the message. */
void retained_restore(struct topic *topic, struct message *message);

/* The topic ends: drops its retained message. */
void retained_drop(struct topic *topic);

#endif
