/* SPDX-License-Identifier: MIT */
/*
 * What no client may send. Each is one packet, or a beginning of one, behind a good CONNECT (or in
 * place of it); the connection is closed at once, without an answer, and nobody else notices.
 */
#include "client.h"

static void malformed(const char *hex, bool connected)
{
	struct client *bystander = join("bystander clean");
	struct client *client = connected ? join("bad clean") : open_client("bad");

	say_hex(client, hex);
	expect_closed(client);
	ping(bystander);
	join("bad clean");
}

#define MALFORMED(...) MALFORMED_WITH(__VA_ARGS__, .next = NULL)
#define MALFORMED_WITH(name, hex, ...)                                                             \
	STORY_WITH(malformed_##name, __VA_ARGS__)                                                  \
	{                                                                                          \
		malformed(hex, true);                                                              \
	}
#define MALFORMED_FIRST(name, hex)                                                                 \
	STORY(malformed_first_##name)                                                              \
	{                                                                                          \
		malformed(hex, false);                                                             \
	}

/* ---- types and flags, 2.2.1 and 2.2.2 ---- */
MALFORMED(type_0, "00 00")
MALFORMED(type_15, "f0 00")
MALFORMED(connack, "20 02 00 00")
MALFORMED(suback, "90 03 00 01 00", .mosquitto = "takes it")
MALFORMED(unsuback, "b0 02 00 01", .mosquitto = "takes it")
MALFORMED(pingresp, "d0 00", .mosquitto = "takes it")
MALFORMED(second_connect, "10 0d 00 04 'MQTT' 04 02 00 3c 00 01 'm'")
MALFORMED(publish_qos_3, "36 06 00 01 't' 00 01 'x'")
MALFORMED(publish_dup_qos_0, "38 04 00 01 't' 'x'", .mosquitto = "takes it")
MALFORMED(puback_flags, "42 02 00 01", .mosquitto = "looks at PUBREL's flags alone")
MALFORMED(pubrec_flags, "51 02 00 01", .mosquitto = "looks at PUBREL's flags alone")
MALFORMED(pubrel_flags_0, "60 02 00 01")
MALFORMED(pubrel_flags_3, "63 02 00 01")
MALFORMED(pubcomp_flags, "72 02 00 01", .mosquitto = "looks at PUBREL's flags alone")
MALFORMED(subscribe_flags_0, "80 06 00 01 00 01 't' 00")
MALFORMED(subscribe_flags_3, "83 06 00 01 00 01 't' 00")
MALFORMED(unsubscribe_flags, "a0 05 00 01 00 01 't'")
MALFORMED(pingreq_flags, "c1 00", .mosquitto = "looks at the type alone")
MALFORMED(disconnect_flags, "e1 00")

/* ---- remaining length, 2.2.3 ---- */
MALFORMED(length_of_5_bytes, "30 80 80 80 80 01")
MALFORMED(length_overlong_0, "c0 80 00", .mosquitto = "takes an overlong length")
MALFORMED(length_overlong_4, "30 84 00 00 01 't' 'x'", .mosquitto = "takes an overlong length")
MALFORMED(length_overlong_4_bytes, "c0 80 80 80 00", .mosquitto = "takes an overlong length")
MALFORMED(puback_short, "40 01 00")
MALFORMED(puback_long, "40 03 00 01 00", .mosquitto = "takes the first two bytes")
MALFORMED(pubrel_short, "62 01 00")
MALFORMED(pingreq_body, "c0 01 00", .mosquitto = "looks at the type alone")
MALFORMED(disconnect_body, "e0 01 00")
MALFORMED(publish_empty, "30 00")
MALFORMED(publish_name_too_long, "30 04 00 09 't' 'x'")
MALFORMED(publish_without_id, "32 03 00 01 't'")
MALFORMED(subscribe_without_qos, "82 05 00 01 00 01 't'")
MALFORMED(subscribe_cut_second_filter, "82 08 00 01 00 01 't' 00 00 05")
MALFORMED(unsubscribe_trailing_byte, "a2 06 00 01 00 01 't' 00")

/* ---- packet ids, 2.3.1 ---- */
MALFORMED(publish_id_0_qos_1, "32 06 00 01 't' 00 00 'x'")
MALFORMED(publish_id_0_qos_2, "34 06 00 01 't' 00 00 'x'")
MALFORMED(subscribe_id_0, "82 06 00 00 00 01 't' 00")
MALFORMED(unsubscribe_id_0, "a2 05 00 00 00 01 't'")
MALFORMED(puback_id_0, "40 02 00 00")
MALFORMED(pubrec_id_0, "50 02 00 00")
MALFORMED(pubrel_id_0, "62 02 00 00")
MALFORMED(pubcomp_id_0, "70 02 00 00")

/* ---- SUBSCRIBE and UNSUBSCRIBE, 3.8.3 and 3.10.3 ---- */
MALFORMED(subscribe_nothing, "82 02 00 01")
MALFORMED(unsubscribe_nothing, "a2 02 00 01")
MALFORMED(subscribe_qos_3, "82 06 00 01 00 01 't' 03")
MALFORMED(subscribe_reserved_bits, "82 06 00 01 00 01 't' 04")
MALFORMED(subscribe_reserved_bit_7, "82 06 00 01 00 01 't' 80")
MALFORMED(subscribe_empty_filter, "82 05 00 01 00 00 00")
MALFORMED(unsubscribe_empty_filter, "a2 04 00 01 00 00")
MALFORMED(filter_hash_not_last, "82 08 00 01 00 03 '#/a' 00")
MALFORMED(filter_hash_behind_text, "82 07 00 01 00 02 'a#' 00")
MALFORMED(filter_plus_behind_text, "82 07 00 01 00 02 'a+' 00")
MALFORMED(filter_plus_before_text, "82 07 00 01 00 02 '+a' 00")
MALFORMED(filter_plus_inside, "82 09 00 01 00 04 'a/+b' 00")
MALFORMED(filter_bad_behind_good, "82 0a 00 01 00 01 't' 00 00 01 ff 00")

/* ---- topic names, 3.3.2 and 4.7 ---- */
MALFORMED(publish_to_hash, "30 04 00 01 '#' 'x'")
MALFORMED(publish_to_plus, "30 04 00 01 '+' 'x'")
MALFORMED(publish_to_plus_inside, "30 06 00 03 't/+' 'x'")
MALFORMED(publish_to_plus_in_word, "30 05 00 02 't+' 'x'")
MALFORMED(publish_to_nothing, "30 03 00 00 'x'")

/* ---- UTF-8, 1.5.3 ---- */
MALFORMED(utf8_nul, "30 05 00 02 't' 00 'x'")
MALFORMED(utf8_surrogate_low, "30 06 00 03 ed a0 80 'x'")
MALFORMED(utf8_surrogate_high, "30 06 00 03 ed bf bf 'x'")
MALFORMED(utf8_surrogate_pair, "30 09 00 06 ed a0 80 ed b0 80 'x'")
MALFORMED(utf8_overlong_nul, "30 05 00 02 c0 80 'x'")
MALFORMED(utf8_overlong_2, "30 05 00 02 c1 bf 'x'")
MALFORMED(utf8_overlong_3, "30 06 00 03 e0 9f bf 'x'")
MALFORMED(utf8_overlong_4, "30 07 00 04 f0 8f bf bf 'x'")
MALFORMED(utf8_above_10ffff, "30 07 00 04 f4 90 80 80 'x'")
MALFORMED(utf8_five_bytes, "30 08 00 05 f8 88 80 80 80 'x'")
MALFORMED(utf8_continuation_alone, "30 04 00 01 80 'x'")
MALFORMED(utf8_cut, "30 05 00 02 't' c3 'x'")
MALFORMED(utf8_cut_3, "30 05 00 02 e2 82 'x'")
MALFORMED(utf8_in_filter, "82 07 00 01 00 02 c0 80 00")
MALFORMED(utf8_in_unsubscribe, "a2 07 00 01 00 03 ed a0 80")
MALFORMED_FIRST(utf8_in_client_id, "10 0e 00 04 'MQTT' 04 02 00 3c 00 02 c0 80")
MALFORMED_FIRST(nul_in_client_id, "10 0e 00 04 'MQTT' 04 02 00 3c 00 02 'a' 00")
MALFORMED_FIRST(utf8_in_will_topic, "10 13 00 04 'MQTT' 04 06 00 3c 00 01 'c' 00 02 c0 80 00 00")
MALFORMED_FIRST(utf8_in_user_name, "10 11 00 04 'MQTT' 04 82 00 3c 00 01 'c' 00 02 c0 80")

/* ---- CONNECT, 3.1 ---- */
MALFORMED_FIRST(http, "'GET / HTTP/1.1' 0d 0a 'Host: localhost' 0d 0a 0d 0a")
MALFORMED_FIRST(publish, "30 04 00 01 't' 'x'")
MALFORMED_FIRST(subscribe, "82 06 00 01 00 01 't' 00")
MALFORMED_FIRST(pingreq, "c0 00")
MALFORMED_FIRST(pubrel, "62 02 00 01")
MALFORMED_FIRST(disconnect, "e0 00")
MALFORMED_FIRST(connect_flags, "11 0d 00 04 'MQTT' 04 02 00 3c 00 01 'c'")
MALFORMED_FIRST(connect_reserved_bit, "10 0d 00 04 'MQTT' 04 03 00 3c 00 01 'c'")
MALFORMED_FIRST(will_qos_without_will, "10 0d 00 04 'MQTT' 04 0a 00 3c 00 01 'c'")
MALFORMED_FIRST(will_retain_without_will, "10 0d 00 04 'MQTT' 04 22 00 3c 00 01 'c'")
MALFORMED_FIRST(will_qos_3, "10 12 00 04 'MQTT' 04 1e 00 3c 00 01 'c' 00 01 'w' 00 00")
MALFORMED_FIRST(will_to_wildcard, "10 12 00 04 'MQTT' 04 06 00 3c 00 01 'c' 00 01 '#' 00 00")
MALFORMED_FIRST(will_to_nothing, "10 11 00 04 'MQTT' 04 06 00 3c 00 01 'c' 00 00 00 00")
MALFORMED_FIRST(will_missing, "10 0d 00 04 'MQTT' 04 06 00 3c 00 01 'c'")
MALFORMED_FIRST(password_without_user, "10 10 00 04 'MQTT' 04 42 00 3c 00 01 'c' 00 01 'p'")
MALFORMED_FIRST(user_missing, "10 0d 00 04 'MQTT' 04 82 00 3c 00 01 'c'")
MALFORMED_FIRST(password_missing, "10 10 00 04 'MQTT' 04 c2 00 3c 00 01 'c' 00 01 'u'")
MALFORMED_FIRST(connect_trailing_bytes, "10 0f 00 04 'MQTT' 04 02 00 3c 00 01 'c' 00 00")
MALFORMED_FIRST(connect_cut, "10 0a 00 04 'MQTT' 04 02 00 3c")
MALFORMED_FIRST(connect_empty, "10 00")
MALFORMED_FIRST(length_of_5_bytes, "10 ff ff ff ff 01")

/* ---- what is well formed, though it looks strange ---- */

STORY(strange_byte_order_mark_is_a_character)
{
	struct client *client = join("a clean");

	subscribe(client, "+:0 \xef\xbb\xbft:0");
	unsubscribe(client, "+");
	publish(client, 1, "t plain");
	publish(client, 0, "\xef\xbb\xbft marked");
	expect(client, "PUBLISH q0 \xef\xbb\xbft marked");
}

STORY(strange_names_are_delivered)
{
	struct client *client = join("a clean");

	subscribe(client, "#:0");
	publish(client, 0, "// slashes");
	expect(client, "PUBLISH q0 // slashes");
	publish(client, 0, "\xf0\x9f\x8e\xb5/\xe2\x82\xac/\xc3\xa9 music");
	expect(client, "PUBLISH q0 \xf0\x9f\x8e\xb5/\xe2\x82\xac/\xc3\xa9 music");
}

STORY(strange_acknowledgements_of_nothing_are_harmless)
{
	struct client *client = join("a clean");

	say(client, "PUBACK 77");
	say(client, "PUBCOMP 79");
	say(client, "PUBREL 80");
	expect(client, "PUBCOMP 80");
	ping(client);
}
