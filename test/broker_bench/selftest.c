/* SPDX-License-Identifier: MIT */
/* The generator checks itself: packets, ledger, histogram, and whole runs with a relay in place of
 * the broker, with and without faults. */
#include "selftest.h"

#include <stdio.h>
#include <string.h>

#include "ledger.h"
#include "load.h"
#include "relay.h"
#include "wire.h"

#define CHECK(condition) check((condition), #condition, __LINE__)

static unsigned int checks, failures;

static bool check(bool good, const char *condition, int line)
{
	checks++;
	if (!good) {
		failures++;
		fprintf(stderr, "selftest.c:%d: not so: %s\n", line, condition);
	}
	return good;
}

/* ---- Packets ---- */

static void check_lengths(void)
{
	static const size_t lengths[] = {0, 1, 127, 128, 16383, 16384, 2097151, 2097152, 268435455};
	struct wire_frame frame;
	unsigned char bytes[WIRE_HEADER_MAX];

	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		const size_t size = wire_put_header(bytes, WIRE_PUBLISH, 0, lengths[i]);

		/* Only a length of 0 is a whole frame without its body. */
		for (size_t part = 0; part <= size; part++)
			CHECK(wire_frame(bytes, part, SIZE_MAX, &frame) ==
			      (part == size && lengths[i] == 0));
		CHECK(wire_frame(bytes, size, size + lengths[i] - 1, &frame) == -1);
	}
}

static bool malformed(const char *bytes, size_t size)
{
	struct wire_frame frame;
	struct wire_publish publish;
	const uint8_t *codes;
	uint16_t packet_id;
	uint8_t code;
	size_t count;
	bool present;
	const int status = wire_frame((const unsigned char *)bytes, size, 1000, &frame);

	if (status <= 0)
		return status < 0;
	switch (frame.type) {
	case WIRE_PUBLISH:
		return !wire_publish(&frame, &publish);
	case WIRE_CONNACK:
		return !wire_connack(&frame, &present, &code);
	case WIRE_SUBACK:
		return !wire_suback(&frame, &packet_id, &codes, &count);
	default:
		return !wire_ack(&frame, &packet_id);
	}
}

static void check_malformed(void)
{
	CHECK(!malformed("\x32\x07\0\1ax\0\1", 8)); /* one byte short of its length */
	CHECK(!malformed("\x32\x05\0\1a\0\1", 7));
	CHECK(malformed("\x36\x05\0\1a\0\1", 7));      /* QoS 3 */
	CHECK(malformed("\x38\x03\0\1a", 5));          /* DUP at QoS 0 */
	CHECK(malformed("\x30\x02\0\0", 4));           /* no topic */
	CHECK(malformed("\x30\x03\0\1+", 5));          /* wildcard */
	CHECK(malformed("\x30\x03\0\1\0", 5));         /* NUL */
	CHECK(malformed("\x30\x03\0\2a", 5));          /* topic longer than the packet */
	CHECK(malformed("\x32\x05\0\1a\0\0", 7));      /* packet id 0 */
	CHECK(malformed("\x32\x04\0\1a\0", 6));        /* half a packet id */
	CHECK(malformed("\x40\x82\0\0\1", 5));         /* overlong length */
	CHECK(malformed("\x40\x80\x80\x80\x80\1", 6)); /* length of five bytes */
	CHECK(malformed("\x41\2\0\1", 4));             /* flags of PUBACK */
	CHECK(malformed("\x60\2\0\1", 4));             /* flags of PUBREL */
	CHECK(!malformed("\x62\2\0\1", 4));
	CHECK(malformed("\x40\3\0\1\0", 5)); /* too long */
	CHECK(malformed("\x40\2\0\0", 4));   /* packet id 0 */
	CHECK(malformed("\x20\2\2\0", 4));   /* reserved flag of CONNACK */
	CHECK(malformed("\x20\2\1\1", 4));   /* session present, and refused */
	CHECK(!malformed("\x20\2\1\0", 4));
	CHECK(malformed("\x90\3\0\1\3", 5)); /* SUBACK's return code */
	CHECK(malformed("\x90\2\0\1", 4));   /* and none */
	CHECK(!malformed("\x90\3\0\1\x80", 5));
}

/* ---- Ledger and histogram ---- */

static void check_ledger(void)
{
	struct ledger ledger = {0};

	CHECK(ledger_note(&ledger, 0) == LEDGER_NEXT);
	CHECK(ledger_note(&ledger, 5) == LEDGER_AHEAD); /* 1 to 4 are missing */
	CHECK(ledger_missing(&ledger, 8) == 6);
	CHECK(ledger_note(&ledger, 5) == LEDGER_DUPLICATE);
	CHECK(ledger_note(&ledger, 0) == LEDGER_DUPLICATE);
	CHECK(ledger_note(&ledger, 3) == LEDGER_LATE);
	CHECK(ledger_note(&ledger, 3) == LEDGER_DUPLICATE);
	CHECK(ledger.gap_count == 2);
	CHECK(ledger_note(&ledger, 1) == LEDGER_LATE);
	CHECK(ledger_note(&ledger, 4) == LEDGER_LATE);
	CHECK(ledger_note(&ledger, 2) == LEDGER_LATE);
	CHECK(ledger.gap_count == 0 && ledger_missing(&ledger, 6) == 0);
	for (uint64_t i = 7; i < 1000; i += 2) /* every second one is missing */
		CHECK(ledger_note(&ledger, i) == LEDGER_AHEAD);
	CHECK(ledger_missing(&ledger, 1000) == 497);
	for (uint64_t i = 998; i >= 6; i -= 2)
		CHECK(ledger_note(&ledger, i) == LEDGER_LATE);
	CHECK(ledger_missing(&ledger, 1000) == 0);
	ledger_deinit(&ledger);
}

