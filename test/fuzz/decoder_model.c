/* SPDX-License-Identifier: MIT */
/*
 * A model of MQTT 3.1.1, and of what MQTT 5 has in common with it, as far as a broker decodes it:
 * see decoder.h. Slow and plain; where the broker is stricter than the standard (a remaining length
 * must be as short as can be) so is this.
 */
#include "decoder.h"

#include <errno.h>
#include <string.h>

/* Table 2.2: the flags that each type must have; -1: none can be right, as clients do not send it;
 * 16: whatever makes sense. */
static const int flags_of[16] = {-1, 0, -1, 16, 0, 0, 2, 0, 2, -1, 2, -1, 0, -1, 0, 0};

int model_frame(const unsigned char *bytes, size_t size, size_t size_max, size_t *whole)
{
	size_t length = 0, unit = 1, digits = 0;

	*whole = 0;
	if (size == 0)
		return 0;
	if (flags_of[bytes[0] / 16] == 16 ? bytes[0] / 2 % 4 == 3 || bytes[0] / 2 % 8 == 4
	                                  : flags_of[bytes[0] / 16] != bytes[0] % 16)
		return -EPROTO;
	for (digits = 1; digits < size; digits++) {
		if (digits == 5 || (digits > 1 && bytes[digits] == 0))
			return -EPROTO;
		length += bytes[digits] % 128 * unit;
		unit *= 128;
		if (bytes[digits] < 128) {
			if (1 + digits + length > size_max)
				return -EMSGSIZE;
			*whole = 1 + digits + length;
			return size >= *whole;
		}
	}
	return digits == 5 ? -EPROTO : 0; /* a fourth byte that says there is a fifth */
}

bool model_text_valid(const unsigned char *text, size_t size)
{
	static const unsigned long least[] = {1, 0x80, 0x800, 0x10000};

	for (size_t at = 0; at < size; at++) {
		unsigned long code = text[at];
		const size_t more = code < 0xc0 ? 0 : code < 0xe0 ? 1 : code < 0xf0 ? 2 : 3;

		if ((code >= 0x80 && code < 0xc0) || code >= 0xf8 || size - at <= more)
			return false;
		if (more > 0)
			code &= 0x3fU >> more;
		for (size_t i = 0; i < more; i++) {
			if (text[++at] / 64 != 2)
				return false;
			code = code * 64 + text[at] % 64;
		}
		if (code < least[more] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
			return false;
	}
	return true;
}

bool model_topic_valid(const unsigned char *topic, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (topic[i] == '+' || topic[i] == '#')
			return false;
	return size > 0;
}

bool model_filter_valid(const unsigned char *filter, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		const bool begins = i == 0 || filter[i - 1] == '/', ends = i + 1 == size;

		if (filter[i] == '#' && !(begins && ends))
			return false;
		if (filter[i] == '+' && !(begins && (ends || filter[i + 1] == '/')))
			return false;
	}
	return size > 0;
}

/* A field with its length before it, at `*at`, which goes behind it. */
static bool field(const unsigned char *body, size_t size, size_t *at, size_t *begin, size_t *length)
{
	if (size - *at < 2)
		return false;
	*length = body[*at] * 256U + body[*at + 1];
	*begin = *at + 2;
	if (size - *begin < *length)
		return false;
	*at = *begin + *length;
	return true;
}

static bool text_field(const unsigned char *body, size_t size, size_t *at, size_t *begin,
                       size_t *length)
{
	return field(body, size, at, begin, length) && model_text_valid(body + *begin, *length);
}

static int connect_rest(const unsigned char *body, size_t size, size_t at, struct decoded *decoded)
{
	unsigned int flags;

	if (size - at < 3)
		return -EPROTO;
	flags = body[at];
	decoded->number = body[at + 1] * 256U + body[at + 2];
	decoded->flag = flags / 2 % 2 == 1;
	at += 3;
	/* Bit 0 is reserved; without a will (bit 2) it has no QoS (3, 4: not 3) and no retain (5);
	 * without a user name (7) there is no password (6). */
	if (flags % 2 == 1 || flags / 8 % 4 == 3 || (flags / 4 % 2 == 0 && flags / 8 % 8 != 0) ||
	    flags / 64 == 1)
		return -EPROTO;
	if (!text_field(body, size, &at, &decoded->text_at, &decoded->text_size))
		return -EPROTO;
	decoded->will_qos = flags / 8 % 4;
	decoded->will_retain = flags / 32 % 2 == 1;
	if (flags / 4 % 2 == 1 &&
	    !(text_field(body, size, &at, &decoded->will_at, &decoded->will_size) &&
	      model_topic_valid(body + decoded->will_at, decoded->will_size) &&
	      field(body, size, &at, &decoded->will_payload_at, &decoded->will_payload_size)))
		return -EPROTO;
	if (flags >= 128 && !text_field(body, size, &at, &decoded->user_at, &decoded->user_size))
		return -EPROTO;
	if (flags / 64 % 2 == 1 &&
	    !field(body, size, &at, &decoded->password_at, &decoded->password_size))
		return -EPROTO;
	return at == size ? 0 : -EPROTO;
}

