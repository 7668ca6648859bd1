/* SPDX-License-Identifier: MIT */
/* What one publisher sends to one topic; see stream.h. */
#include "stream.h"

#include <stdlib.h>

#include "ledger.h"
#include "publisher.h"
#include "subscriber.h"

static unsigned int audience(const struct options *options, unsigned int topic)
{
	unsigned int count = 0;

	for (unsigned int s = topic % options->subscribers; s < options->subscribers;
	     s += options->topics)
		count++;
	return count;
}

int streams_init(struct load *load)
{
	const struct options *options = &load->options;

	if (options->publishers == 0)
		return 0;
	load->streams =
		calloc((size_t)options->topics * stream_lanes(options), sizeof(*load->streams));
	if (load->streams == NULL)
		return LOAD_SYSTEM;
	for (unsigned int p = 0; p < options->publishers; p++) {
		const unsigned int count = share_count(options->publishers, options->topics, p);

		for (unsigned int i = 0; i < count; i++) {
			const unsigned int topic =
				share_topic(options->publishers, options->topics, p, i);
			struct stream *stream = &load->streams[stream_number(options, topic, p)];

			stream->publisher = &load->publishers[p];
			stream->audience = audience(options, topic);
			stream->at_low = stream->audience;
		}
	}
	return 0;
}

void stream_passed(struct load *load, unsigned int topic, unsigned int publisher)
{
	const struct options *options = &load->options;
	struct stream *stream = &load->streams[stream_number(options, topic, publisher)];
	const unsigned int local = stream_local(options, topic, publisher);

	if (--stream->at_low > 0)
		return;
	stream->low = UINT64_MAX;
	for (unsigned int s = topic % options->subscribers; s < options->subscribers;
	     s += options->topics) {
		const uint64_t next = load->subscribers[s].ledgers[local].next;

		if (next < stream->low) {
			stream->low = next;
			stream->at_low = 0;
		}
		if (next == stream->low)
			stream->at_low++;
	}
	publisher_wake(load, stream->publisher);
}
