/* SPDX-License-Identifier: MIT */
/* The command line; `--help` is its documentation. */
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "payload.h"

static const char usage[] =
	"load: loads an MQTT 3.1.1 broker and checks what comes out of it\n"
	"\n"
	"  --host ADDRESS         of the broker, a number (127.0.0.1)\n"
	"  --port PORT            (1883)\n"
	"  -p, --publishers N     connections that publish (1)\n"
	"  -s, --subscribers N    connections that subscribe (1)\n"
	"  -t, --topics N         topic i is that of publisher i modulo publishers; with fewer\n"
	"                         topics, of each whose number modulo topics is i; likewise\n"
	"                         of subscribers (1)\n"
	"  -q, --qos N            of both publications and subscriptions (0)\n"
	"  --publish-qos N, --subscribe-qos N\n"
	"  --payload BYTES        28 to 1048576 (64)\n"
	"  --rate N               messages per second of all publishers; 0: flat out (0)\n"
	"  --window N             QoS 1 and 2: packets a publisher has under way. Flat out, at\n"
	"                         any QoS, also how far it may be ahead of the slowest\n"
	"                         subscriber (100)\n"
	"  --idle N               further connections that do nothing (0)\n"
	"  --ramp N               connections per second; 0: 64 at a time (0)\n"
	"  --persistent           connect with clean session 0\n"
	"  --seconds S            to measure for (3)\n"
	"  --warm-up S            to publish before that (0.5)\n"
	"  --timeout S            without any progress, then give up (5)\n"
	"  --wait S               for the broker to accept its first connection (0)\n"
	"  --pid PID              the broker's: its CPU time and memory are reported\n"
	"  --json                 one line of JSON in place of the text\n"
	"  --label TEXT           goes into the JSON\n"
	"  --selftest             checks the generator itself; no broker is needed\n"
	"  --help\n"
	"\n"
	"Exit status: 0 all went well; 1 messages were lost, doubled, out of order or altered;\n"
	"2 bad command line; 3 the broker refused, closed a connection or fell silent; 4 the\n"
	"broker does not support the QoS; 5 the generator's own trouble.\n"
	"\n"
	"  load -p 50 -s 50 -t 50 -q 1 --pid $(pidof mosquitto)\n"
	"  load --rate 5000 --seconds 10\n";

enum {
	OPTION_HOST = 256,
	OPTION_PORT,
	OPTION_PUBLISH_QOS,
	OPTION_SUBSCRIBE_QOS,
	OPTION_PAYLOAD,
	OPTION_RATE,
	OPTION_WINDOW,
	OPTION_IDLE,
	OPTION_RAMP,
	OPTION_PERSISTENT,
	OPTION_SECONDS,
	OPTION_WARM_UP,
	OPTION_TIMEOUT,
	OPTION_WAIT,
	OPTION_PID,
	OPTION_JSON,
	OPTION_LABEL,
	OPTION_SELFTEST,
	OPTION_HELP,
};

static const struct option long_options[] = {
	{"host", required_argument, NULL, OPTION_HOST},
	{"port", required_argument, NULL, OPTION_PORT},
	{"publishers", required_argument, NULL, 'p'},
	{"subscribers", required_argument, NULL, 's'},
	{"topics", required_argument, NULL, 't'},
	{"qos", required_argument, NULL, 'q'},
	{"publish-qos", required_argument, NULL, OPTION_PUBLISH_QOS},
	{"subscribe-qos", required_argument, NULL, OPTION_SUBSCRIBE_QOS},
	{"payload", required_argument, NULL, OPTION_PAYLOAD},
	{"rate", required_argument, NULL, OPTION_RATE},
	{"window", required_argument, NULL, OPTION_WINDOW},
	{"idle", required_argument, NULL, OPTION_IDLE},
	{"ramp", required_argument, NULL, OPTION_RAMP},
	{"persistent", no_argument, NULL, OPTION_PERSISTENT},
	{"seconds", required_argument, NULL, OPTION_SECONDS},
	{"warm-up", required_argument, NULL, OPTION_WARM_UP},
	{"timeout", required_argument, NULL, OPTION_TIMEOUT},
	{"wait", required_argument, NULL, OPTION_WAIT},
	{"pid", required_argument, NULL, OPTION_PID},
	{"json", no_argument, NULL, OPTION_JSON},
	{"label", required_argument, NULL, OPTION_LABEL},
	{"selftest", no_argument, NULL, OPTION_SELFTEST},
	{"help", no_argument, NULL, OPTION_HELP},
	{NULL, 0, NULL, 0},
};