static struct decoded connect_body(const unsigned char *body, size_t size)
{
	struct decoded decoded = {.version = 4};
	size_t at = 0, begin, length;

	if (!text_field(body, size, &at, &begin, &length) || at == size)
		return (struct decoded){.status = -EPROTO};
	if (length != 4 || memcmp(body + begin, "MQTT", 4) != 0)
		return (struct decoded){.status = -EPFNOSUPPORT};
	if (body[at] == 5)
		return model5_connect(body, size, at + 1);
	if (body[at] != 4)
		return (struct decoded){.status = -EPROTONOSUPPORT};
	decoded.status = connect_rest(body, size, at + 1, &decoded);
	decoded.expiry = decoded.flag ? 0 : UINT32_MAX;
	decoded.packet_max = UINT32_MAX;
	decoded.receive_max = 65535;
	decoded.problem = 1;
	if (decoded.will_size > 0)
		decoded.will_expiry = UINT32_MAX;
	return decoded;
}

/* The packet id at `*at`. */
static bool number(const unsigned char *body, size_t size, size_t *at, struct decoded *decoded)
{
	if (size - *at < 2)
		return false;
	decoded->number = body[*at] * 256U + body[*at + 1];
	*at += 2;
	return decoded->number != 0;
}

static int publish_body(unsigned int flags, const unsigned char *body, size_t size,
                        struct decoded *decoded)
{
	size_t at = 0;

	decoded->qos = flags / 2 % 4;
	decoded->flag = flags % 2 == 1;
	decoded->duplicate = flags >= 8;
	if (!text_field(body, size, &at, &decoded->text_at, &decoded->text_size) ||
	    !model_topic_valid(body + decoded->text_at, decoded->text_size))
		return -EPROTO;
	if (decoded->qos > 0 && !number(body, size, &at, decoded))
		return -EPROTO;
	decoded->rest_at = at;
	decoded->rest_size = size - at;
	return 0;
}

static int filters_body(bool subscribe, const unsigned char *body, size_t size,
                        struct decoded *decoded)
{
	size_t at = 0, begin, length;

	if (!number(body, size, &at, decoded) || at == size)
		return -EPROTO;
	for (; at < size; decoded->count++) {
		if (!text_field(body, size, &at, &begin, &length) ||
		    !model_filter_valid(body + begin, length))
			return -EPROTO;
		if (subscribe && (at == size || body[at++] > 2))
			return -EPROTO;
	}
	return 0;
}

struct decoded model_body(unsigned int version, unsigned int first_byte, const unsigned char *body,
                          size_t size)
{
	struct decoded decoded = {0};
	size_t at = 0;

	switch (first_byte / 16) {
	case 1:
		decoded = connect_body(body, size);
		break;
	case 3:
		decoded.expiry = UINT32_MAX;
		decoded.status = publish_body(first_byte % 16, body, size, &decoded);
		break;
	case 4:
	case 5:
	case 6:
	case 7:
		decoded.status = number(body, size, &at, &decoded) && at == size ? 0 : -EPROTO;
		break;
	case 8:
	case 10:
		decoded.offset = 2;
		decoded.status = filters_body(first_byte / 16 == 8, body, size, &decoded);
		break;
	case 12:
	case 14:
		decoded.status = size == 0 ? 0 : -EPROTO;
		break;
	default: /* no client sends that */
		decoded.status = -EPROTO;
		break;
	}
	if (version == 5 && first_byte / 16 != 1 && first_byte / 16 != 12)
		decoded = model5_body(first_byte, body, size);
	return decoded.status == 0
	               ? decoded
	               : (struct decoded){.status = decoded.status, .version = decoded.version};
}
