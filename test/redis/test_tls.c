/* SPDX-License-Identifier: MIT */
/* TLS, where hiredis has it (make check-redis-tls gets such a hiredis). */
#include "server.h"

#if __has_include(<hiredis/hiredis_ssl.h>)

#include <criterion/criterion.h>

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static char directory[] = "/tmp/baton-tls.XXXXXX";

/* An authority, and certificates of it: for this machine, and for another one. */
static const char make_certificates[] =
	"exec >/dev/null 2>&1; set -e; cd %s\n"
	"authority() { openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=$1 "
	"-keyout $1.key -out $1.pem; }\n"
	"certificate() { openssl req -newkey rsa:2048 -nodes -subj /CN=$1 -keyout $1.key "
	"-out $1.csr; printf \"subjectAltName=$2\" >$1.ext; openssl x509 -req -in $1.csr "
	"-CA ours.pem -CAkey ours.key -CAcreateserial -days 2 -extfile $1.ext -out $1.pem; }\n"
	"authority ours; authority theirs\n"
	"certificate here DNS:localhost,IP:127.0.0.1\n"
	"certificate there DNS:there.example,DNS:*.wild.example\n"
	"cat here.pem here.key >both.pem\n";

static void set_up(void)
{
	char command[2048];

	cr_assert_not_null(mkdtemp(directory));
	snprintf(command, sizeof(command), make_certificates, directory);
	cr_assert_eq(system(command), 0, "openssl makes the certificates");
}

static void tear_down(void)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf %s", directory);
	cr_assert_eq(system(command), 0);
}

TestSuite(tls, .init = set_up, .fini = tear_down, .timeout = 60);

static const char *file(const char *name)
{
	static char paths[8][64];
	static int next;
	char *path = paths[next++ % 8];

	snprintf(path, sizeof(paths[0]), "%s/%s", directory, name);
	return path;
}

static uint16_t free_port(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
	                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	cr_assert_eq(bind(fd, (struct sockaddr *)&address, size), 0);
	cr_assert_eq(getsockname(fd, (struct sockaddr *)&address, &size), 0);
	close(fd);
	return ntohs(address.sin_port);
}

/* clients: do they need a certificate: "yes", "no" */
static uint16_t start(struct server *server, const char *name, const char *clients)
{
	uint16_t port = free_port();
	char certificate[16], key[16], text[8];
	const char *arguments[] = {"--tls-port",
	                           text,
	                           "--tls-cert-file",
	                           certificate,
	                           "--tls-key-file",
	                           key,
	                           "--tls-ca-cert-file",
	                           file("ours.pem"),
	                           "--tls-auth-clients",
	                           clients,
	                           NULL};
	char paths[2][64];

	snprintf(certificate, sizeof(certificate), "%s.pem", name);
	snprintf(key, sizeof(key), "%s.key", name);
	snprintf(paths[0], sizeof(paths[0]), "%s", file(certificate));
	snprintf(paths[1], sizeof(paths[1]), "%s", file(key));
	arguments[3] = paths[0];
	arguments[5] = paths[1];
	snprintf(text, sizeof(text), "%u", port);
	server_start(server, arguments);
	return port;
}

static int try_connect(const struct baton_redis_options *options, char text[256])
{
	struct baton_redis *redis;
	int error = baton_redis_create(options, &redis);

	snprintf(text, 256, "%s", baton_redis_error(redis));
	baton_redis_destroy(redis);
	return error;
}

