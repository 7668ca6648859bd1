/* SPDX-License-Identifier: MIT */
/* The properties of MQTT 5; see properties.h. Section numbers are those of MQTT 5. */
#include "mqtt/properties.h"

#include <errno.h>
#include <string.h>

#include "mqtt/codec.h"
#include "mqtt/cursor.h"

/* 1.5; no property is of kind 0. */
enum kind {
	KIND_BYTE = 1,
	KIND_U16,
	KIND_U32,
	KIND_VARINT,
	KIND_TEXT,
	KIND_TOPIC, /* a text that is a topic name */
	KIND_BINARY,
	KIND_PAIR,
};

struct rule {
	uint8_t kind;
	bool passed_on; /* from a PUBLISH or a will to subscribers, as it came */
	uint32_t where; /* bits: the packets where it may stand */
	uint32_t often; /* bits: those of them where it may stand more than once */
	uint32_t least; /* of a number */
	uint32_t most;
};

#define IN(packet) (1U << CODEC_##packet)
#define WILL (1U << PROPERTIES_OF_WILL)
#define MESSAGE (IN(PUBLISH) | WILL)
#define ACKS (IN(PUBACK) | IN(PUBREC) | IN(PUBREL) | IN(PUBCOMP) | IN(SUBACK) | IN(UNSUBACK))
#define ANSWERS (IN(CONNACK) | ACKS | IN(DISCONNECT) | IN(AUTH))
#define ANY (ANSWERS | MESSAGE | IN(CONNECT) | IN(SUBSCRIBE) | IN(UNSUBSCRIBE))

#define NUMBER(kind, where, least, most)                                                           \
	{                                                                                          \
		KIND_##kind, false, where, 0, least, most                                          \
	}
#define BOOLEAN(where) NUMBER(BYTE, where, 0, 1)
#define U16(where, least) NUMBER(U16, where, least, UINT16_MAX)
#define U32(where, least) NUMBER(U32, where, least, UINT32_MAX)
#define TEXT(where)                                                                                \
	{                                                                                          \
		KIND_TEXT, false, where, 0, 0, 0                                                   \
	}

/* Table 2-4; values: the property's own section, in 3.1.2.11 to 3.15.2.2. */
static const struct rule rules[PROPERTY_LAST + 1] = {
	[PROPERTY_PAYLOAD_FORMAT] = {KIND_BYTE, true, MESSAGE, 0, 0, 1},
	[PROPERTY_MESSAGE_EXPIRY] = U32(MESSAGE, 0),
	[PROPERTY_CONTENT_TYPE] = {KIND_TEXT, true, MESSAGE, 0, 0, 0},
	[PROPERTY_RESPONSE_TOPIC] = {KIND_TOPIC, true, MESSAGE, 0, 0, 0},
	[PROPERTY_CORRELATION_DATA] = {KIND_BINARY, true, MESSAGE, 0, 0, 0},
	[PROPERTY_SUBSCRIPTION_ID] = {KIND_VARINT, false, IN(PUBLISH) | IN(SUBSCRIBE), IN(PUBLISH),
                                      1, UINT32_MAX},
	[PROPERTY_SESSION_EXPIRY] = U32(IN(CONNECT) | IN(CONNACK) | IN(DISCONNECT), 0),
	[PROPERTY_ASSIGNED_CLIENT_ID] = TEXT(IN(CONNACK)),
	[PROPERTY_SERVER_KEEP_ALIVE] = U16(IN(CONNACK), 0),
	[PROPERTY_AUTH_METHOD] = TEXT(IN(CONNECT) | IN(CONNACK) | IN(AUTH)),
	[PROPERTY_AUTH_DATA] = {KIND_BINARY, false, IN(CONNECT) | IN(CONNACK) | IN(AUTH), 0, 0, 0},
	[PROPERTY_REQUEST_PROBLEM] = BOOLEAN(IN(CONNECT)),
	[PROPERTY_WILL_DELAY] = U32(WILL, 0),
	[PROPERTY_REQUEST_RESPONSE] = BOOLEAN(IN(CONNECT)),
	[PROPERTY_RESPONSE_INFORMATION] = TEXT(IN(CONNACK)),
	[PROPERTY_SERVER_REFERENCE] = TEXT(IN(CONNACK) | IN(DISCONNECT)),
	[PROPERTY_REASON_STRING] = TEXT(ANSWERS),
	[PROPERTY_RECEIVE_MAXIMUM] = U16(IN(CONNECT) | IN(CONNACK), 1),
	[PROPERTY_ALIAS_MAXIMUM] = U16(IN(CONNECT) | IN(CONNACK), 0),
	[PROPERTY_ALIAS] = U16(IN(PUBLISH), 1),
	[PROPERTY_MAXIMUM_QOS] = BOOLEAN(IN(CONNACK)),
	[PROPERTY_RETAIN_AVAILABLE] = BOOLEAN(IN(CONNACK)),
	[PROPERTY_USER] = {KIND_PAIR, true, ANY, ANY, 0, 0},
	[PROPERTY_MAXIMUM_PACKET_SIZE] = U32(IN(CONNECT) | IN(CONNACK), 1),
	[PROPERTY_WILDCARDS_AVAILABLE] = BOOLEAN(IN(CONNACK)),
	[PROPERTY_SUBSCRIPTION_IDS_AVAILABLE] = BOOLEAN(IN(CONNACK)),
	[PROPERTY_SHARED_AVAILABLE] = BOOLEAN(IN(CONNACK)),
};

