/* SPDX-License-Identifier: MIT */
/* The stories' own words for packets of MQTT 5 (packet.h): they need no broker. */
#include <stdio.h>
#include <string.h>

#include "packet.h"
#include "story.h"

/* Words with the bytes that they stand for: what a client of version 5 says. */
static const struct {
	const char *words;
	const char *hex;
} said[] = {
	{"CONNECT ^me v5 clean alive=10", "10 0f 00 04 'MQTT' 05 02 00 0a 00 00 02 'me'"},
	{"CONNECT ^me level=5 expiry=258 receive=5 alias-max=6 packet-max=7 problem=0 "
         "ask-response=1",
         "10 23 00 04 'MQTT' 05 00 00 3c 14 11 00 00 01 02 21 00 05 22 00 06 27 00 00 00 07 17 00"
         " 19 01 00 02 'me'"},
	{"CONNECT ^me v5 method=m data=\\x00d user:k=v",
         "10 1f 00 04 'MQTT' 05 00 00 3c 10 15 00 01 'm' 16 00 02 00 'd' 26 00 01 'k' 00 01 'v'"
         " 00 02 'me'"},
	{"CONNECT ^me v5 will=^w message=x wq=1 wr will-delay=3 will-expiry=4 will-user:a=",
         "10 26 00 04 'MQTT' 05 2c 00 3c 00 00 02 'me' 10 18 00 00 00 03 02 00 00 00 04"
         " 26 00 01 'a' 00 00 00 01 'w' 00 01 'x'"},
	{"PUBLISH q0 ^t hello you", "30 0d 00 01 't' 00 'hello you'"},
	{"PUBLISH dup retain q1 id7 alias=5 ^ x", "3b 09 00 00 00 07 03 23 00 05 'x'"},
	{"PUBLISH q0 format=1 expiry=9 type=a response=b correlation=c sid=128 ^t x",
         "30 1b 00 01 't' 16 01 01 02 00 00 00 09 03 00 01 'a' 08 00 01 'b' 09 00 01 'c' 0b 80 01"
         " 'x'"},
	{"PUBLISH q0 raw=\\x0b\\x00 ^t x", "30 07 00 01 't' 02 0b 00 'x'"},
	{"SUBSCRIBE 1 ^a:1", "82 07 00 01 00 00 01 'a' 01"},
	{"SUBSCRIBE 1 sid=5 ^a:1,nl,rap,rh2 ^b:2,0x40",
         "82 0d 00 01 02 0b 05 00 01 'a' 2d 00 01 'b' 42"},
	{"SUBSCRIBE 1 $share/g/a:0", "82 36 00 01 00 00 30 '$share/g/"
                                     "words_are_said_as_the_bytes_of_mqtt_5/a' 00"},
	{"UNSUBSCRIBE 2 user:a=b ^a", "a2 0d 00 02 07 26 00 01 'a' 00 01 'b' 00 01 'a'"},
	{"PUBACK 7", "40 02 00 07"},
	{"PUBREC 7 0x97", "50 03 00 07 97"},
	{"PUBREL 7 0x92 text=no", "62 09 00 07 92 05 1f 00 02 'no'"},
	{"PUBCOMP 7 text=no", "70 09 00 07 00 05 1f 00 02 'no'"},
	{"DISCONNECT", "e0 00"},
	{"DISCONNECT 4", "e0 01 04"},
	{"DISCONNECT 4 expiry=9", "e0 07 04 05 11 00 00 00 09"},
	{"AUTH 0x18 method=m", "f0 06 18 04 15 00 01 'm'"},
	{"PINGREQ", "c0 00"},
};

STORY(words_are_said_as_the_bytes_of_mqtt_5)
{
	for (size_t i = 0; i < sizeof(said) / sizeof(*said); i++) {
		unsigned char got[256], wanted[256];
		const size_t size = packet_encode_hex(said[i].hex, wanted, sizeof(wanted));
		unsigned int version = 5;

		check(packet_encode(&version, said[i].words, got, sizeof(got)) == size &&
		              memcmp(got, wanted, size) == 0 && version == 5,
		      "%s", said[i].words);
	}
}

