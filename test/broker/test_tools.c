/* SPDX-License-Identifier: MIT */
/* Real clients, as people have them: mosquitto_pub and mosquitto_sub, MQTT.js. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server.h"
#include "story.h"

/* Runs a command with the story's name behind it; what it prints is why it has failed. */
static void run(const char *command)
{
	char line[512], said[2048] = "", port[16];
	FILE *output;
	size_t size;
	int status;

	snprintf(line, sizeof(line), "%s %s", command, story_name());
	snprintf(port, sizeof(port), "%u", server_port());
	setenv("PORT", port, 1);
	output = popen(line, "r");
	if (output == NULL)
		story_fail("cannot run %s", command);
	size = fread(said, 1, sizeof(said) - 1, output);
	said[size] = '\0';
	status = pclose(output);
	if (status != 0)
		story_fail("status %d: %s", WEXITSTATUS(status), said);
}

#define TOOLS(name)                                                                                \
	STORY(tools_##name, .timeout = 30)                                                         \
	{                                                                                          \
		story_here(__FILE__, __LINE__);                                                    \
		run("test/broker/tools.sh");                                                       \
	}

TOOLS(qos)
TOOLS(many_lines)
TOOLS(retained)
TOOLS(will)
TOOLS(session)
TOOLS(large)
TOOLS(five)
TOOLS(five_session)
TOOLS(five_will)

/* The others' topics are not to be seen there: a broker of its own. */
STORY(tools_sys, .timeout = 40)
{
	start_server(server_is_mosquitto() ? "" : "--stats-interval 1");
	story_here(__FILE__, __LINE__);
	run("test/broker/tools.sh");
}

STORY(tools_mqtt_js, .timeout = 30)
{
	static const char modules[] = "build/mqttjs/node_modules";

	if (system("node --version >/dev/null 2>&1") != 0)
		story_skip("there is no node");
	if (access("build/mqttjs/node_modules/mqtt/package.json", R_OK) != 0)
		story_skip("MQTT.js is not in %s", modules);
	setenv("NODE_PATH", modules, 1);
	story_here(__FILE__, __LINE__);
	run("node test/broker/tools.js");
}
