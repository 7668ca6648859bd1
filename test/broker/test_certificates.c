/* SPDX-License-Identifier: MIT */
/* Clients that have certificates: whose are accepted, as whom, and for how long. */
#include "client.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server.h"

static char folder[512]; /* the story's own, below build; its next run removes it */

/* Runs a script in the folder; the status says which step failed. */
__attribute__((format(printf, 1, 2))) static void script(const char *format, ...)
{
	char steps[2048], command[4096];
	va_list arguments;
	int status;

	va_start(arguments, format);
	vsnprintf(steps, sizeof(steps), format, arguments);
	va_end(arguments);
	snprintf(command, sizeof(command),
	         "cd %s; p='-h 127.0.0.1 -p %u --cafile ca'; "
	         "as() { echo \"--cert $1 --key client.key\"; }; %s",
	         folder, server_port(), steps);
	status = system(command);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		story_fail("step %d of: %s", WEXITSTATUS(status), steps);
}
#define run_script(...) AT(script(__VA_ARGS__))

static void make_folder(void)
{
	char command[2 * sizeof(folder)], here[256];

	check(getcwd(here, sizeof(here)) != NULL, "no folder");
	snprintf(folder, sizeof(folder), "%s/build/e2e-certificates/%s", here, story_name());
	snprintf(command, sizeof(command), "rm -rf %s && mkdir -p %s", folder, folder);
	check(system(command) == 0, "no folder");
}

/*
 * The folder has an authority `ca`, the broker's `cert` and `key`, and for clients `client.key`
 * with the certificates ann, bob, and strange, which the authority has not signed. `crl` revokes
 * nobody.
 */
static void make_certificates(void)
{
	if (system("openssl version >/dev/null 2>&1") != 0)
		story_skip("there is no openssl to make a certificate");
	make_folder();
	run_script(
		"exec 2>/dev/null; "
		"printf '[ca]\ndefault_ca = d\n[d]\ndatabase = index\nnew_certs_dir = .\n"
		"serial = serial\ncrlnumber = crlnumber\ndefault_md = sha256\n"
		"default_crl_days = 2\ndefault_days = 2\nunique_subject = no\npolicy = p\n"
		"[p]\ncommonName = optional\n' >conf; "
		": >index; echo 01 >serial; echo 01 >crlnumber; "
		"echo 'subjectAltName = DNS:localhost,IP:127.0.0.1' >names; "
		"ec='-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes'; "
		"openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca -days 2 "
		"-subj /CN=authority || exit 1; "
		"openssl req $ec -keyout key -out csr -subj /CN=localhost && "
		"openssl x509 -req -in csr -CA ca -CAkey ca.key -CAcreateserial -out cert -days 2 "
		"-extfile names || exit 2; "
		"openssl req -x509 $ec -keyout client.key -out strange -days 2 -subj /CN=ann || "
		"exit 3; "
		"for who in ann bob; do "
		"openssl req -new -key client.key -out csr -subj /CN=$who && "
		"openssl ca -batch -notext -config conf -in csr -out $who -cert ca -keyfile ca.key "
		"|| exit 4; done; "
		"openssl ca -config conf -gencrl -out crl -cert ca -keyfile ca.key || exit 5");
}

static void start_with_certificates(const char *more)
{
	char options[4 * sizeof(folder)];

	snprintf(options, sizeof(options),
	         "--tls-cert %s/cert --tls-key %s/key --tls-ca %s/ca --log-level notice %s", folder,
	         folder, folder, more);
	start_server(options);
}

/* A name in a certificate needs no password, and counts in the place of what a client says. */
STORY(certificates_are_names, .timeout = 60, .mosquitto = "has other options")
{
	char options[256], path[64];

	make_certificates();
	snprintf(path, sizeof(path), "%s", file_write(SERVER_ALICE));
	snprintf(options, sizeof(options),
	         "--require-certificate --use-identity-as-username --password-file %s "
	         "--access-file %s",
	         path, file_write("user ann\ntopic a\nuser bob\ntopic read a\n"));
	start_with_certificates(options);
	run_script("mosquitto_pub $p -q 1 -t a -m x 2>/dev/null && exit 1; "
	           "mosquitto_pub $p $(as strange) -q 1 -t a -m x 2>/dev/null && exit 2; "
	           "mosquitto_pub $p $(as ann) -q 1 -r -t a -m kept || exit 3; "
	           "mosquitto_pub $p $(as bob) -u ann -P x -q 1 -r -t a -m no || exit 4; "
	           "test \"$(mosquitto_sub $p $(as bob) -u ann -P x -t a -C 1 -W 5)\" = kept || "
	           "exit 5; exit 0");
	await_said("reason=\"TLS handshake\" detail=\"peer did not return a certificate\"");
	await_said("reason=\"TLS handshake\" detail=\"self-signed certificate\"");
}

