/* SPDX-License-Identifier: MIT */
/*
 * The parts of the decoder's fuzz target: a model of MQTT 3.1.1 to compare the codec with, and a
 * connection for the broker's input.c to read, of which the target plays libuv and the protocol.
 */
#ifndef BATON_TEST_FUZZ_DECODER_H
#define BATON_TEST_FUZZ_DECODER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a packet says; places are offsets into its body. All 0 beside `status` if that is not 0. */
struct decoded {
	int status;      /* as the codec's decoders have it */
	uint16_t number; /* packet id, or keep-alive */
	uint8_t qos;
	bool flag;      /* retain, or clean */
	size_t text_at; /* topic, or client id */
	size_t text_size;
	size_t rest_at; /* payload */
	size_t rest_size;
	size_t count; /* of filters */
	bool duplicate;
	uint8_t will_qos; /* the will's, and what else a CONNECT may have */
	bool will_retain;
	size_t will_at;
	size_t will_size;
	size_t will_payload_at;
	size_t will_payload_size;
	size_t user_at;
	size_t user_size;
	size_t password_at;
	size_t password_size;
};

/*
 * decoder_model.c: the standard once more, on packets that lie there as a whole, and as unlike the
 * codec as can be. model_frame answers as codec_frame does; `*whole`: as its frame's size.
 */
int model_frame(const unsigned char *bytes, size_t size, size_t size_max, size_t *whole);
struct decoded model_body(unsigned int first_byte, const unsigned char *body, size_t size);

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

/* fuzz_decoder.c: handles a packet as the broker's protocol would, and checks what can be checked.
 * 1, or the error for which the connection is closed. */
struct codec_frame;
int decoder_handle(const struct codec_frame *frame);

static inline uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t size)
{
	const unsigned char *at = bytes;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ at[i]) * 0x100000001B3U; /* FNV-1a */
	return hash;
}

#endif
