/* SPDX-License-Identifier: MIT */
/* CONNECT of MQTT 5: what CONNACK says, who is refused and by which code, how it is closed. */
#include "client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server.h"

STORY(five_is_welcome, .mosquitto = "has other limits")
{
	struct client *client;

	start_server("");
	client = open_client("a");
	say_hex(client, "10 0e 00 04 'MQTT' 05 02 00 3c 00 00 01 'a'");
	/* Maximum packet size 1M, topic alias maximum 10: all else is as the standard has it. */
	expect(client, "CONNACK 0 0 8 39 0 16 0 0 34 0 10");
	ping(client);
}