/* Who has none needs a password. */
STORY(certificates_beside_passwords, .timeout = 60, .mosquitto = "has other options")
{
	char options[256];

	make_certificates();
	snprintf(options, sizeof(options), "--use-identity-as-username --password-file %s",
	         file_write(SERVER_ALICE));
	start_with_certificates(options);
	run_script("mosquitto_pub $p -q 1 -t a -m x 2>/dev/null && exit 1; "
	           "mosquitto_pub $p -u alice -P wrong -q 1 -t a -m x 2>/dev/null && exit 2; "
	           "mosquitto_pub $p -u alice -P secret -q 1 -t a -m x || exit 3; "
	           "mosquitto_pub $p $(as ann) -q 1 -t a -m x || exit 4; "
	           "mosquitto_pub $p $(as strange) -q 1 -t a -m x 2>/dev/null && exit 5; exit 0");
}

/* Is no name: the password is asked for, too. */
STORY(certificates_are_no_names_unless_it_is_said, .timeout = 60, .mosquitto = "has other options")
{
	char options[256];

	make_certificates();
	snprintf(options, sizeof(options), "--require-certificate --password-file %s",
	         file_write(SERVER_ALICE));
	start_with_certificates(options);
	run_script(
		"mosquitto_pub $p $(as ann) -q 1 -t a -m x 2>/dev/null && exit 1; "
		"mosquitto_pub $p -u alice -P secret -q 1 -t a -m x 2>/dev/null && exit 2; "
		"mosquitto_pub $p $(as ann) -u alice -P secret -q 1 -t a -m x || exit 3; exit 0");
}

/* Subscribers that stay: as ann and bob, to files of these names. */
static void leave_subscribers(void)
{
	run_script("for who in ann bob; do "
	           "timeout 50 mosquitto_sub $p $(as $who) -i $who -t t >got.$who 2>&1 & done");
	server_await_said("event=connected client=ann");
	server_await_said("event=connected client=bob");
}

static void await_outdated(const char *who)
{
	char words[32];

	snprintf(words, sizeof(words), "event=closed client=%s ", who);
	check(strstr(server_await_said(words), "its certificate is not accepted any more") != NULL,
	      "for another reason");
}

static void await_message(const char *who)
{
	run_script("for i in $(seq 100); do mosquitto_pub $p $(as ann) -q 1 -t t -m hello; "
	           "grep -q hello got.%s && exit 0; sleep 0.1; done; exit 1",
	           who);
}

STORY(certificates_that_are_revoked_at_sighup, .timeout = 60, .mosquitto = "keeps the client")
{
	char options[2 * sizeof(folder)];

	make_certificates();
	snprintf(options, sizeof(options),
	         "--require-certificate --use-identity-as-username --tls-crl %s/crl", folder);
	start_with_certificates(options);
	leave_subscribers();
	AT(await_message("bob"));
	run_script("exec 2>/dev/null; openssl ca -config conf -revoke bob -cert ca -keyfile ca.key "
	           "&& openssl ca -config conf -gencrl -out crl -cert ca -keyfile ca.key");
	kill(server_pid(), SIGHUP);
	AT(await_outdated("bob"));
	await_said("detail=\"certificate revoked\""); /* it has come again */
	AT(await_message("ann"));
	run_script("mosquitto_pub $p $(as bob) -q 1 -t t -m x 2>/dev/null && exit 1; exit 0");
	check(server_stop() == 0, "the broker did not end well");
}

