/* SPDX-License-Identifier: MIT */
/*
 * The model of what MQTT 5 has of its own: see decoder.h. Each packet is taken apart as a whole,
 * then judged: a rule is one line of judge_...(), or a letter of the table.
 */
#include <errno.h>
#include <string.h>

#include "decoder.h"

/* A packet that is taken apart; what it cannot be makes it malformed. */
struct apart {
	const unsigned char *body;
	size_t size;
	size_t at;
	bool malformed;
	bool forbidden;
	bool invalid; /* a topic name, or a filter */
};

static ptrdiff_t verdict(const struct apart *apart)
{
	if (apart->malformed || apart->at != apart->size)
		return -EPROTO;
	return apart->forbidden ? -EBADMSG : apart->invalid ? -EINVAL : 0;
}

/* How many bytes there are to take, of so many. */
static bool there(struct apart *apart, size_t size)
{
	if (apart->malformed || apart->size - apart->at < size)
		apart->malformed = true;
	return !apart->malformed;
}

static size_t number(struct apart *apart, size_t size)
{
	size_t value = 0;

	if (!there(apart, size))
		return 0;
	for (size_t end = apart->at + size; apart->at < end; apart->at++)
		value = value * 256 + apart->body[apart->at];
	return value;
}

/* From its last byte to its first. */
static size_t varint(struct apart *apart)
{
	size_t digits = 1, value = 0, least = 1;

	if (!there(apart, 1))
		return 0;
	while (apart->body[apart->at + digits - 1] >= 128) {
		digits++;
		least *= 128;
		if (digits > 4 || !there(apart, digits)) {
			apart->malformed = true;
			return 0;
		}
	}
	for (size_t i = digits; i > 0; i--)
		value = value * 128 + apart->body[apart->at + i - 1] % 128;
	if (digits > 1 && value < least)
		apart->malformed = true;
	apart->at += digits;
	return apart->malformed ? 0 : value;
}

/* Returns where it begins. */
static size_t bytes(struct apart *apart, size_t *size)
{
	*size = number(apart, 2);
	if (!there(apart, *size)) {
		*size = 0;
		return 0;
	}
	apart->at += *size;
	return apart->at - *size;
}

static size_t text(struct apart *apart, size_t *size)
{
	const size_t at = bytes(apart, size);

	if (!apart->malformed && !model_text_valid(apart->body + at, *size))
		apart->malformed = true;
	return at;
}

/* Of which type, where (a letter for each type below), of what value: p. 2.2.2.2, and the sections
 * of the properties. b: 0 or 1; 1, 2, 4: a number of that many bytes, in capitals, B D: not 0;
 * v: a variable byte integer, not 0; t: a text; n: a topic name; x: bytes; u: two texts. */
static const char packets[] = " CkPaaaaSsUu  DAW";
static const struct {
	const char *kind;
	const char *in;
	bool passed_on;
} known[43] = {
	[0x01] = {"b", "PW", true},          [0x02] = {"4", "PW", false},
	[0x03] = {"t", "PW", true},          [0x08] = {"n", "PW", true},
	[0x09] = {"x", "PW", true},          [0x0b] = {"v", "PS", false},
	[0x11] = {"4", "CkD", false},        [0x12] = {"t", "k", false},
	[0x13] = {"2", "k", false},          [0x15] = {"t", "CkA", false},
	[0x16] = {"x", "CkA", false},        [0x17] = {"b", "C", false},
	[0x18] = {"4", "W", false},          [0x19] = {"b", "C", false},
	[0x1a] = {"t", "k", false},          [0x1c] = {"t", "kD", false},
	[0x1f] = {"t", "kasuDA", false},     [0x21] = {"B", "Ck", false},
	[0x22] = {"2", "Ck", false},         [0x23] = {"B", "P", false},
	[0x24] = {"b", "k", false},          [0x25] = {"b", "k", false},
	[0x26] = {"u", "CkPaSsUuDAW", true}, [0x27] = {"D", "Ck", false},
	[0x28] = {"b", "k", false},          [0x29] = {"b", "k", false},
	[0x2a] = {"b", "k", false},
};

struct property {
	size_t value;
	size_t at;
	size_t size;
};

/* What stands behind an identifier. */
static struct property value_of(struct apart *apart, char kind)
{
	struct property property = {0};
	size_t size;

	switch (kind) {
	case 'b':
		property.value = number(apart, 1);
		apart->forbidden |= property.value > 1;
		break;
	case '2':
	case 'B':
		property.value = number(apart, 2);
		break;
	case '4':
	case 'D':
		property.value = number(apart, 4);
		break;
	case 'v':
		property.value = varint(apart);
		break;
	case 'x':
		property.at = bytes(apart, &property.size);
		break;
	default:
		property.at = text(apart, &property.size);
		if (kind == 'u')
			text(apart, &size);
		break;
	}
	apart->forbidden |= strchr("BDv", kind) != NULL && property.value == 0;
	apart->forbidden |=
		kind == 'n' && !model_topic_valid(apart->body + property.at, property.size);
	return property;
}

