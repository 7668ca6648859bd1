/* SPDX-License-Identifier: MIT */
/*
 * A publisher and a subscriber who behave, beside those who do not. A process of its own paces
 * them, so that the story may attack meanwhile: a message of QoS 1 each two milliseconds.
 */
#ifndef BROKER_PAIR_H
#define BROKER_PAIR_H

#include "story.h"

struct pair;

/* Both join, `more` being more words of their CONNECTs, and go on alone for a while. */
struct pair *pair_start(const char *more);

/* From here on they go on beside an attack. */
void pair_attack(struct pair *pair);

/* The attack: as many processes as this run `attack`, until the time is over. */
void pair_attack_by(struct pair *pair, void (*attack)(unsigned int number), unsigned int processes,
                    long long milliseconds);

/*
 * The attack is over. All messages have come, each once and in order; of those that were sent
 * meanwhile 99 in 100 were there in time, by the measure of those before; and the broker's memory
 * never grew by more than this.
 */
void pair_end(struct pair *pair, size_t memory);

#define start_pair(more) (story_here(__FILE__, __LINE__), pair_start(more))
#define end_pair(pair, memory) (story_here(__FILE__, __LINE__), pair_end(pair, memory))

#endif