/* What a reload cannot end stays in force. */
STORY(certificates_that_a_reload_forgets, .timeout = 60, .mosquitto = "has other options")
{
	char options[2 * sizeof(folder)];

	make_certificates();
	run_script("printf 'topic read a\nuser ann\ntopic a\n' >rules; "
	           "printf 'certfile %s/cert\nkeyfile %s/key\n' >file; "
	           "printf 'cafile %s/ca\nrequire_certificate true\n' >>file; "
	           "printf 'use_identity_as_username true\nacl_file %s/rules\n' >>file",
	           folder, folder, folder, folder);
	snprintf(options, sizeof(options), "--log-level notice --config %s/file", folder);
	start_server(options);
	run_script("mosquitto_sub $p -t a -C 1 -W 1 2>/dev/null && exit 1; "
	           "mosquitto_pub $p $(as ann) -q 1 -r -t a -m kept || exit 2; "
	           "sed -i '/cafile/d; /require/d; /identity/d; /acl/d' file");
	kill(server_pid(), SIGHUP);
	await_said("event=option_kept option=cafile");
	await_said("event=option_kept option=require_certificate");
	await_said("event=option_kept option=acl_file");
	await_said("event=reloaded");
	run_script("mosquitto_sub $p -t a -C 1 -W 1 2>/dev/null && exit 1; "
	           "test \"$(mosquitto_sub $p $(as ann) -t a -C 1 -W 5)\" = kept || exit 2; "
	           "mosquitto_sub $p $(as bob) -t a -C 1 -W 1 2>/dev/null && exit 3; exit 0");
}

STORY(certificates_of_other_authorities_at_sighup, .timeout = 60, .mosquitto = "keeps the clients")
{
	struct client *slow;

	make_certificates();
	start_with_certificates("--require-certificate --connect-timeout 300");
	leave_subscribers();
	run_script("cp ca ca.good; echo nothing >ca");
	kill(server_pid(), SIGHUP);
	await_said("/ca reason=\"no certificates of authorities\"");
	await_said("stays as it was");
	run_script("p=\"${p%%ca}ca.good\"; mosquitto_pub $p $(as bob) -q 1 -t t -m x");
	slow = open_client("slow"); /* in its handshake */
	run_script("cat strange >ca");
	story_sleep(story_scaled(100));
	kill(server_pid(), SIGHUP);
	AT(await_outdated("ann"));
	AT(await_outdated("bob"));
	expect_closed(slow);
	run_script(
		"p=\"${p%%ca}ca.good\"; mosquitto_pub $p $(as strange) -q 1 -t t -m x || exit 1; "
		"mosquitto_pub $p $(as bob) -q 1 -t t -m x 2>/dev/null && exit 2; exit 0");
}

/* A name with a NUL, made of one without, and signed again by the authority. */
static void make_nul_name(void)
{
	static unsigned char bytes[8192];
	char path[sizeof(folder) + 16];
	FILE *file;
	size_t size, body;
	unsigned char *name;

	run_script("exec 2>/dev/null; openssl req -new -key client.key -out csr -subj /CN=annXbob "
	           "&& openssl x509 -req -in csr -CA ca -CAkey ca.key -CAcreateserial -days 2 "
	           "-outform DER -out nul.der");
	snprintf(path, sizeof(path), "%s/nul.der", folder);
	file = fopen(path, "r");
	check(file != NULL, "no certificate");
	size = fread(bytes, 1, sizeof(bytes), file);
	fclose(file);
	/* The head of a sequence; what is signed; the name of SHA-256 with RSA; the signature. */
	check(size > 300 && bytes[1] == 0x82, "another form");
	body = size - 4 - 15 - 5 - 256;
	name = memmem(bytes, size, "annXbob", 7);
	check(name != NULL, "no name");
	name[3] = '\0';
	snprintf(path, sizeof(path), "%s/nul.signed", folder);
	file = fopen(path, "w");
	check(file != NULL && fwrite(bytes + 4, 1, body, file) == body && fclose(file) == 0,
	      "cannot write");
	run_script("openssl dgst -sha256 -sign ca.key -out nul.signature nul.signed");
	snprintf(path, sizeof(path), "%s/nul.signature", folder);
	file = fopen(path, "r");
	check(file != NULL && fread(bytes + size - 256, 1, 256, file) == 256, "no signature");
	fclose(file);
	snprintf(path, sizeof(path), "%s/nul.der", folder);
	file = fopen(path, "w");
	check(file != NULL && fwrite(bytes, 1, size, file) == size && fclose(file) == 0,
	      "cannot write");
	run_script("openssl x509 -inform DER -in nul.der -out nul && openssl verify -CAfile ca nul "
	           ">/dev/null");
}

