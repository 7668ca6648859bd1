/* SPDX-License-Identifier: MIT */
/*
 * Stories of MQTT 3.1.1, told in MQTT 5 (--five): a client whose CONNECT says no version speaks
 * MQTT 5, and what it hears is put into the words of 3.1.1. So each of them holds for both.
 */
#ifndef BROKER_DISGUISE_H
#define BROKER_DISGUISE_H

#include <stdbool.h>
#include <stddef.h>

/* For all stories, before the first one. */
void disguise_begin(void);
bool disguised(void);

/*
 * The words of a CONNECT, with room for `size`: those of MQTT 5 that mean the same. False: they say
 * a version, and stay as they are.
 */
bool disguise_connect(char *words, size_t size);

/* What has come, in words of MQTT 5: those of 3.1.1. False: 3.1.1 has nothing like it. */
bool disguise_told(char *words);

#endif
