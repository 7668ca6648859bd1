/* SPDX-License-Identifier: MIT */
/*
 * Each option: its name on the command line, its key in a file, its default, its range, its help,
 * and whether SIGHUP takes a change over. The struct member says what it means to the program.
 */
#include "common/option_table.h"

#include <string.h>

#include <baton/pool.h>

#define AT(member) .offset = offsetof(struct broker_options, member)
#define NUMBER(kind_, member, least_, most_, initial_)                                             \
	.kind = OPTION_##kind_, AT(member), .least = (least_), .most = (most_),                    \
	.initial = (initial_)
#define TEXT(member) .kind = OPTION_TEXT, AT(member)
#define FLAG(member) .kind = OPTION_FLAG, AT(member)
#define LIVE .when = OPTION_RELOAD

#define BYTES_MAX (1ULL << 40)
#define DAY 86400

/* clang-format off */
const struct option_row option_table[] = {
	{"Network", .kind = OPTION_HEADING},
	{"host", "bind_address", TEXT(host), .initial = "127.0.0.1", .value = "HOST",
	 .help = "where to listen: all addresses that it has"},
	{"port", "port", NUMBER(UINT, port, 0, 65535, NULL), .value = "PORT",
	 .help = "0: any free one; it is printed (1883; with TLS 8883)"},
	{"tls-cert", "certfile", TEXT(tls_cert), LIVE, .of_listener = true, .value = "FILE",
	 .help = "certificate and chain, PEM: connections speak TLS"},
	{"tls-key", "keyfile", TEXT(tls_key), LIVE, .of_listener = true, .value = "FILE",
	 .help = "its private key, PEM"},
	{"tls-ca", "cafile", TEXT(tls_ca), LIVE, .of_listener = true, .value = "FILE",
	 .help = "clients are asked for certificates, which these authorities have signed, PEM"},
	{"tls-crl", "crlfile", TEXT(tls_crl), LIVE, .of_listener = true, .value = "FILE",
	 .help = "and which these lists do not revoke, PEM"},
	{"require-certificate", "require_certificate", FLAG(certificate_required),
	 .of_listener = true,
	 .help = "a client must have a certificate (--tls-ca)"},
	{"use-identity-as-username", "use_identity_as_username", FLAG(identity),
	 .of_listener = true,
	 .help = "the common name of a client's certificate is its user name, whatever it says; "
	         "it needs no password"},
	{"tls-port", "tls_port", NUMBER(UINT, tls_port, 0, 65535, NULL), .value = "PORT",
	 .help = "those to this port do, those to --port do not"},
	{"listener", "listener", .kind = OPTION_LISTENER, .again = true, .value = "'PORT [HOST]'",
	 .help = "a further port; where it is given, --port has no default. Without HOST: all "
	         "addresses of this machine. It speaks TLS if a certificate follows, which is the "
	         "same for all. May be given again"},
	{"connect-timeout", "connect_timeout",
	 NUMBER(UINT, limits.connect_timeout, 1, DAY, "10"), LIVE, .value = "S",
	 .help = "to send a CONNECT, TLS included"},
	{"packet-timeout", "packet_timeout",
	 NUMBER(UINT, limits.packet_timeout, 1, DAY, "60"), LIVE, .value = "S",
	 .help = "to finish a packet that was begun"},
	{"stuck-timeout", "stuck_timeout", NUMBER(UINT, limits.stuck_timeout, 1, DAY, "60"), LIVE,
	 .value = "S",
	 .help = "to take some of what waits to be written"},
	{"stop-timeout", "stop_timeout", NUMBER(UINT, limits.stop_timeout, 0, DAY, "2"), LIVE,
	 .value = "S",
	 .help = "to take the rest of it when the broker ends"},

	{"Who may do what", .kind = OPTION_HEADING},
	{"password-file", "password_file", TEXT(password_file), LIVE, .value = "FILE",
	 .help = "lines `user:hash`, the hash by crypt(3) or mosquitto_passwd"},
	{"allow-anonymous", "allow_anonymous", FLAG(limits.anonymous), LIVE,
	 .help = "also who gives no user name. Without a password file, and where this is not "
	         "given, everybody may, if the host is this one alone"},
	{"access-file", "acl_file", TEXT(access_file), LIVE, .value = "FILE",
	 .help = "who may read and write which topics: lines `user NAME`, `topic "
	         "[read|write|readwrite|deny] FILTER`, `pattern ...` with %u and %c in the "
	         "filter"},
	{"max-logins", "max_logins", NUMBER(SIZE, logins_max, 1, 1 << 20, "1000"), .value = "N",
	 .help = "passwords that wait to be checked; beyond, of the address with the most the "
	         "newest is refused"},
	{"deny-subscribe", "deny_subscribe", .kind = OPTION_FILTER, .again = true,
	 .value = "FILTER",
	 .help = "nobody may subscribe to it, or to a filter that it covers (but who may "
	         "subscribe to `#` gets what lies there); may be given again"},

	{"Limits", .kind = OPTION_HEADING},
	/* At most the largest packet that the protocol has, and a header. */
	{"max-packet", "max_packet_size",
	 NUMBER(SIZE, limits.packet_max, 64, 268435455 + 5, "1M"), LIVE, .value = "BYTES",
	 .help = "a larger packet ends its connection"},
	/* At most the largest CONNECT, of five fields of 64K; one such field fits the default. */
	{"max-connect", "max_connect", NUMBER(SIZE, connect_max, 64, 14 + 5 * (2 + 65535), "80K"),
	 .value = "BYTES",
	 .help = "a larger CONNECT ends its connection"},
	{"max-strangers", "max_strangers",
	 NUMBER(SIZE, limits.strangers_max, 4096, BYTES_MAX, "16M"), LIVE, .value = "BYTES",
	 .help = "of memory for what clients have sent that were not let in yet, all together; "
	         "beyond, the one with the most is disconnected"},
	{"max-buffered", "max_buffered",
	 NUMBER(SIZE, limits.buffered_max, 1024, BYTES_MAX, "4M"), LIVE, .value = "BYTES",
	 .help = "of memory for what one subscriber's socket does not take (a small message "
	         "takes some 300); beyond, QoS 0 is dropped, and QoS 1 and 2 wait"},
	{"max-queued", "max_queued_messages",
	 NUMBER(LIMIT, limits.queued_max, 0, BYTES_MAX, "10000"), LIVE, .value = "N",
	 .help = "messages that wait for one client, also while it is away; beyond, they are "
	         "dropped; 0: no limit. Retained messages that a SUBSCRIBE brings count in "
	         "bytes alone"},
	{"max-queued-bytes", "max_queued_bytes",
	 NUMBER(LIMIT, limits.queued_bytes_max, 0, BYTES_MAX, "64M"), LIVE, .value = "BYTES",
	 .help = "the same, in bytes of memory"},
	{"max-queued-total", "max_queued_total",
	 NUMBER(SIZE, limits.queued_total_max, 0, BYTES_MAX, "1G"), LIVE, .value = "BYTES",
	 .help = "the same of all clients together, about"},
	{"queue-qos0", "queue_qos0_messages", FLAG(limits.queue_qos0), LIVE,
	 .help = "QoS 0, too, waits for a client that is away"},
	{"max-sessions", "max_sessions",
	 NUMBER(SIZE, limits.sessions_max, 0, BYTES_MAX, "100000"), LIVE, .value = "N",
	 .help = "with clean session 0; beyond, new ones are refused"},
	{"session-expiry", "persistent_client_expiration",
	 NUMBER(SPAN, limits.session_expiry, 0, UINT32_MAX, "0"), LIVE, .value = "S",
	 .help = "for how long such a session waits for its client to come back; 0: for ever. In "
	         "seconds, or with h, d, w, m or y behind it: hours, days, weeks, months, years"},
	{"max-filters", "max_filters",
	 NUMBER(SIZE, limits.filters_max, 0, BYTES_MAX, "10000"), LIVE,
	 .value = "N",
	 .help = "subscriptions of one client; beyond, SUBACK refuses them"},
	{"max-filter-bytes", "max_filter_bytes",
	 NUMBER(SIZE, limits.filter_bytes_max, 0, BYTES_MAX, "16M"), LIVE, .value = "BYTES",
	 .help = "the same, in bytes of memory: a short filter takes some 200, each level more "
	         "100"},
	{"max-retained", "max_retained",
	 NUMBER(SIZE, limits.retained_max, 0, BYTES_MAX, "100000"),
	 LIVE, .value = "N",
	 .help = "messages; beyond, a message of another topic goes to those who are subscribed, "
	         "and is not retained"},
	{"max-retained-bytes", "max_retained_bytes",
	 NUMBER(SIZE, limits.retained_bytes_max, 0, BYTES_MAX, "256M"), LIVE, .value = "BYTES",
	 .help = "the same, in bytes of memory, of which a small one with its topic takes some "
	         "500"},
	{"retain-available", "retain_available", FLAG(limits.retain), LIVE, .initial = "true",
	 .help = "false: who sends a message to be retained is disconnected"},
	{"max-inflight", "max_inflight_messages",
	 NUMBER(LIMIT, limits.window, 0, OPTIONS_INFLIGHT_MAX, "100"), LIVE, .value = "N",
	 .help = "of QoS 1 and 2, on their way to one subscriber; 0: as many as there can be"},
	{"receive-maximum", "receive_maximum", NUMBER(UINT, receive_max, 1, 65535, "65535"),
	 .value = "N",
	 .help = "MQTT 5: messages of QoS 1 and 2 from one client that are not acknowledged yet; "
	         "more end its connection"},
	{"max-topic-alias", "max_topic_alias", NUMBER(UINT, alias_max, 0, 65535, "10"),
	 .value = "N",
	 .help = "MQTT 5: topic aliases of one client, each with its topic"},
	{"max-keepalive", "max_keepalive", NUMBER(UINT, limits.keep_alive_max, 0, 65535, "0"),
	 LIVE, .value = "S",
	 .help = "MQTT 5: a client with a longer keep alive, or none, has to use this one; 0: any "
	         "is allowed"},

	{"Store", .kind = OPTION_HEADING},
	{"store", "store", TEXT(store), .value = "FILE",
	 .help = "sessions with clean session 0, what waits for them, and retained messages "
	         "survive the process, and the power"},
	{"durability", "durability", .kind = OPTION_WORD, AT(durability), .initial = "commit",
	 .words = "commit batch none", .value = "WORD",
	 .help = "commit: nothing is acknowledged before the disk has it; batch: at once, and "
	         "--batch-ms may be lost; none: the same, and the disk is not waited for: power "
	         "loss may damage FILE"},
	{"batch-ms", "batch_ms",
	 NUMBER(UINT, limits.batch_ms, 1, 1000, "10"), LIVE, .value = "MS",
	 .help = "see --durability"},
	{"check-store", .when = OPTION_COMMAND, FLAG(check_store),
	 .help = "prints what is in FILE, and what is wrong with it, and ends"},

	{"Threads and figures", .kind = OPTION_HEADING},
	{"threads", "threads", NUMBER(UINT, threads, 1, 256, "2"), .value = "N",
	 .help = "I/O threads"},
	{"workers", "workers",
	 NUMBER(UINT, workers, 0, BATON_POOL_WORKERS_MAX, "0"), .value = "N",
	 .help = "threads of the pool; 0: as many as CPUs"},
	{"log-level", "log_level", .kind = OPTION_WORD, AT(log_level), LIVE, .initial = "warning",
	 .words = "error warning notice info debug", .value = "LEVEL",
	 .help = "error, warning, notice, info or debug: what is logged, with all before it"},
	{"log-type", "log_type", .kind = OPTION_BITS, AT(log_types), LIVE, .again = true,
	 .words = "error warning notice information debug none all", .value = "TYPE",
	 .help = "in the place of --log-level: one type, or none, or all; may be given again"},
	{"log-dest", "log_dest", .kind = OPTION_PLACES, AT(log_places), LIVE, .again = true,
	 .words = "stderr stdout syslog file none", .value = "PLACE",
	 .help = "where the log goes: stderr, stdout, syslog, 'file PATH' or none; may be given "
	         "again. SIGHUP opens the file again (stderr)"},
	{"stats-interval", "sys_interval", NUMBER(UINT, stats_interval, 0, DAY, "10"), LIVE,
	 .value = "S",
	 .help = "how often $SYS/broker/# is issued; 0: never"},
	{"stats", "stats", FLAG(stats),
	 .help = "count the tasks of connections and sessions, too: issued as "
	         "$SYS/broker/baton/connections/# and sessions/#; and print a table at the end"},
	{"board", "board", TEXT(board), .value = "FILE",
	 .help = "topics, sessions and connections are on a board: `baton-top FILE` shows what "
	         "they do; FILE may be -: memory, which `baton-top PID` finds; what is stuck for "
	         "5 s is logged"},

	{"Configuration", .kind = OPTION_HEADING},
	{"config", .when = OPTION_COMMAND, TEXT(config), .value = "FILE",
	 .help = "or -c FILE: lines `key value`, as in mosquitto.conf; what the command line "
	         "gives, too, is not taken from FILE"},
	{"check-config", .when = OPTION_COMMAND, FLAG(check_config),
	 .help = "says what is wrong with the command line, FILE and the files that these name, "
	         "and ends"},
	{"help", .when = OPTION_COMMAND, .kind = OPTION_HELP,
	 .help = "prints this"},
};
/* clang-format on */