/* What a broker of version 5 may send, and some that it must not. */
static const struct {
	const char *hex;
	const char *words;
} told[] = {
	{"20 03 00 00 00", "CONNACK 0 0"},
	{"20 06 01 00 03 21 00 14", "CONNACK 1 0 receive=20"},
	{"20 03 00 87 00", "CONNACK 0 0x87"},
	{"20 11 00 00 0e 12 00 02 'id' 13 00 0a 24 01 25 00 2a 00",
         "CONNACK 0 0 assigned=id alive=10"
         " qos-max=1 retains=0 shared=0"},
	{"20 14 00 00 11 11 00 00 00 05 22 00 06 27 00 00 00 07 28 00 29 00",
         "CONNACK 0 0 expiry=5 alias-max=6 packet-max=7 wildcards=0 sids=0"},
	{"30 06 00 01 't' 00 'hi'", "PUBLISH q0 t hi"},
	{"3d 0a 00 00 00 07 03 23 00 05 'hi'", "PUBLISH dup retain q2 id7 alias=5 ^ hi"},
	{"32 18 00 01 't' 00 07 10 0b 01 0b 80 01 01 01 26 00 01 'k' 00 03 'a b' 'hi'",
         "PUBLISH q1 id7 sid=1 sid=128 format=1 user:k=a_b t hi"},
	{"30 09 00 01 't' 05 09 00 02 00 ff", "PUBLISH q0 correlation=\\x00\\xff t"},
	{"40 02 00 07", "PUBACK 7"},
	{"40 03 00 07 10", "PUBACK 7 16"},
	{"50 04 00 07 97 00", "PUBREC 7 0x97"},
	{"70 09 00 07 92 05 1f 00 02 'no'", "PUBCOMP 7 0x92 text=no"},
	{"90 05 00 01 00 02 8f", "SUBACK 1 2 0x8f"},
	{"90 0a 00 01 05 1f 00 02 'no' 00 80", "SUBACK 1 0 0x80 text=no"},
	{"b0 05 00 02 00 00 11", "UNSUBACK 2 0 17"},
	{"d0 00", "PINGRESP"},
	{"e0 00", "DISCONNECT"},
	{"e0 01 8e", "DISCONNECT 0x8e"},
	{"e0 07 9c 05 1c 00 02 'xy'", "DISCONNECT 0x9c server=xy"},
	{"f0 06 18 04 15 00 01 'm'", "AUTH 24 method=m"},
	{"e0 07 8e 05 11 00 00 00 05", "DISCONNECT 0x8e expiry=5"},
	{"30 06 00 01 't' 02 11 00", "PUBLISH q0 forbidden:expiry=0 t truncated"},
	{"20 09 00 00 06 21 00 01 21 00 01", "CONNACK 0 0 receive=1 again:receive=1"},
	{"20 05 00 00 02 07 00", "CONNACK 0 0 unknown:0x7"},
	{"20 02 00 00", "CONNACK 0 0"},
	{"20 04 00 00 80 00", "CONNACK 0 0 truncated"},
	{"30 04 00 01 't' 09", "PUBLISH q0 t truncated"},
	{"41 02 00 07", "PUBACK flags=1 7"},
	{"c0 02 01 02", "PINGREQ 258"},
};

STORY(words_tell_the_bytes_of_mqtt_5)
{
	for (size_t i = 0; i < sizeof(told) / sizeof(*told); i++) {
		unsigned char bytes[256];
		const size_t size = packet_encode_hex(told[i].hex, bytes, sizeof(bytes));
		char words[PACKET_WORDS_MAX];

		check(packet_size(bytes, size) == size, "%s: the length", told[i].hex);
		packet_describe(5, bytes, size, words);
		check(strcmp(words, told[i].words) == 0, "%s: %s", told[i].words, words);
	}
}

/* An encoder that forgets the version would tell a client of 3.1.1 in the words of 5. */
STORY(words_of_3_1_1_have_no_properties)
{
	unsigned char bytes[256];
	unsigned int version = 0;
	char words[PACKET_WORDS_MAX];
	size_t size = packet_encode(&version, "CONNECT ^me clean", bytes, sizeof(bytes));

	check(version == 4 && size == 16, "a CONNECT of %zu bytes", size);
	size = packet_encode(&version, "PUBLISH q0 ^t x", bytes, sizeof(bytes));
	check(size == 6, "a PUBLISH of %zu bytes", size);
	packet_describe(version, bytes, size, words);
	check(strcmp(words, "PUBLISH q0 t x") == 0, "%s", words);
	size = packet_encode_hex("90 05 00 01 00 02 80", bytes, sizeof(bytes));
	packet_describe(version, bytes, size, words);
	check(strcmp(words, "SUBACK 1 0 2 128") == 0, "%s", words);
}
