/* SPDX-License-Identifier: MIT */
/* The command line; `--help` is its documentation. */
#include "common/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <baton/pool.h>

#include "common/log.h"
#include "common/must.h"
#include "mqtt/names.h"

/* In parts, since a compiler need not support longer strings. */
static const char usage_first[] =
	"broker: an MQTT 3.1.1 broker, the example of the baton library\n"
	"\n"
	"Network\n"
	"  --host HOST             where to listen: all addresses that it has (127.0.0.1)\n"
	"  --port PORT             0: any free one; it is printed (1883; with TLS 8883)\n"
	"  --tls-cert FILE         certificate and chain, PEM: connections speak TLS\n"
	"  --tls-key FILE          its private key, PEM\n"
	"  --tls-port PORT         those to this port do, those to --port do not\n"
	"  --connect-timeout S     to send a CONNECT, TLS included (10)\n"
	"  --packet-timeout S      to finish a packet that was begun (60)\n"
	"  --stuck-timeout S       to take some of what waits to be written (60)\n"
	"  --stop-timeout S        to take the rest of it when the broker ends (2)\n"
	"\n"
	"Who may do what\n"
	"  --password-file FILE    lines `user:hash`, the hash as crypt(3) has it\n"
	"  --allow-anonymous       also who gives no user name. Without a password file\n"
	"                          everybody may, if the host is this one alone\n"
	"  --max-logins N          passwords that wait to be checked; beyond, of the address with\n"
	"                          the most the newest is refused (1000)\n"
	"  --deny-subscribe FILTER nobody may subscribe to it, or to a filter that it covers\n"
	"                          (but who may subscribe to `#` gets what lies there); may be\n"
	"                          given again\n"
	"\n";

static const char usage_limits[] =
	"Limits\n"
	"  --max-packet BYTES      a larger packet ends its connection (1M)\n"
	"  --max-connect BYTES     a larger CONNECT ends its connection (80K)\n"
	"  --max-strangers BYTES   of memory for what clients have sent that were not let in yet,\n"
	"                          all together; beyond, the one with the most is disconnected\n"
	"                          (16M)\n"
	"  --max-buffered BYTES    of memory for what one subscriber's socket does not take (a\n"
	"                          small message takes some 300); beyond, QoS 0 is dropped,\n"
	"                          and QoS 1 and 2 wait (4M)\n"
	"  --max-queued N          messages that wait for one client, also while it is away;\n"
	"                          beyond, they are dropped (10000). What is retained when it\n"
	"                          subscribes counts in bytes alone\n"
	"  --max-queued-bytes BYTES\n"
	"                          the same, in bytes of memory (64M)\n"
	"  --max-queued-total BYTES\n"
	"                          the same of all clients together, about (1G)\n"
	"  --queue-qos0            QoS 0, too, waits for a client that is away\n"
	"  --max-sessions N        with clean session 0; beyond, new ones are refused (100000)\n"
	"  --session-expiry S      for how long such a session waits for its client to come\n"
	"                          back; 0: for ever (0)\n"
	"  --max-filters N         subscriptions of one client; beyond, SUBACK refuses them\n"
	"                          (10000)\n"
	"  --max-filter-bytes BYTES\n"
	"                          the same, in bytes of memory: a short filter takes some\n"
	"                          200, each level more 100 (16M)\n"
	"  --max-retained N        messages; beyond, a message of another topic goes to those\n"
	"                          who are subscribed, and is not retained (100000)\n"
	"  --max-retained-bytes BYTES\n"
	"                          the same, in bytes of memory, of which a small one with its\n"
	"                          topic takes some 500 (256M)\n"
	"  --max-inflight N        of QoS 1 and 2, on their way to one subscriber (100)\n"
	"\n";