STORY(certificates_whose_name_is_none, .timeout = 60, .mosquitto = "has other words")
{
	make_certificates();
	start_with_certificates("--require-certificate --use-identity-as-username");
	make_nul_name();
	run_script(
		"exec 2>/dev/null; for who in /O=x /CN=ann/CN=bob; do "
		"openssl req -new -key client.key -out csr -subj $who && "
		"openssl x509 -req -in csr -CA ca -CAkey ca.key -CAcreateserial -days 2 -out odd "
		"|| exit 1; mosquitto_pub $p $(as odd) -t t -m x; test $? = 5 || exit 2; done; "
		"mosquitto_pub $p $(as nul) -t t -m x; test $? = 5 || exit 3; exit 0");
	await_said("reason=\"its certificate has no common name that can be a user name");
}

STORY(certificates_of_wrong_files_are_told, .timeout = 60, .mosquitto = "has other words")
{
	make_certificates();
	run_script(
		"b() { timeout %lld %s --port 0 --tls-cert cert --tls-key key \"$@\" >said 2>&1; "
		"test $? = 1; }; cd %s; "
		"b --tls-ca nothing || exit 1; "
		"grep -q 'nothing reason=.no certificates of auth' said || exit 2; "
		"b --tls-ca client.key || exit 3; "
		"b --tls-ca ca --tls-crl ca || exit 4; "
		"grep -q 'ca reason=.no lists of revoked' said || exit 5; "
		"b --tls-ca ca --tls-crl nothing || exit 6",
		story_scaled(5), realpath(server_path(), NULL), folder);
}

/* All is loaded; the broker says it, since clients say little. */
STORY(certificates_that_have_expired_are_told, .timeout = 60, .mosquitto = "does not tell")
{
	make_certificates();
	run_script("b() { timeout %lld %s --check-config --tls-cert $1 --tls-key ${3:-key} "
	           "--tls-ca ca --tls-crl $2 >said 2>&1; }; cd %s; exec 2>/dev/null; "
	           "b cert crl || exit 1; grep -q tls_expired said && exit 2; "
	           "openssl req -new -key key -out csr -subj /CN=localhost && openssl x509 -req "
	           "-in csr -CA ca -CAkey ca.key -CAcreateserial -days -1 -out old || exit 3; "
	           "b old crl || exit 4; "
	           "grep -q 'event=tls_expired file=old reason=.the certificate' said || exit 5; "
	           "openssl ca -config conf -gencrl -crlsec 1 -out crl -cert ca -keyfile ca.key || "
	           "exit 6; sleep 2; "
	           "b cert crl || exit 7; "
	           "grep -q 'event=tls_expired file=crl reason=.a list' said || exit 8; "
	           "openssl ec -aes256 -in key -passout pass:x -out locked || exit 9; "
	           "b cert crl locked && exit 10; "
	           "test $(grep -c 'level=error' said) = 1 || exit 11; "
	           "grep -q 'file=locked reason=.has a pass phrase' said || exit 12; exit 0",
	           story_scaled(5), realpath(server_path(), NULL), folder);
}

STORY(certificates_by_the_keys_of_mosquitto, .timeout = 60, .mosquitto = "has other words")
{
	make_certificates();
	run_script("b() { timeout %lld %s --check-config --config file >said 2>&1; }; cd %s; "
	           "printf 'acl_file rules\nlistener 1 127.0.0.1\nlistener 2 127.0.0.1\n"
	           "certfile cert\nkeyfile key\ncafile ca\ncrlfile crl\nrequire_certificate true\n"
	           "use_identity_as_username true\n' >file; "
	           "echo 'topic read a' >rules; b || exit 1; "
	           "echo 'topic reed a b' >rules; b && exit 2; "
	           "grep -q 'line=1 expected=.read, write' said || exit 3; "
	           "echo 'topic read a' >rules; echo no >crl; b && exit 4; "
	           "grep -q 'crl reason=.no lists of revoked' said || exit 5; "
	           "sed -i '/cafile/d' file; b && exit 6; grep -q 'need --tls-ca' said",
	           story_scaled(5), realpath(server_path(), NULL), folder);
}
