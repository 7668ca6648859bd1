/* SPDX-License-Identifier: MIT */
/*
 * The start of a broker with a store: sessions, their subscriptions, queues and packet ids, and
 * retained messages come back. Nothing else runs yet.
 */
#ifndef BROKER_RESTORE_H
#define BROKER_RESTORE_H

struct broker;

/* Logs errors, and returns them. */
int restore(struct broker *broker);

#endif