const size_t option_rows = sizeof(option_table) / sizeof(option_table[0]);

/* Keys of mosquitto's that have no row; `*` stands for any end. */
static const char *const missing[][2] = {
	{"accept_protocol_versions", "MQTT 3.1.1 and 5 are always spoken"},
	{"address", "there are no bridges"},
	{"addresses", "there are no bridges"},
	{"allow_duplicate_messages", "a client gets a message once, as with `false`"},
	{"allow_zero_length_clientid", "it is always allowed"},
	{"auth_opt_*", "there are no plugins"},
	{"auth_plugin*", "there are no plugins"},
	{"auto_id_prefix", "it is always auto-"},
	{"autosave_interval", "the store writes at once, see `durability`"},
	{"autosave_on_changes", "the store writes at once, see `durability`"},
	{"bind_interface", "use `bind_address`"},
	{"bridge_*", "there are no bridges"},
	{"capath", "use `cafile`"},
	{"check_retain_source", "who may write is judged when a message comes"},
	{"ciphers", "OpenSSL's defaults hold"},
	{"ciphers_tls1.3", "OpenSSL's defaults hold"},
	{"cleansession", "there are no bridges"},
	{"clientid", "there are no bridges"},
	{"clientid_prefixes", "there is nothing like it"},
	{"connection", "there are no bridges"},
	{"connection_messages", "use `log_type`: they are notices"},
	{"dhparamfile", "OpenSSL's defaults hold"},
	{"http_dir", "there are no websockets"},
	{"idle_timeout", "there are no bridges"},
	{"include_dir", "there is one file"},
	{"keepalive_interval", "there are no bridges"},
	{"local_cleansession", "there are no bridges"},
	{"local_clientid", "there are no bridges"},
	{"local_password", "there are no bridges"},
	{"local_username", "there are no bridges"},
	{"log_facility", "syslog gets it as daemon"},
	{"log_timestamp", "the log has it always"},
	{"log_timestamp_format", "the log has ISO 8601 always"},
	{"max_connections", "the process's limit of descriptors holds"},
	{"max_inflight_bytes", "use `max_inflight_messages`"},
	{"max_qos", "there is nothing like it"},
	{"memory_limit", "use `max_queued_total` and `max_retained_bytes`"},
	{"message_size_limit", "use `max_packet_size`"},
	{"mount_point", "there is nothing like it"},
	{"notification_topic", "there are no bridges"},
	{"notifications", "there are no bridges"},
	{"notifications_local_only", "there are no bridges"},
	{"password", "there are no bridges"},
	{"per_listener_settings", "all listeners have the same settings"},
	{"persistence", "use `store FILE`"},
	{"persistence_file", "use `store FILE`"},
	{"persistence_location", "use `store FILE`"},
	{"pid_file", "the broker stays in the foreground"},
	{"plugin*", "there are no plugins"},
	{"protocol", "all listeners speak MQTT, there are no websockets"},
	{"psk_*", "there are no pre-shared keys"},
	{"remote_clientid", "there are no bridges"},
	{"remote_password", "there are no bridges"},
	{"remote_username", "there are no bridges"},
	{"restart_timeout", "there are no bridges"},
	{"retry_interval", "mosquitto 2 ignores it, too: leave it out"},
	{"round_robin", "there are no bridges"},
	{"set_tcp_nodelay", "it is always set"},
	{"socket_domain", "name an address of that family"},
	{"start_type", "there are no bridges"},
	{"store_clean_interval", "mosquitto 2 ignores it, too: leave it out"},
	{"threshold", "there are no bridges"},
	{"tls_engine*", "there are no engines"},
	{"tls_keyform", "there are no engines"},
	{"tls_version", "TLS 1.2 and later are spoken"},
	{"topic", "there are no bridges"},
	{"try_private", "there are no bridges"},
	{"upgrade_outgoing_qos", "the QoS is never raised"},
	{"use_subject_as_username", "use `use_identity_as_username`"},
	{"use_username_as_clientid", "there is nothing like it"},
	{"user", "start it as that user"},
	{"username", "there are no bridges"},
	{"websockets_*", "there are no websockets"},
};

const char *option_missing(const char *key)
{
	for (size_t i = 0; i < sizeof(missing) / sizeof(missing[0]); i++) {
		const size_t stem = strcspn(missing[i][0], "*");

		if (strncmp(missing[i][0], key, stem) == 0 &&
		    (missing[i][0][stem] == '*' || key[stem] == '\0'))
			return missing[i][1];
	}
	return NULL;
}
