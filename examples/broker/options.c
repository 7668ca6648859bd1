/* SPDX-License-Identifier: MIT */
/* The command line; `--help` is its documentation. */
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "broker.h"
#include "session.h"

static const char usage[] =
	"broker: an MQTT 3.1.1 broker, the example of the baton library\n"
	"\n"
	"  --host HOST           where to listen (127.0.0.1)\n"
	"  --port PORT           0: any free one; it is printed (1883)\n"
	"  --threads N           I/O threads (2)\n"
	"  --workers N           threads of the pool; 0: as many as CPUs (0)\n"
	"  --max-packet BYTES    a larger packet ends its connection (1M)\n"
	"  --max-buffered BYTES  that may wait for one subscriber; beyond, QoS 0 is dropped\n"
	"                        and a subscriber of QoS 1 disconnected (64M)\n"
	"  --max-inflight N      QoS 1 messages on their way to one subscriber (100)\n"
	"  --stats               print a table at the end\n"
	"  --help\n"
	"\n"
	"BYTES may end in K, M or G. SIGINT and SIGTERM end the broker.\n"
	"\n"
	"  broker --port 1883 --stats &\n"
	"  mosquitto_sub -p 1883 -v -t 'news/#' &\n"
	"  mosquitto_pub -p 1883 -t news/today -m 'hello'\n";

static const struct option long_options[] = {
	{"host", required_argument, NULL, 'h'},
	{"port", required_argument, NULL, 'p'},
	{"threads", required_argument, NULL, 't'},
	{"workers", required_argument, NULL, 'w'},
	{"max-packet", required_argument, NULL, 'm'},
	{"max-buffered", required_argument, NULL, 'b'},
	{"max-inflight", required_argument, NULL, 'i'},
	{"stats", no_argument, NULL, 's'},
	{"help", no_argument, NULL, 'H'},
	{NULL, 0, NULL, 0},
};

/* A number with an optional K, M or G behind it, from `least` to `most`. */
static bool parse_number(const char *text, unsigned long long least, unsigned long long most,
                         unsigned long long *number)
{
	static const char suffixes[] = "KMG";
	char *end;
	const char *suffix;
	unsigned int shift = 0;

	errno = 0;
	*number = strtoull(text, &end, 10);
	if (text[0] < '0' || text[0] > '9' || errno != 0)
		return false;
	if (*end != '\0') {
		suffix = strchr(suffixes, *end);
		if (suffix == NULL || end[1] != '\0')
			return false;
		shift = 10 * (unsigned int)(suffix - suffixes + 1);
		if (*number > most >> shift)
			return false;
		*number <<= shift;
	}
	return *number >= least && *number <= most;
}

static bool parse_option(struct broker_options *options, int option, const char *value)
{
	unsigned long long number = 0;
	bool good = true;

	switch (option) {
	case 'h':
		options->host = value;
		break;
	case 'p':
		good = parse_number(value, 0, 65535, &number);
		options->port = (unsigned int)number;
		break;
	case 't':
		good = parse_number(value, 1, 256, &number);
		options->threads = (unsigned int)number;
		break;
	case 'w':
		good = parse_number(value, 0, BATON_POOL_WORKERS_MAX, &number);
		options->workers = (unsigned int)number;
		break;
	case 'm': /* the largest packet that the protocol has, and a header */
		good = parse_number(value, 64, 268435455 + 5, &number);
		options->packet_max = (size_t)number;
		break;
	case 'b':
		good = parse_number(value, 1024, 1ULL << 40, &number);
		options->buffered_max = (size_t)number;
		break;
	case 'i':
		good = parse_number(value, 1, SESSION_WINDOW_MAX, &number);
		options->window = (unsigned int)number;
		break;
	default:
		options->stats = true;
		break;
	}
	return good;
}

int options_parse(struct broker_options *options, int argc, char **argv)
{
	int option, index = 0;

	*options = (struct broker_options){
		.host = "127.0.0.1",
		.port = 1883,
		.threads = 2,
		.window = 100,
		.packet_max = (size_t)1 << 20,
		.buffered_max = (size_t)64 << 20,
	};
	opterr = 0;
	while ((option = getopt_long(argc, argv, "", long_options, &index)) != -1) {
		if (option == 'H') {
			fputs(usage, stdout);
			return 0;
		}
		if (option == '?') {
			fprintf(stderr, "broker: %s: unknown, or without its value; see --help\n",
			        argv[optind - 1]);
			return 2;
		}
		if (!parse_option(options, option, optarg)) {
			fprintf(stderr, "broker: --%s: bad value '%s'; see --help\n",
			        long_options[index].name, optarg);
			return 2;
		}
	}
	if (optind < argc) {
		fprintf(stderr, "broker: unexpected '%s'; see --help\n", argv[optind]);
		return 2;
	}
	return -1;
}
