/* SPDX-License-Identifier: MIT */
/*
 * The parts of the decoder's fuzz target: a model of MQTT 3.1.1 and of MQTT 5 to compare the
 * codec with, and a connection for the broker's input.c to read, of which the target plays libuv
 * and the protocol.
 */
#ifndef BATON_TEST_FUZZ_DECODER_H
#define BATON_TEST_FUZZ_DECODER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What a packet says; places are offsets into its body. All 0 beside `status` if that is not 0, but
 * for the version. All members have one size, so that there is nothing between them.
 */
struct decoded {
	ptrdiff_t status; /* as the codec's decoders have it */
	size_t version;   /* of a CONNECT */
	size_t number;    /* packet id, or keep-alive */
	size_t reason;
	size_t qos;
	size_t flag;    /* retain, or clean */
	size_t text_at; /* topic, or client id */
	size_t text_size;
	size_t rest_at; /* payload */
	size_t rest_size;
	size_t count;  /* of filters */
	size_t offset; /* of the first one */
	size_t duplicate;
	size_t will_qos; /* the will's, and what else a CONNECT may have */
	size_t will_retain;
	size_t will_at;
	size_t will_size;
	size_t will_payload_at;
	size_t will_payload_size;
	size_t user_at;
	size_t user_size;
	size_t password_at;
	size_t password_size;
	size_t properties_at; /* of a PUBLISH */
	size_t properties_size;
	size_t will_properties_at;
	size_t will_properties_size;
	size_t expiry; /* of the message, or of the session */
	size_t expiry_given;
	size_t will_expiry;
	size_t will_delay;
	size_t alias; /* or how many there may be */
	size_t receive_max;
	size_t packet_max;
	size_t problem;
	size_t subscription_id;
	size_t method_at;
	size_t method_size;
};

/* What properties of MQTT 5 say, as struct properties has it; all 0 but `status` after an error. */
struct said {
	ptrdiff_t status;
	size_t present[2]; /* bits: identifiers below 32, and from there on */
	size_t session_expiry;
	size_t message_expiry;
	size_t will_delay;
	size_t packet_max;
	size_t subscription_id;
	size_t receive_max;
	size_t alias_max;
	size_t alias;
	size_t problem;
	size_t response;
	size_t method_at;
	size_t method_size;
};

/*
 * decoder_model.c: the standard once more, on packets that lie there as a whole, and as unlike the
 * codec as can be. model_frame answers as codec_frame does; `*whole`: as its frame's size.
 */
int model_frame(const unsigned char *bytes, size_t size, size_t size_max, size_t *whole);
struct decoded model_body(unsigned int version, unsigned int first_byte, const unsigned char *body,
                          size_t size);
bool model_text_valid(const unsigned char *text, size_t size);
bool model_topic_valid(const unsigned char *topic, size_t size);
bool model_filter_valid(const unsigned char *filter, size_t size);

/*
 * decoder_model5.c: what MQTT 5 has of its own. `where`: the type of a packet, 16 for a will.
 * `forward` takes those that are passed on to subscribers, at most `size` bytes.
 */
struct decoded model5_connect(const unsigned char *body, size_t size, size_t at);
struct decoded model5_body(unsigned int first_byte, const unsigned char *body, size_t size);
struct said model5_properties(unsigned int where, const unsigned char *bytes, size_t size,
                              unsigned char *forward, size_t *forward_size);

/* What has become of a stream. */
struct trace {
	uint64_t hash;    /* of all packets that were handled */
	uint64_t packets; /* how many */
	size_t used;      /* their bytes */
	size_t kept;      /* bytes of the packet that has not come to its end */
	uint64_t kept_hash;
	bool closed;
	bool malformed;
};

struct delivery {
	const unsigned char *bytes;
	size_t size;
	size_t size_max;     /* of a packet */
	unsigned int cuts;   /* 0: comes in one piece; else how it is cut, and the seed of that */
	unsigned int pauses; /* bit n: reading pauses after packets n, n + 6, ... */
	/* 0: it has been let in before. Else it is a stranger, and after its first packet so many
	 * reads go by, or as many as it may have, until it is let in. */
	unsigned int login;
};

/* decoder_connection.c: has a connection read the bytes. */
struct trace connection_read(const struct delivery *delivery);

/*
 * fuzz_decoder.c: handles a packet as the broker's protocol would, and checks what can be checked.
 * 1, or the error for which the connection is closed. A stream begins in version 3.1.1; a CONNECT
 * may say another one.
 */
struct codec_frame;
void decoder_begin(void);
int decoder_handle(const struct codec_frame *frame);

/* decoder_round.c: what the encoders make of what was decoded is what came. */
void check_encoders(const struct codec_frame *frame, unsigned int version,
                    const struct decoded *decoded);
void check_properties(const unsigned char *bytes, size_t size);

static inline uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t size)
{
	const unsigned char *at = bytes;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ at[i]) * 0x100000001B3U; /* FNV-1a */
	return hash;
}

#endif
