/* SPDX-License-Identifier: MIT */
/* The decoding half of codec.h. Section numbers are those of MQTT 5. */
#include "mqtt/codec.h"

#include <errno.h>

#include "mqtt/cursor.h"
#include "mqtt/reason.h"

/* 2.1.3: of each type of a client's packets, bits: the flags that it may have. */
static const uint16_t
	flags_of[16] =
		{
			[CODEC_CONNECT] = 1 << 0,
			[CODEC_PUBLISH] = 0x3c3f, /* 3.3.1: no QoS 3, no duplicate of QoS 0 */
			[CODEC_PUBACK] = 1 << 0,
			[CODEC_PUBREC] = 1 << 0,
			[CODEC_PUBREL] = 1 << 2,
			[CODEC_PUBCOMP] = 1 << 0,
			[CODEC_SUBSCRIBE] = 1 << 2,
			[CODEC_UNSUBSCRIBE] = 1 << 2,
			[CODEC_PINGREQ] = 1 << 0,
			[CODEC_DISCONNECT] = 1 << 0,
			[CODEC_AUTH] = 1 << 0,
};

int codec_frame(const unsigned char *bytes, size_t size, size_t size_max, struct codec_frame *frame)
{
	size_t remaining = 0, at = 1;

	frame->size = 0;
	if (size == 0)
		return 0;
	if ((flags_of[bytes[0] >> 4] >> (bytes[0] & 0x0f) & 1) == 0)
		return -EPROTO;
	for (unsigned int shift = 0;; shift += 7) {
		if (shift > 21)
			return -EPROTO;
		if (at >= size)
			return 0;
		remaining |= (size_t)(bytes[at] & 0x7f) << shift;
		if (bytes[at] == 0 && shift > 0)
			return -EPROTO; /* an overlong encoding */
		if ((bytes[at++] & 0x80) == 0)
			break;
	}
	if (at + remaining > size_max)
		return -EMSGSIZE;
	frame->type = (uint8_t)(bytes[0] >> 4);
	frame->flags = (uint8_t)(bytes[0] & 0x0f);
	frame->body = bytes + at;
	frame->body_size = remaining;
	frame->size = at + remaining;
	return size >= frame->size;
}

static struct cursor cursor_over(const struct codec_frame *frame)
{
	return (struct cursor){frame->body, frame->body_size, false, 0};
}

/* At the end of a packet: 0, or its error. Bytes behind the last field are an error. */
static int cursor_end(struct cursor *cursor, enum codec_version version)
{
	if (cursor->left != 0)
		cursor->bad = true;
	if (version == CODEC_311 && cursor->refused != 0)
		return -EPROTO;
	return cursor_status(cursor);
}

/* 2.2.1 */
static uint16_t cursor_packet_id(struct cursor *cursor)
{
	const uint16_t packet_id = cursor_u16(cursor);

	if (packet_id == 0)
		cursor_refuse(cursor, -EBADMSG);
	return packet_id;
}

/* 2.2.2: the properties, with their length; none if `there` is false. */
static void cursor_properties(struct cursor *cursor, unsigned int where, bool there,
                              struct properties *properties)
{
	struct slice bytes = {NULL, 0};
	int status;

	if (there)
		bytes = cursor_slice(cursor, cursor_varint(cursor));
	status = properties_decode(bytes, where, properties);
	if (status == -EPROTO)
		cursor->bad = true;
	else if (status != 0)
		cursor_refuse(cursor, status);
}

enum connect_flag {
	CONNECT_RESERVED = 0x01,
	CONNECT_CLEAN = 0x02,
	CONNECT_WILL = 0x04,
	CONNECT_WILL_QOS = 0x18,
	CONNECT_WILL_RETAIN = 0x20,
	CONNECT_PASSWORD = 0x40,
	CONNECT_USER_NAME = 0x80,
};