Test(tls, a_certificate_is_for_the_name_that_was_asked_for)
{
	static const struct {
		const char *server, *host, *name, *authority;
		int error;
		const char *text;
	} rows[] = {
		{"here", "localhost", NULL, "ours.pem", 0, ""},
		{"here", "127.0.0.1", NULL, "ours.pem", 0, ""},
		{"here", NULL, NULL, "ours.pem", 0, ""},
		{"here", "127.0.0.1", "localhost", "ours.pem", 0, ""},
		{"here", "localhost", "there.example", "ours.pem", -EACCES, "there.example: host"},
		{"here", "localhost", "127.0.0.2", "ours.pem", -EACCES, "127.0.0.2: IP"},
		{"here", "localhost", NULL, "theirs.pem", -EACCES, "localhost: "},
		{"here", "localhost", NULL, NULL, -EACCES, "localhost: "},
		{"here", "localhost", NULL, "no.pem", -EINVAL, "no.pem: No such file"},
		{"there", "localhost", NULL, "ours.pem", -EACCES, "localhost: host"},
		{"there", "127.0.0.1", NULL, "ours.pem", -EACCES, "127.0.0.1: IP"},
		{"there", "localhost", "there.example", "ours.pem", 0, ""},
		{"there", "localhost", "a.wild.example", "ours.pem", 0, ""},
		{"there", "localhost", "a.b.wild.example", "ours.pem", -EACCES, "host"},
	};
	struct server server = {.pid = 0};
	uint16_t port = 0;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct baton_redis_options options = {
			.host = rows[i].host,
			.tls_server_name = rows[i].name,
			.tls_ca = rows[i].authority ? file(rows[i].authority) : NULL,
			.tls_cert = file("both.pem"), /* asks for TLS, where nothing else does */
		};
		char text[256];

		if (i == 0 || strcmp(rows[i].server, rows[i - 1].server) != 0) {
			if (i > 0)
				server_stop(&server);
			port = start(&server, rows[i].server, "no");
		}
		options.port = port;
		cr_assert_eq(try_connect(&options, text), rows[i].error, "%zu: %s", i, text);
		cr_assert(strstr(text, rows[i].text), "%zu: %s", i, text);
	}
	server_stop(&server);
}

Test(tls, a_task_goes_its_way_also_over_a_second_connection)
{
	struct server server;
	struct baton_redis_options options = {
		.queue = "test",
		.port = start(&server, "here", "yes"),
		.tls_ca = file("ours.pem"),
		.tls_cert = file("here.pem"),
		.tls_key = file("here.key"),
	};
	struct baton_redis_task task = task_named("task", 0);
	struct baton_redis_note note = {0};
	struct baton_redis_order order;
	struct baton_redis *redis[3];
	struct baton_redis_scheduler *scheduler;
	struct baton_redis_backend *backend;

	for (int i = 0; i < 3; i++)
		cr_assert_eq(baton_redis_create(&options, &redis[i]), 0, "%s",
		             baton_redis_error(redis[i]));
	cr_assert_eq(baton_redis_submit(redis[0], &task), 0);
	server_text(&server, "CLIENT KILL TYPE normal");
	scheduler = scheduler_on(redis[1]);
	backend = backend_on(redis[2], "one");
	await_order(backend, &order, BATON_REDIS_RUN, scheduler);
	cr_assert_eq(order.command_size, task.command_size);
	cr_assert_eq(baton_redis_backend_finish(backend, 7, "reason"), 0);
	await_note(redis[0], &task, &note, BATON_REDIS_DONE);
	cr_assert_eq(note.number, 7);
	baton_redis_backend_destroy(backend);
	baton_redis_scheduler_destroy(scheduler);
	for (int i = 0; i < 3; i++)
		baton_redis_destroy(redis[i]);
	server_stop(&server);
}

Test(tls, over_a_unix_socket_the_name_is_to_be_said)
{
	struct server server;
	struct baton_redis_options options = {.tls_ca = file("ours.pem")};
	char text[256];

	start(&server, "here", "no");
	options.socket = server.socket;
	cr_assert_eq(try_connect(&options, text), -EINVAL, "%s", text);
	cr_assert(strstr(text, "tls_server_name"), "%s", text);
	server_stop(&server);
}

/* The text names the option, and the cause. */
static void is_refused(const struct baton_redis_options *options, const char *begin,
                       const char *cause)
{
	char text[256];

	cr_assert_eq(try_connect(options, text), -EINVAL, "%s", text);
	cr_assert_eq(strncmp(text, begin, strlen(begin)), 0, "%s", text);
	cr_assert(strstr(text, cause), "%s", text);
}

Test(tls, a_file_that_cannot_be_used_is_named_with_its_option)
{
	struct server server;
	struct baton_redis_options options = {.port = start(&server, "here", "no"),
	                                      .tls_ca = file("ours.key")};

	is_refused(&options, "TLS: tls_ca /", "ours.key: it has no certificate");
	options.tls_ca = file("ours.pem");
	options.tls_cert = file("here.pem"); /* without its key */
	is_refused(&options, "TLS: tls_key /", "here.pem: it has no key of the certificate");
	options.tls_cert = file("no.pem");
	is_refused(&options, "TLS: tls_cert /", "no.pem: No such file");
	server_stop(&server);
}

#endif