/* A whole number, or -1. */
static long long whole(const char *text, long long least, long long most)
{
	char *end;
	long long number;

	errno = 0;
	number = strtoll(text, &end, 10);
	if (end == text || *end != '\0' || errno != 0 || number < least || number > most)
		return -1;
	return number;
}

static bool set_number(unsigned int *number, const char *text, long long least, long long most)
{
	const long long value = whole(text, least, most);

	*number = value < 0 ? 0 : (unsigned int)value;
	return value >= 0;
}

static bool set_seconds(double *seconds, const char *text, double least)
{
	char *end;

	*seconds = strtod(text, &end);
	return end != text && *end == '\0' && *seconds >= least && *seconds <= 86400;
}

static bool parse_number(struct options *options, int option, const char *value)
{
	switch (option) {
	case OPTION_PORT:
		return set_number(&options->port, value, 1, 65535);
	case 'p':
		return set_number(&options->publishers, value, 0, 100000);
	case 's':
		return set_number(&options->subscribers, value, 0, 100000);
	case 't':
		return set_number(&options->topics, value, 1, 100000);
	case 'q':
		return set_number(&options->publish_qos, value, 0, 2) &&
		       set_number(&options->subscribe_qos, value, 0, 2);
	case OPTION_PUBLISH_QOS:
		return set_number(&options->publish_qos, value, 0, 2);
	case OPTION_SUBSCRIBE_QOS:
		return set_number(&options->subscribe_qos, value, 0, 2);
	case OPTION_PAYLOAD:
		return set_number(&options->payload, value, PAYLOAD_MIN, PAYLOAD_MAX);
	case OPTION_RATE:
		return set_number(&options->rate, value, 0, 10000000);
	case OPTION_WINDOW:
		return set_number(&options->window, value, 1, 65535);
	case OPTION_IDLE:
		return set_number(&options->idle, value, 0, 1000000);
	default:
		return set_number(&options->ramp, value, 0, 1000000);
	}
}

static bool parse_option(struct options *options, int option, const char *value)
{
	switch (option) {
	case OPTION_HOST:
		options->host = value;
		return true;
	case OPTION_LABEL:
		options->label = value;
		return value[strcspn(value, "\"\\")] == '\0';
	case OPTION_PERSISTENT:
		options->persistent = true;
		return true;
	case OPTION_JSON:
		options->json = true;
		return true;
	case OPTION_SECONDS:
		return set_seconds(&options->seconds, value, 0.01);
	case OPTION_WARM_UP:
		return set_seconds(&options->warm_up, value, 0);
	case OPTION_TIMEOUT:
		return set_seconds(&options->timeout, value, 0.1);
	case OPTION_WAIT:
		return set_seconds(&options->wait, value, 0);
	case OPTION_PID:
		options->pid = (pid_t)whole(value, 1, 1 << 30);
		return options->pid > 0;
	default:
		return parse_number(options, option, value);
	}
}

static int complain(const char *text)
{
	fprintf(stderr, "load: %s; see --help\n", text);
	return 2;
}

static int check(const struct options *options)
{
	if (options->publishers + options->subscribers + options->idle == 0)
		return complain("no connection of any kind is asked for");
	if (options->publishers > 0 && options->subscribers == 0)
		return complain("publishers need a subscriber: nothing else bounds them");
	return -1;
}

int options_parse(struct options *options, bool *selftest, int argc, char **argv)
{
	int option, index = 0;

	*options = (struct options){
		.host = "127.0.0.1",
		.label = "",
		.port = 1883,
		.publishers = 1,
		.subscribers = 1,
		.topics = 1,
		.payload = 64,
		.window = 100,
		.seconds = 3,
		.warm_up = 0.5,
		.timeout = 5,
	};
	*selftest = false;
	while ((option = getopt_long(argc, argv, "p:s:t:q:", long_options, &index)) != -1) {
		if (option == OPTION_HELP) {
			fputs(usage, stdout);
			return 0;
		}
		if (option == '?')
			return 2;
		if (option == OPTION_SELFTEST) {
			*selftest = true;
		} else if (!parse_option(options, option, optarg)) {
			fprintf(stderr, "load: %s: bad value; see --help\n", optarg);
			return 2;
		}
	}
	if (optind < argc)
		return complain("an argument that is no option");
	return check(options);
}