/* 3.1.2.3; with 3.1.1 a password needs a user name. */
static bool connect_flags_valid(uint8_t flags, enum codec_version version)
{
	if ((flags & CONNECT_RESERVED) != 0 || (flags & CONNECT_WILL_QOS) == CONNECT_WILL_QOS)
		return false;
	if ((flags & CONNECT_WILL) == 0 && (flags & (CONNECT_WILL_QOS | CONNECT_WILL_RETAIN)) != 0)
		return false;
	return version == CODEC_5 ||
	       (flags & (CONNECT_USER_NAME | CONNECT_PASSWORD)) != CONNECT_PASSWORD;
}

/* 3.1.3.2 to 3.1.3.4: the will has a topic name; its message is any bytes. */
static void cursor_will(struct cursor *cursor, uint8_t flags, struct codec_connect *connect)
{
	struct codec_publish *will = &connect->will;
	struct properties properties;

	cursor_properties(cursor, PROPERTIES_OF_WILL, connect->version == CODEC_5, &properties);
	connect->will_delay = properties.will_delay;
	will->properties = properties.bytes;
	will->expiry = properties.message_expiry;
	will->topic = cursor_string(cursor);
	will->payload = cursor_binary(cursor);
	will->qos = (uint8_t)((flags & CONNECT_WILL_QOS) >> 3);
	will->retain = (flags & CONNECT_WILL_RETAIN) != 0;
	if (!cursor->bad && !names_topic_valid(will->topic))
		cursor_refuse(cursor, -EINVAL);
}

/* 3.1.2.11; what 3.1.1 says by its clean session. */
static void cursor_terms(struct cursor *cursor, struct codec_connect *connect)
{
	struct properties properties;

	cursor_properties(cursor, CODEC_CONNECT, connect->version == CODEC_5, &properties);
	connect->session_expiry = properties.session_expiry;
	if (connect->version == CODEC_311 && !connect->clean)
		connect->session_expiry = PROPERTIES_NEVER;
	connect->receive_max = properties.receive_max;
	connect->alias_max = properties.alias_max;
	connect->packet_max = properties.packet_max;
	connect->request_problem = properties.request_problem;
	connect->auth_method = properties.auth_method;
}

int codec_connect(const struct codec_frame *frame, struct codec_connect *connect)
{
	struct cursor cursor = cursor_over(frame);
	const struct slice name = cursor_string(&cursor);
	const uint8_t level = cursor_u8(&cursor);
	uint8_t flags;

	*connect = (struct codec_connect){0};
	if (cursor.bad)
		return -EPROTO;
	if (!names_equal(name, (struct slice){"MQTT", 4}))
		return -EPFNOSUPPORT;
	if (level != CODEC_311 && level != CODEC_5)
		return -EPROTONOSUPPORT;
	connect->version = (enum codec_version)level;
	flags = cursor_u8(&cursor);
	if (!connect_flags_valid(flags, connect->version))
		return -EPROTO;
	connect->clean = (flags & CONNECT_CLEAN) != 0;
	connect->keep_alive = cursor_u16(&cursor);
	cursor_terms(&cursor, connect);
	connect->client_id = cursor_string(&cursor);
	if ((flags & CONNECT_WILL) != 0)
		cursor_will(&cursor, flags, connect);
	if ((flags & CONNECT_USER_NAME) != 0)
		connect->user_name = cursor_string(&cursor);
	if ((flags & CONNECT_PASSWORD) != 0)
		connect->password = cursor_binary(&cursor);
	return cursor_end(&cursor, connect->version);
}

/* 3.3.2: the topic is a name, or has no bytes beside an alias; ids are of subscribers alone. */
static void cursor_publish5(struct cursor *cursor, struct codec_publish *publish)
{
	struct properties properties;

	if (publish->topic.size > 0 && names_wildcard(publish->topic))
		cursor_refuse(cursor, -EINVAL);
	cursor_properties(cursor, CODEC_PUBLISH, true, &properties);
	publish->properties = properties.bytes;
	publish->expiry = properties.message_expiry;
	publish->alias = properties.alias;
	if ((properties.present >> PROPERTY_SUBSCRIPTION_ID & 1) != 0)
		cursor_refuse(cursor, -EBADMSG);
	if (publish->topic.size == 0 && properties.alias == 0)
		cursor_refuse(cursor, -EBADMSG);
}