static void check_latency(void)
{
	static struct latency latency;

	for (uint64_t i = 1; i <= 100000; i++)
		latency_add(&latency, i * 10);
	CHECK(latency.most == 1000000);
	CHECK(latency_quantile(&latency, 0.5) > 490000 && latency_quantile(&latency, 0.5) < 510000);
	CHECK(latency_quantile(&latency, 0.99) > 974000);
	CHECK(latency_quantile(&latency, 0.99) < 1006000);
	latency_add(&latency, UINT64_MAX >> 1);
	CHECK(latency_quantile(&latency, 1) > 9e18);
}

/* ---- Whole runs ---- */

struct outcome {
	enum load_status status;
	uint64_t lost, under_way;
	struct load_counts counts;
};

static struct outcome relayed(unsigned int qos, enum relay_fault fault, unsigned int rounds,
                              size_t piece)
{
	static struct load load;
	const struct options options = {
		.publishers = 2,
		.subscribers = 2,
		.topics = 1,
		.publish_qos = qos,
		.subscribe_qos = qos,
		.payload = 40,
		.window = 3,
	};
	struct outcome outcome;

	CHECK(load_init(&load, &options) == 0);
	relay_run(&load, fault, rounds, piece);
	outcome = (struct outcome){.status = load.status,
	                           .lost = load_lost(&load),
	                           .under_way = load.under_way + load.held,
	                           .counts = load.counts};
	load_deinit(&load);
	return outcome;
}

/* Of a round's messages each piece size cuts at another place: all places are cut at. */
static void check_pieces(void)
{
	for (unsigned int qos = 0; qos <= 2; qos++)
		for (size_t piece = 1; piece <= 500; piece++) {
			const struct outcome outcome = relayed(qos, RELAY_NO_FAULT, 4, piece);

			CHECK(outcome.status == LOAD_GOOD && outcome.lost == 0);
			CHECK(outcome.counts.sent == 24 && outcome.counts.delivered == 48);
			CHECK(outcome.counts.duplicates == 0 && outcome.counts.disordered == 0);
			CHECK(outcome.counts.corrupt == 0 && outcome.under_way == 0);
			CHECK(outcome.counts.acked == (qos > 0 ? 24 : 0));
		}
}

static void check_faults(void)
{
	for (unsigned int qos = 0; qos <= 2; qos++) {
		struct outcome outcome = relayed(qos, RELAY_LOSES, 4, 7);

		CHECK(outcome.status == LOAD_GOOD && outcome.lost == 1);
		CHECK(outcome.counts.delivered == outcome.counts.expected - 1);
		CHECK(outcome.counts.disordered == 0 && outcome.counts.duplicates == 0);
		outcome = relayed(qos, RELAY_DOUBLES, 4, 7);
		CHECK(outcome.counts.duplicates == 1 && outcome.lost == 0);
		CHECK(outcome.counts.disordered == 0);
		outcome = relayed(qos, RELAY_ALTERS, 4, 7);
		CHECK(outcome.counts.corrupt == 1 && outcome.lost == 1);
		CHECK(qos == 0 ||
		      relayed(qos, RELAY_LOWERS_GRANT, 4, 7).status == LOAD_UNSUPPORTED);
		CHECK(qos == 0 || relayed(qos, RELAY_DOUBLES_ACK, 4, 7).status == LOAD_BROKER);
		CHECK(qos == 0 || relayed(qos, RELAY_FORGETS_ACK, 4, 7).under_way == 1);
	}
}

/* Faults that concern a delivery and the next one: with one subscriber both are its own. */
static void check_pairs(void)
{
	static struct load load;
	struct options options = {
		.publishers = 1, .subscribers = 1, .topics = 1, .payload = 28, .window = 10};

	for (unsigned int qos = 0; qos <= 2; qos++) {
		options.publish_qos = options.subscribe_qos = qos;
		CHECK(load_init(&load, &options) == 0);
		relay_run(&load, RELAY_SWAPS, 2, 13);
		CHECK(load.status == LOAD_GOOD && load.counts.disordered == 1);
		CHECK(load_lost(&load) == 0 && load.counts.duplicates == 0);
		load_deinit(&load);
	}
	CHECK(load_init(&load, &options) == 0);
	relay_run(&load, RELAY_REUSES_ID, 2, 13);
	CHECK(load.status == LOAD_BROKER);
	load_deinit(&load);
}

/* Who publishes and subscribes to what: each topic has both, whatever the numbers. */
static void check_shares(void)
{
	for (unsigned int members = 1; members <= 7; members++)
		for (unsigned int topics = 1; topics <= 7; topics++) {
			unsigned int found = 0;

			for (unsigned int m = 0; m < members; m++)
				for (unsigned int i = 0; i < share_count(members, topics, m); i++)
					found += share_has(members, topics, m,
					                   share_topic(members, topics, m, i));
			CHECK(found == (members > topics ? members : topics));
		}
}

int selftest(void)
{
	check_lengths();
	check_malformed();
	check_ledger();
	check_latency();
	check_shares();
	check_pieces();
	check_faults();
	check_pairs();
	printf("load: selftest: %u checks, %u failed\n", checks, failures);
	return failures > 0;
}