static const char usage_store[] =
	"Store\n"
	"  --store FILE            sessions with clean session 0, what waits for them, and\n"
	"                          retained messages survive the process, and the power (none)\n"
	"  --durability WORD       commit: nothing is acknowledged before the disk has it; batch:\n"
	"                          at once, and --batch-ms may be lost; none: the same, and the\n"
	"                          disk is not waited for: power loss may damage FILE (commit)\n"
	"  --batch-ms MS           (10)\n"
	"  --check-store           prints what is in FILE, and what is wrong with it, and ends\n"
	"\n";

static const char usage_last[] =
	"Threads and figures\n"
	"  --threads N             I/O threads (2)\n"
	"  --workers N             threads of the pool; 0: as many as CPUs (0)\n"
	"  --log-level LEVEL       error, warning, info, debug, to stderr (warning); or the\n"
	"                          path, with a `/`, of a file that holds one of these\n"
	"  --stats-interval S      how often $SYS/broker/# is issued; 0: never (10)\n"
	"  --stats                 count the tasks of connections and sessions, too: issued as\n"
	"                          $SYS/broker/baton/connections/# and sessions/#; and print a\n"
	"                          table at the end\n"
	"  --board FILE            topics, sessions and connections are on a board: `baton-top\n"
	"                          FILE` shows what they do; FILE may be -: memory, which\n"
	"                          `baton-top PID` finds; what is stuck for 5 s is logged\n"
	"  --help\n"
	"\n"
	"BYTES may end in K, M or G. SIGINT and SIGTERM end the broker; a second one, half a\n"
	"second later or more, kills it, whatever waits. SIGHUP makes it read again the password\n"
	"file, the certificate and the file with the log level.\n"
	"\n"
	"  broker --stats &\n"
	"  mosquitto_sub -v -t 'news/#' &\n"
	"  mosquitto_pub -t news/today -m 'hello'\n"
	"  mosquitto_sub -v -t '$SYS/broker/#'\n"
	"\n"
	"  echo \"ann:$(openssl passwd -6)\" >users     # asks for the password\n"
	"  broker --host 0.0.0.0 --password-file users --tls-cert chain.pem --tls-key key.pem\n"
	"  mosquitto_sub -p 8883 --cafile ca.pem -u ann -P ... -t '#'\n";

enum kind {
	KIND_UINT,
	KIND_SIZE,
	KIND_TEXT,
	KIND_FLAG,
	KIND_FILTER,
	KIND_LEVEL,
	KIND_HELP,
};

struct option_rule {
	const char *name;
	size_t offset;
	enum kind kind;
	unsigned long long least;
	unsigned long long most;
};

#define AT(member) offsetof(struct broker_options, member)
#define DAY 86400