int codec_publish(const struct codec_frame *frame, enum codec_version version,
                  struct codec_publish *publish)
{
	struct cursor cursor = cursor_over(frame);

	publish->duplicate = (frame->flags & 0x08) != 0;
	publish->qos = (frame->flags >> 1) & 3;
	publish->retain = (frame->flags & 0x01) != 0;
	publish->topic = cursor_string(&cursor);
	publish->packet_id = publish->qos > 0 ? cursor_packet_id(&cursor) : 0;
	publish->properties = (struct slice){NULL, 0};
	publish->expiry = PROPERTIES_NEVER;
	publish->alias = 0;
	if (cursor.bad)
		return -EPROTO;
	if (version == CODEC_5)
		cursor_publish5(&cursor, publish);
	else if (!names_topic_valid(publish->topic))
		cursor.bad = true;
	publish->payload = (struct slice){(const char *)cursor.at, cursor.left};
	cursor.left = 0;
	return cursor_end(&cursor, version);
}

enum filter_option {
	FILTER_QOS = 0x03,
	FILTER_NO_LOCAL = 0x04,
	FILTER_RETAIN_AS_PUBLISHED = 0x08,
	FILTER_RETAIN_HANDLING = 0x30,
	FILTER_RESERVED = 0xc0,
};

/* 3.8.3.1, 4.8.2 */
static void cursor_options(struct cursor *cursor, enum codec_version version, bool shared)
{
	const uint8_t options = cursor_u8(cursor);

	if (version == CODEC_311 && options > 2)
		cursor->bad = true;
	if ((options & FILTER_RESERVED) != 0)
		cursor->bad = true;
	if ((options & FILTER_QOS) == FILTER_QOS ||
	    (options & FILTER_RETAIN_HANDLING) == FILTER_RETAIN_HANDLING ||
	    (shared && (options & FILTER_NO_LOCAL) != 0))
		cursor_refuse(cursor, -EBADMSG);
}

int codec_filters(const struct codec_frame *frame, enum codec_version version,
                  struct codec_filters *filters)
{
	struct cursor cursor = cursor_over(frame);
	struct properties properties;

	filters->packet_id = cursor_packet_id(&cursor);
	cursor_properties(&cursor, frame->type, version == CODEC_5, &properties);
	filters->subscription_id = properties.subscription_id;
	filters->offset = (size_t)(cursor.at - frame->body);
	for (filters->count = 0; !cursor.bad && cursor.left > 0; filters->count++) {
		const struct slice name = cursor_string(&cursor);
		struct slice group, shared = {NULL, 0};

		if (cursor.bad)
			break;
		if (!names_filter_valid(name) ||
		    (version == CODEC_5 && !names_share(name, &group, &shared)))
			cursor_refuse(&cursor, -EINVAL);
		if (frame->type == CODEC_SUBSCRIBE)
			cursor_options(&cursor, version, shared.bytes != NULL);
	}
	if (filters->count == 0)
		cursor_refuse(&cursor, -EBADMSG);
	return cursor_end(&cursor, version);
}

struct codec_filter codec_filter_next(const struct codec_frame *frame, size_t *offset)
{
	struct cursor cursor = cursor_over(frame);
	struct codec_filter filter;
	uint8_t options;

	cursor_take(&cursor, *offset);
	filter.name = cursor_binary(&cursor);
	options = frame->type == CODEC_SUBSCRIBE ? cursor_u8(&cursor) : 0;
	filter.qos = options & FILTER_QOS;
	filter.no_local = (options & FILTER_NO_LOCAL) != 0;
	filter.retain_as_published = (options & FILTER_RETAIN_AS_PUBLISHED) != 0;
	filter.retain_handling = (uint8_t)((options & FILTER_RETAIN_HANDLING) >> 4);
	*offset = (size_t)(cursor.at - frame->body);
	return filter;
}

