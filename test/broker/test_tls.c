/* SPDX-License-Identifier: MIT */
/* Real clients connect by TLS, and are refused where they should be. */
#include "client.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "server.h"

/* A folder with a key and a certificate for this machine, which the last command removes. */
static void make_certificate(char *folder)
{
	char command[512];

	if (system("openssl version >/dev/null 2>&1") != 0)
		story_skip("there is no openssl to make a certificate");
	check(mkdtemp(folder) != NULL, "no folder");
	snprintf(command, sizeof(command),
	         "cd %s && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes "
	         "-keyout key -out cert -days 2 -subj /CN=localhost "
	         "-addext subjectAltName=DNS:localhost,IP:127.0.0.1 2>/dev/null",
	         folder);
	check(system(command) == 0, "openssl cannot make a certificate");
}

/* In the folder; the status says which step failed. */
static void tell(const char *folder, const char *steps)
{
	char command[2048];
	int status;

	snprintf(command, sizeof(command), "trap 'rm -r %s' EXIT; cd %s; %s; exit 0", folder,
	         folder, steps);
	status = system(command);
	if (status != 0)
		story_fail("step %d", WEXITSTATUS(status));
}

STORY(tls_with_real_clients, .timeout = 30)
{
	char options[256], steps[1024];
	char folder[] = "/tmp/baton-e2e.XXXXXX";

	make_certificate(folder);
	snprintf(options, sizeof(options), "--tls-cert %s/cert --tls-key %s/key", folder, folder);
	start_server(options);
	snprintf(steps, sizeof(steps),
	         "p='-h 127.0.0.1 -p %u --cafile cert'; "
	         "mosquitto_pub $p -q 1 -r -t t -m kept || exit 1; "
	         "test \"$(mosquitto_sub $p -q 2 -t t -C 1 -W 5)\" = kept || exit 2; "
	         "head -c 500000 /dev/zero | tr '\\0' x >large; "
	         "mosquitto_pub $p -q 2 -r -t t -f large || exit 3; "
	         "test \"$(mosquitto_sub $p -q 1 -t t -C 1 -W 5 | wc -c)\" = 500001 || exit 4; "
	         "mosquitto_pub -h 127.0.0.1 -p %u -q 1 -t t -m plain 2>/dev/null && exit 5",
	         server_port(), server_port());
	story_here(__FILE__, __LINE__);
	tell(folder, steps);
	await_said("reason=\"TLS handshake\""); /* of the plain client */
}

/* Each on a port of its own; a session and its messages are the same on both. */
STORY(tls_beside_plain_connections, .timeout = 30, .mosquitto = "has other options")
{
	const unsigned int port = server_free_port();
	char options[256], steps[1024];
	char folder[] = "/tmp/baton-e2e.XXXXXX";

	make_certificate(folder);
	snprintf(options, sizeof(options), "--tls-cert %s/cert --tls-key %s/key --tls-port %u",
	         folder, folder, port);
	start_server(options);
	snprintf(steps, sizeof(steps),
	         "p='-h 127.0.0.1 -p %u'; t='-h 127.0.0.1 -p %u --cafile cert'; "
	         "mosquitto_sub $t -c -i me -q 1 -t t -E || exit 1; "
	         "mosquitto_pub $p -q 1 -t t -m away || exit 2; "
	         "test \"$(mosquitto_sub $p -c -i me -q 1 -t t -C 1 -W 5)\" = away || exit 3; "
	         "mosquitto_pub $t -q 1 -t t -m again || exit 4; "
	         "test \"$(mosquitto_sub $t -c -i me -q 1 -t t -C 1 -W 5)\" = again || exit 5; "
	         "mosquitto_pub -h 127.0.0.1 -p %u -q 1 -t t -m plain 2>/dev/null && exit 6; "
	         "mosquitto_pub -h 127.0.0.1 -p %u --cafile cert -t t -m x 2>/dev/null && exit 7",
	         server_port(), port, port, server_port());
	story_here(__FILE__, __LINE__);
	tell(folder, steps);
}

STORY(tls_and_passwords, .timeout = 30, .mosquitto = "has other hashes")
{
	char options[512], steps[1024];
	char folder[] = "/tmp/baton-e2e.XXXXXX";

	make_certificate(folder);
	snprintf(options, sizeof(options), "--tls-cert %s/cert --tls-key %s/key --password-file %s",
	         folder, folder,
	         file_write("alice:$6$batonbaton$Pr/VD0QDrFnM/C00dLZZRyQsooB3GH7Bs4NY00o63KvZHlxsiS"
	                    "/xj8D.spBZI3zslAmkaoR/HKhSU9kd48jfK.\n"));
	start_server(options);
	snprintf(steps, sizeof(steps),
	         "p='-h 127.0.0.1 -p %u --cafile cert -u alice -P'; "
	         "mosquitto_pub $p secret -q 1 -r -t t -m kept || exit 1; "
	         "mosquitto_pub $p wrong -q 1 -t t -m x 2>/dev/null; test $? = 4 || exit 2; "
	         "test \"$(mosquitto_sub $p secret -q 1 -t t -C 1 -W 5)\" = kept || exit 3",
	         server_port());
	story_here(__FILE__, __LINE__);
	tell(folder, steps);
}