static const struct option_rule rules[] = {
	{"host", AT(host), KIND_TEXT, 0, 0},
	{"port", AT(port), KIND_UINT, 0, 65535},
	{"threads", AT(threads), KIND_UINT, 1, 256},
	{"workers", AT(workers), KIND_UINT, 0, BATON_POOL_WORKERS_MAX},
	/* The largest packet that the protocol has, and a header. */
	{"max-packet", AT(packet_max), KIND_SIZE, 64, 268435455 + 5},
	/* The largest CONNECT has five fields of 64K. */
	{"max-connect", AT(connect_max), KIND_SIZE, 64, 14 + 5 * (2 + 65535)},
	{"max-strangers", AT(strangers_max), KIND_SIZE, 4096, 1ULL << 40},
	{"max-logins", AT(logins_max), KIND_SIZE, 1, 1 << 20},
	{"max-buffered", AT(buffered_max), KIND_SIZE, 1024, 1ULL << 40},
	{"max-queued", AT(queued_max), KIND_SIZE, 0, 1ULL << 40},
	{"max-queued-bytes", AT(queued_bytes_max), KIND_SIZE, 0, 1ULL << 40},
	{"max-queued-total", AT(queued_total_max), KIND_SIZE, 0, 1ULL << 40},
	{"max-filters", AT(filters_max), KIND_SIZE, 0, 1ULL << 40},
	{"max-filter-bytes", AT(filter_bytes_max), KIND_SIZE, 0, 1ULL << 40},
	{"max-retained", AT(retained_max), KIND_SIZE, 0, 1ULL << 40},
	{"max-retained-bytes", AT(retained_bytes_max), KIND_SIZE, 0, 1ULL << 40},
	{"max-sessions", AT(sessions_max), KIND_SIZE, 0, 1ULL << 40},
	{"session-expiry", AT(session_expiry), KIND_UINT, 0, UINT32_MAX},
	{"max-inflight", AT(window), KIND_UINT, 1, OPTIONS_INFLIGHT_MAX},
	{"connect-timeout", AT(connect_timeout), KIND_UINT, 1, DAY},
	{"packet-timeout", AT(packet_timeout), KIND_UINT, 1, DAY},
	{"stuck-timeout", AT(stuck_timeout), KIND_UINT, 1, DAY},
	{"stop-timeout", AT(stop_timeout), KIND_UINT, 0, DAY},
	{"store", AT(store), KIND_TEXT, 0, 0},
	{"durability", AT(durability), KIND_TEXT, 0, 0},
	{"batch-ms", AT(batch_ms), KIND_UINT, 1, 1000},
	{"check-store", AT(check_store), KIND_FLAG, 0, 0},
	{"stats-interval", AT(stats_interval), KIND_UINT, 0, DAY},
	{"password-file", AT(password_file), KIND_TEXT, 0, 0},
	{"tls-port", AT(tls_port), KIND_UINT, 0, 65535},
	{"tls-cert", AT(tls_cert), KIND_TEXT, 0, 0},
	{"tls-key", AT(tls_key), KIND_TEXT, 0, 0},
	{"log-level", AT(log_level), KIND_LEVEL, 0, 0},
	{"deny-subscribe", 0, KIND_FILTER, 0, 0},
	{"allow-anonymous", AT(anonymous), KIND_FLAG, 0, 0},
	{"queue-qos0", AT(queue_qos0), KIND_FLAG, 0, 0},
	{"stats", AT(stats), KIND_FLAG, 0, 0},
	{"board", AT(board), KIND_TEXT, 0, 0},
	{"help", 0, KIND_HELP, 0, 0},
};

#define RULES (sizeof(rules) / sizeof(rules[0]))

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

/* Prints what is wrong and returns the status to exit with. */
static int complain(const char *name, const char *value, const char *what)
{
	fprintf(stderr, "broker: --%s: '%s' is %s\n", name, value, what);
	return 2;
}

static bool filter_valid(struct slice filter)
{
	return names_utf8_valid(filter) && names_filter_valid(filter);
}

static int parse_value(struct broker_options *options, const struct option_rule *rule,
                       const char *value)
{
	char *const at = (char *)options + rule->offset;
	unsigned long long number = 0;
	char what[80];

	switch (rule->kind) {
	case KIND_UINT:
	case KIND_SIZE:
		if (!parse_number(value, rule->least, rule->most, &number)) {
			snprintf(what, sizeof(what), "not a number from %llu to %llu", rule->least,
			         rule->most);
			return complain(rule->name, value, what);
		}
		if (rule->kind == KIND_UINT)
			*(unsigned int *)(void *)at = (unsigned int)number;
		else
			*(size_t *)(void *)at = (size_t)number;
		return -1;
	case KIND_FILTER:
		if (!filter_valid((struct slice){value, strlen(value)}))
			return complain(rule->name, value, "not a topic filter");
		options->denied[options->denied_count++] = (struct slice){value, strlen(value)};
		return -1;
	case KIND_LEVEL:
		if (strchr(value, '/') == NULL && log_level_parse(value) < 0)
			return complain(rule->name, value,
			                "none of error, warning, info, debug, and has no `/`");
		/* fallthrough */
	case KIND_TEXT:
		if (value[0] == '\0')
			return complain(rule->name, value, "empty");
		*(const char **)(void *)at = value;
		return -1;
	default:
		*(bool *)at = true;
		return -1;
	}
}