struct item {
	uint32_t property;
	uint32_t number;
	struct slice text; /* of a user property: its name */
};

/* The identifier, and the rule of that property; NULL: there is no such property. */
static const struct rule *take_rule(struct cursor *cursor, struct item *item)
{
	item->property = cursor_varint(cursor);
	if (item->property > PROPERTY_LAST || rules[item->property].kind == 0)
		cursor->bad = true;
	return cursor->bad ? NULL : &rules[item->property];
}

static void take_value(struct cursor *cursor, const struct rule *rule, struct item *item)
{
	switch ((enum kind)rule->kind) {
	case KIND_BYTE:
		item->number = cursor_u8(cursor);
		break;
	case KIND_U16:
		item->number = cursor_u16(cursor);
		break;
	case KIND_U32:
		item->number = cursor_u32(cursor);
		break;
	case KIND_VARINT:
		item->number = cursor_varint(cursor);
		break;
	case KIND_TEXT:
	case KIND_TOPIC:
		item->text = cursor_string(cursor);
		break;
	case KIND_BINARY:
		item->text = cursor_binary(cursor);
		break;
	case KIND_PAIR:
		item->text = cursor_string(cursor);
		cursor_string(cursor);
		break;
	}
}

static bool value_allowed(const struct rule *rule, const struct item *item)
{
	if (rule->kind <= KIND_VARINT)
		return item->number >= rule->least && item->number <= rule->most;
	return rule->kind != KIND_TOPIC || names_topic_valid(item->text);
}

static void remember(struct properties *properties, const struct item *item)
{
	switch (item->property) {
	case PROPERTY_MESSAGE_EXPIRY:
		properties->message_expiry = item->number - (item->number == PROPERTIES_NEVER);
		break;
	case PROPERTY_SUBSCRIPTION_ID:
		properties->subscription_id = item->number;
		break;
	case PROPERTY_SESSION_EXPIRY:
		properties->session_expiry = item->number;
		break;
	case PROPERTY_AUTH_METHOD:
		properties->auth_method = item->text;
		break;
	case PROPERTY_REQUEST_PROBLEM:
		properties->request_problem = item->number != 0;
		break;
	case PROPERTY_WILL_DELAY:
		properties->will_delay = item->number;
		break;
	case PROPERTY_REQUEST_RESPONSE:
		properties->request_response = item->number != 0;
		break;
	case PROPERTY_RECEIVE_MAXIMUM:
		properties->receive_max = (uint16_t)item->number;
		break;
	case PROPERTY_ALIAS_MAXIMUM:
		properties->alias_max = (uint16_t)item->number;
		break;
	case PROPERTY_ALIAS:
		properties->alias = (uint16_t)item->number;
		break;
	case PROPERTY_MAXIMUM_PACKET_SIZE:
		properties->packet_max = item->number;
		break;
	default:
		break; /* it is passed on, or ignored */
	}
}