struct said model5_properties(unsigned int where, const unsigned char *body, size_t size,
                              unsigned char *forward, size_t *forward_size)
{
	struct apart apart = {.body = body, .size = size};
	struct property found[43] = {0};
	size_t times[43] = {0};
	struct said said = {0};

	*forward_size = 0;
	while (apart.at < size && !apart.malformed) {
		const size_t begin = apart.at, id = body[apart.at++];

		if (id > 42 || known[id].kind == NULL ||
		    strchr(known[id].in, packets[where]) == NULL || packets[where] == ' ') {
			apart.malformed = true;
			break;
		}
		times[id]++;
		found[id] = value_of(&apart, known[id].kind[0]);
		if (known[id].passed_on && !apart.malformed)
			for (size_t i = begin; i < apart.at; i++)
				forward[(*forward_size)++] = body[i];
	}
	for (size_t id = 0; id < 43; id++)
		if (times[id] > 1 && id != 0x26 && !(id == 0x0b && where == 3))
			apart.forbidden = true;
	if (times[0x16] > 0 && times[0x15] == 0)
		apart.forbidden = true;
	said.status = verdict(&apart);
	if (said.status != 0)
		return said;
	for (size_t id = 0; id < 43; id++)
		if (times[id] > 0)
			said.present[id / 32] += (size_t)1 << id % 32;
	said.session_expiry = found[0x11].value;
	said.message_expiry = times[0x02] == 0 ? 4294967295 : found[0x02].value;
	if (times[0x02] > 0 && found[0x02].value == 4294967295)
		said.message_expiry = 4294967294;
	said.will_delay = found[0x18].value;
	said.packet_max = times[0x27] == 0 ? 4294967295 : found[0x27].value;
	said.subscription_id = found[0x0b].value;
	said.receive_max = times[0x21] == 0 ? 65535 : found[0x21].value;
	said.alias_max = found[0x22].value;
	said.alias = found[0x23].value;
	said.problem = times[0x17] == 0 ? 1 : found[0x17].value;
	said.response = found[0x19].value;
	said.method_at = found[0x15].at;
	said.method_size = found[0x15].size;
	return said;
}

/* The properties at this place of a packet; `*at`, `*size`: where they lie. */
static struct said properties(struct apart *apart, unsigned int where, size_t *at, size_t *size)
{
	static unsigned char forward[65536];
	struct said said = {0};
	size_t forward_size;

	*size = varint(apart);
	*at = apart->at;
	if (!there(apart, *size)) {
		*size = 0;
		return said;
	}
	said = model5_properties(where, apart->body + apart->at, *size, forward, &forward_size);
	said.method_at += *at;
	apart->at += *size;
	apart->malformed |= said.status == -EPROTO;
	apart->forbidden |= said.status == -EBADMSG;
	return said;
}

struct decoded model5_connect(const unsigned char *body, size_t size, size_t at)
{
	struct apart apart = {.body = body, .size = size, .at = at};
	struct decoded decoded = {.version = 5};
	const size_t flags = number(&apart, 1);
	size_t properties_at, properties_size;
	struct said said;

	decoded.number = number(&apart, 2);
	decoded.flag = flags / 2 % 2;
	said = properties(&apart, 1, &properties_at, &properties_size);
	decoded.expiry = said.session_expiry;
	decoded.alias = said.alias_max;
	decoded.receive_max = said.receive_max;
	decoded.packet_max = said.packet_max;
	decoded.problem = said.problem;
	decoded.method_at = said.present[0] >> 0x15 & 1 ? said.method_at : 0;
	decoded.method_size = said.method_size;
	decoded.text_at = text(&apart, &decoded.text_size);
	if (flags / 4 % 2 == 1) {
		said = properties(&apart, 16, &decoded.will_properties_at,
		                  &decoded.will_properties_size);
		decoded.will_expiry = said.message_expiry;
		decoded.will_delay = said.will_delay;
		decoded.will_at = text(&apart, &decoded.will_size);
		decoded.will_payload_at = bytes(&apart, &decoded.will_payload_size);
		decoded.will_qos = flags / 8 % 4;
		decoded.will_retain = flags / 32 % 2;
		apart.invalid |= !model_topic_valid(body + decoded.will_at, decoded.will_size);
	}
	if (flags / 128 == 1)
		decoded.user_at = text(&apart, &decoded.user_size);
	if (flags / 64 % 2 == 1)
		decoded.password_at = bytes(&apart, &decoded.password_size);
	/* As with 3.1.1, but for a password without a user name. */
	apart.malformed |= flags % 2 == 1 || flags / 8 % 4 == 3;
	apart.malformed |= flags / 4 % 2 == 0 && flags / 8 % 8 != 0;
	decoded.status = verdict(&apart);
	return decoded;
}