static void options_default(struct broker_options *options)
{
	*options = (struct broker_options){
		.host = "127.0.0.1",
		.port = BROKER_NO_PORT,
		.tls_port = BROKER_NO_PORT,
		.threads = 2,
		.window = 100,
		.packet_max = (size_t)1 << 20,
		.connect_max = (size_t)80 << 10, /* one field as large as can be, and the rest */
		.strangers_max = (size_t)16 << 20,
		.logins_max = 1000,
		.buffered_max = (size_t)4 << 20,
		.queued_max = 10000,
		.queued_bytes_max = (size_t)64 << 20,
		.queued_total_max = (size_t)1 << 30,
		.filters_max = 10000,
		.filter_bytes_max = (size_t)16 << 20,
		.retained_max = 100000,
		.retained_bytes_max = (size_t)256 << 20,
		.sessions_max = 100000,
		.connect_timeout = 10,
		.packet_timeout = 60,
		.stuck_timeout = 60,
		.stop_timeout = 2,
		.stats_interval = 10,
		.durability = "commit",
		.batch_ms = 10,
		.log_level = "warning",
	};
}

/* Checks options against each other. */
static int options_check(struct broker_options *options)
{
	const char *wrong = NULL;

	if (options->port == BROKER_NO_PORT)
		options->port = options->tls_cert != NULL && options->tls_port == BROKER_NO_PORT
		                        ? 8883
		                        : 1883;
	if ((options->tls_cert == NULL) != (options->tls_key == NULL))
		wrong = "--tls-cert and --tls-key need each other";
	else if (options->tls_port != BROKER_NO_PORT && options->tls_cert == NULL)
		wrong = "--tls-port needs --tls-cert and --tls-key";
	else if (options->tls_port == options->port && options->port != 0)
		wrong = "--tls-port and --port are the same";
	else if (options->check_store && options->store == NULL)
		wrong = "--check-store needs --store";
	else if (strcmp(options->durability, "commit") != 0 &&
	         strcmp(options->durability, "batch") != 0 &&
	         strcmp(options->durability, "none") != 0)
		wrong = "--durability is commit, batch or none";
	if (wrong == NULL)
		return -1;
	fprintf(stderr, "broker: %s; see --help\n", wrong);
	return 2;
}

int options_parse(struct broker_options *options, int argc, char **argv)
{
	struct option long_options[RULES + 1] = {{0}};
	int option, index = 0, status = -1;

	for (size_t i = 0; i < RULES; i++) {
		const bool alone = rules[i].kind == KIND_FLAG || rules[i].kind == KIND_HELP;

		long_options[i].name = rules[i].name;
		long_options[i].has_arg = alone ? no_argument : required_argument;
		long_options[i].val = 'x';
	}
	options_default(options);
	options->denied = must_alloc((size_t)argc * sizeof(*options->denied)); /* no more */
	opterr = 0;
	while (status < 0 && (option = getopt_long(argc, argv, ":", long_options, &index)) != -1) {
		if (option == 'x' && rules[index].kind == KIND_HELP) {
			fputs(usage_first, stdout);
			fputs(usage_limits, stdout);
			fputs(usage_store, stdout);
			fputs(usage_last, stdout);
			return 0;
		}
		if (option == 'x') {
			status = parse_value(options, &rules[index], optarg);
			continue;
		}
		fprintf(stderr, "broker: %s %s; see --help\n", argv[optind - 1],
		        option == ':' ? "needs a value" : "is no option, or takes no value");
		return 2;
	}
	if (status >= 0)
		return status;
	if (optind < argc) {
		fprintf(stderr, "broker: unexpected '%s'; see --help\n", argv[optind]);
		return 2;
	}
	return options_check(options);
}

void options_free(struct broker_options *options)
{
	free(options->denied);
	options->denied = NULL;
}
