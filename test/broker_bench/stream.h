/* SPDX-License-Identifier: MIT */
/*
 * What one publisher sends to one topic, and how far the slowest of the topic's subscribers has
 * got with it: that bounds a publisher that goes flat out, at QoS 0, too.
 */
#ifndef LOAD_STREAM_H
#define LOAD_STREAM_H

#include <stdint.h>

#include "load.h"

struct stream {
	struct publisher *publisher;
	uint64_t sent;
	uint64_t low;          /* the least `next` of all subscribers' ledgers */
	unsigned int at_low;   /* how many subscribers are there */
	unsigned int audience; /* how many there are */
};

/* The number of streams of one topic, some of them unused; a stream's number. */
static inline unsigned int stream_lanes(const struct options *options)
{
	return (options->publishers + options->topics - 1) / options->topics;
}

static inline unsigned int stream_number(const struct options *options, unsigned int topic,
                                         unsigned int publisher)
{
	return topic * stream_lanes(options) + publisher / options->topics;
}

/* A subscriber's number for the stream, in its ledgers. */
static inline unsigned int stream_local(const struct options *options, unsigned int topic,
                                        unsigned int publisher)
{
	return topic / options->subscribers * stream_lanes(options) + publisher / options->topics;
}

/* 0 or LOAD_SYSTEM; publishers and subscribers are there. */
int streams_init(struct load *load);

/* A subscriber that was at the low has moved on. */
void stream_passed(struct load *load, unsigned int topic, unsigned int publisher);

#endif