static void publish(struct apart *apart, unsigned int flags, struct decoded *decoded)
{
	struct said said;

	decoded->text_at = text(apart, &decoded->text_size);
	decoded->qos = flags / 2 % 4;
	decoded->flag = flags % 2;
	decoded->duplicate = flags >= 8;
	if (decoded->qos > 0) {
		decoded->number = number(apart, 2);
		apart->forbidden |= decoded->number == 0;
	}
	said = properties(apart, 3, &decoded->properties_at, &decoded->properties_size);
	decoded->expiry = said.message_expiry;
	decoded->alias = said.alias;
	apart->forbidden |= said.subscription_id != 0;
	apart->forbidden |= decoded->text_size == 0 && said.alias == 0;
	apart->invalid |= decoded->text_size > 0 &&
	                  !model_topic_valid(apart->body + decoded->text_at, decoded->text_size);
	decoded->rest_at = apart->at;
	decoded->rest_size = apart->size - apart->at;
	apart->at = apart->size;
}

/* "$share/": behind it a name of one character at least, without wildcards, and a filter. */
static bool share_valid(const unsigned char *filter, size_t size)
{
	size_t at = 7;

	while (at < size && filter[at] != '/')
		at++;
	return at > 7 && at + 1 < size && model_topic_valid(filter + 7, at - 7) &&
	       model_filter_valid(filter + at + 1, size - at - 1);
}

static void filters(struct apart *apart, unsigned int type, struct decoded *decoded)
{
	size_t at, size, options;
	struct said said;

	decoded->number = number(apart, 2);
	apart->forbidden |= decoded->number == 0;
	said = properties(apart, type, &at, &size);
	decoded->subscription_id = said.subscription_id;
	decoded->offset = apart->at;
	for (; apart->at < apart->size && !apart->malformed; decoded->count++) {
		bool shared;

		at = text(apart, &size);
		shared = size >= 7 && memcmp(apart->body + at, "$share/", 7) == 0;
		apart->invalid |= !model_filter_valid(apart->body + at, size);
		apart->invalid |= shared && !share_valid(apart->body + at, size);
		options = type == 8 ? number(apart, 1) : 0;
		apart->malformed |= options >= 64;
		apart->forbidden |= options % 4 == 3 || options / 16 == 3;
		apart->forbidden |=
			shared && share_valid(apart->body + at, size) && options / 4 % 2 == 1;
	}
	apart->forbidden |= decoded->count == 0;
}

/* A reason, if there is more; properties, if there is still more. */
static struct said reason(struct apart *apart, unsigned int type, const char *allowed, size_t count,
                          struct decoded *decoded)
{
	struct said said = {0};
	size_t at, size;

	if (apart->at < apart->size) {
		decoded->reason = number(apart, 1);
		apart->forbidden |= memchr(allowed, (int)decoded->reason, count) == NULL;
		if (apart->at < apart->size || type == 15)
			said = properties(apart, type, &at, &size);
	}
	return said;
}

#define ALLOWED(literal) literal, sizeof(literal) - 1

struct decoded model5_body(unsigned int first_byte, const unsigned char *body, size_t size)
{
	const unsigned int type = first_byte / 16;
	struct apart apart = {.body = body, .size = size};
	struct decoded decoded = {0};
	struct said said;

	if (type == 3) {
		publish(&apart, first_byte % 16, &decoded);
	} else if (type == 8 || type == 10) {
		filters(&apart, type, &decoded);
	} else if (type >= 4 && type <= 7) {
		decoded.number = number(&apart, 2);
		apart.forbidden |= decoded.number == 0;
		if (type <= 5)
			reason(&apart, type, ALLOWED("\x00\x80\x83\x87\x90\x91\x97\x99"), &decoded);
		else
			reason(&apart, type, ALLOWED("\x00\x92"), &decoded);
	} else if (type == 14) {
		said = reason(&apart, type,
		              ALLOWED("\x00\x04\x80\x81\x82\x83\x90\x93\x94\x95\x96\x97\x98\x99"),
		              &decoded);
		decoded.expiry = said.session_expiry;
		decoded.expiry_given = said.present[0] >> 0x11 & 1;
	} else if (type == 15) {
		said = reason(&apart, type, ALLOWED("\x18\x19"), &decoded);
		decoded.method_at = said.method_at;
		decoded.method_size = said.method_size;
		apart.forbidden |= (said.present[0] >> 0x15 & 1) == 0;
	} else {
		apart.malformed = true; /* no client sends that */
	}
	decoded.status = verdict(&apart);
	return decoded;
}