int properties_decode(struct slice bytes, unsigned int where, struct properties *properties)
{
	struct cursor cursor = {(const unsigned char *)bytes.bytes, bytes.size, false, 0};

	*properties = (struct properties){
		.bytes = bytes,
		.message_expiry = PROPERTIES_NEVER,
		.packet_max = UINT32_MAX,
		.receive_max = UINT16_MAX,
		.request_problem = true,
	};
	while (cursor.left > 0) {
		struct item item = {0};
		const struct rule *rule = take_rule(&cursor, &item);

		if (rule == NULL || (rule->where >> where & 1) == 0)
			return -EPROTO;
		take_value(&cursor, rule, &item);
		if (cursor.bad)
			return -EPROTO;
		if ((properties->present >> item.property & 1) != 0 &&
		    (rule->often >> where & 1) == 0)
			cursor_refuse(&cursor, -EBADMSG);
		if (!value_allowed(rule, &item))
			cursor_refuse(&cursor, -EBADMSG);
		properties->present |= (uint64_t)1 << item.property;
		remember(properties, &item);
	}
	/* 3.1.2.11.10: no data for a method that nobody has named. */
	if ((properties->present >> PROPERTY_AUTH_DATA & 1) != 0 &&
	    properties->auth_method.bytes == NULL)
		cursor_refuse(&cursor, -EBADMSG);
	return cursor.refused;
}

size_t properties_forward(unsigned char *out, struct slice bytes)
{
	struct cursor cursor = {(const unsigned char *)bytes.bytes, bytes.size, false, 0};
	size_t at = 0;

	while (cursor.left > 0) {
		const unsigned char *begin = cursor.at;
		struct item item = {0};
		const struct rule *rule = take_rule(&cursor, &item);

		if (rule == NULL)
			break;
		take_value(&cursor, rule, &item);
		if (rule->passed_on && !cursor.bad) {
			memcpy(out + at, begin, (size_t)(cursor.at - begin));
			at += (size_t)(cursor.at - begin);
		}
	}
	return at;
}

size_t properties_varint_size(uint32_t value)
{
	return value < 1U << 7 ? 1 : value < 1U << 14 ? 2 : value < 1U << 21 ? 3 : 4;
}

size_t properties_put_varint(unsigned char *out, uint32_t value)
{
	size_t at = 0;

	do {
		out[at++] = (unsigned char)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
		value >>= 7;
	} while (value > 0);
	return at;
}

size_t properties_put_byte(unsigned char *out, enum property property, uint8_t value)
{
	out[0] = (unsigned char)property;
	out[1] = value;
	return 2;
}

size_t properties_put_u16(unsigned char *out, enum property property, uint16_t value)
{
	out[0] = (unsigned char)property;
	return 1 + codec_put_u16(out + 1, value);
}

size_t properties_put_u32(unsigned char *out, enum property property, uint32_t value)
{
	out[0] = (unsigned char)property;
	codec_put_u16(out + 1, (uint16_t)(value >> 16));
	codec_put_u16(out + 3, (uint16_t)value);
	return 5;
}

size_t properties_put_id(unsigned char *out, uint32_t subscription_id)
{
	out[0] = PROPERTY_SUBSCRIPTION_ID;
	return 1 + properties_put_varint(out + 1, subscription_id);
}

size_t properties_put_text(unsigned char *out, enum property property, struct slice text)
{
	out[0] = (unsigned char)property;
	return 1 + codec_put_string(out + 1, text);
}