/* 3.4.2.1, 3.5.2.1, 3.6.2.1, 3.7.2.1: the reasons that a client may have. */
static bool ack_reason_valid(uint8_t type, uint8_t reason)
{
	switch (reason) {
	case REASON_SUCCESS:
		return true;
	case REASON_PACKET_ID_NOT_FOUND:
		return type == CODEC_PUBREL || type == CODEC_PUBCOMP;
	case REASON_UNSPECIFIED:
	case REASON_IMPLEMENTATION:
	case REASON_NOT_AUTHORIZED:
	case REASON_TOPIC_INVALID:
	case REASON_PACKET_ID_IN_USE:
	case REASON_QUOTA:
	case REASON_PAYLOAD_FORMAT:
		return type == CODEC_PUBACK || type == CODEC_PUBREC;
	default:
		return false;
	}
}

int codec_ack(const struct codec_frame *frame, enum codec_version version, uint16_t *packet_id,
              uint8_t *reason)
{
	struct cursor cursor = cursor_over(frame);
	struct properties properties;

	*packet_id = cursor_packet_id(&cursor);
	*reason = REASON_SUCCESS;
	if (version == CODEC_5 && cursor.left > 0) {
		*reason = cursor_u8(&cursor);
		if (!ack_reason_valid(frame->type, *reason))
			cursor_refuse(&cursor, -EBADMSG);
		cursor_properties(&cursor, frame->type, cursor.left > 0, &properties);
	}
	return cursor_end(&cursor, version);
}

/* 3.14.2.1: the reasons that a client may have. */
static bool disconnect_reason_valid(uint8_t reason)
{
	switch (reason) {
	case REASON_SUCCESS:
	case REASON_DISCONNECT_WITH_WILL:
	case REASON_UNSPECIFIED:
	case REASON_MALFORMED:
	case REASON_PROTOCOL_ERROR:
	case REASON_IMPLEMENTATION:
	case REASON_TOPIC_INVALID:
	case REASON_RECEIVE_MAXIMUM:
	case REASON_ALIAS_INVALID:
	case REASON_PACKET_TOO_LARGE:
	case REASON_RATE_TOO_HIGH:
	case REASON_QUOTA:
	case REASON_ADMINISTRATIVE:
	case REASON_PAYLOAD_FORMAT:
		return true;
	default:
		return false;
	}
}

int codec_disconnect(const struct codec_frame *frame, enum codec_version version,
                     struct codec_disconnect *disconnect)
{
	struct cursor cursor = cursor_over(frame);
	struct properties properties;

	*disconnect = (struct codec_disconnect){0};
	if (version == CODEC_5 && cursor.left > 0) {
		disconnect->reason = cursor_u8(&cursor);
		if (!disconnect_reason_valid(disconnect->reason))
			cursor_refuse(&cursor, -EBADMSG);
		cursor_properties(&cursor, CODEC_DISCONNECT, cursor.left > 0, &properties);
		disconnect->session_expiry = properties.session_expiry;
		disconnect->expiry_given = (properties.present >> PROPERTY_SESSION_EXPIRY & 1) != 0;
	}
	return cursor_end(&cursor, version);
}

/* 3.15.2: without bytes it has reason 0, which is the broker's alone. */
int codec_auth(const struct codec_frame *frame, uint8_t *reason, struct slice *method)
{
	struct cursor cursor = cursor_over(frame);
	const bool there = cursor.left > 0;
	struct properties properties;

	*reason = there ? cursor_u8(&cursor) : 0;
	if (*reason != REASON_CONTINUE && *reason != REASON_AGAIN)
		cursor_refuse(&cursor, -EBADMSG);
	cursor_properties(&cursor, CODEC_AUTH, there, &properties);
	*method = properties.auth_method;
	if (method->bytes == NULL)
		cursor_refuse(&cursor, -EBADMSG);
	return cursor_end(&cursor, CODEC_5);
}

int codec_empty(const struct codec_frame *frame)
{
	return frame->body_size != 0 ? -EPROTO : 0;
}
