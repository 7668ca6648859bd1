/* SPDX-License-Identifier: MIT */
/*
 * TLS. hiredis verifies by whom a certificate was made, but not for which name: so the context of
 * OpenSSL is made here, which verifies both before anything is sent.
 */
#include "companion/redis/redis.h"

#include <hiredis/hiredis.h>

#include <errno.h>

#if __has_include(<hiredis/hiredis_ssl.h>)

#include <hiredis/hiredis_ssl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int fail_tls(struct baton_redis *redis, int error, const char *what, const char *why)
{
	char text[256];

	snprintf(text, sizeof(text), "TLS: %s: %s", what, why);
	return baton__redis_fail(redis, error, text);
}

static const char *last_reason(void)
{
	const char *reason = ERR_reason_error_string(ERR_peek_last_error());

	return reason ? reason : "no memory";
}

/* Says which option names the file, and why the file cannot be used: OpenSSL's reasons do not. */
static int fail_file(struct baton_redis *redis, const char *option, const char *path)
{
	bool has_key = strcmp(option, "tls_key") == 0;
	char what[200];

	snprintf(what, sizeof(what), "%s %s", option, path);
	return fail_tls(redis, -EINVAL, what,
	                access(path, R_OK) ? strerror(errno)
	                : has_key          ? "it has no key of the certificate that can be read"
	                                   : "it has no certificate that can be read");
}

/* The authority, and this program's certificate. */
static int make_context(struct baton_redis *redis)
{
	const struct baton_redis_options *options = &redis->options;
	const char *key = options->tls_key ? options->tls_key : options->tls_cert;
	const char *cert = options->tls_cert ? options->tls_cert : key;
	SSL_CTX *context = SSL_CTX_new(TLS_client_method());
	int error = 0;

	if (!context)
		return fail_tls(redis, -ENOMEM, "no context", last_reason());
	SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
	ERR_clear_error();
	if (SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) != 1)
		error = fail_tls(redis, -EINVAL, "TLS 1.2", last_reason());
	else if (!options->tls_ca && SSL_CTX_set_default_verify_paths(context) != 1)
		error = fail_tls(redis, -EINVAL, "the system's authorities", last_reason());
	else if (options->tls_ca &&
	         SSL_CTX_load_verify_locations(context, options->tls_ca, NULL) != 1)
		error = fail_file(redis, "tls_ca", options->tls_ca);
	else if (cert && SSL_CTX_use_certificate_chain_file(context, cert) != 1)
		error = fail_file(redis, "tls_cert", cert);
	else if (key && SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) != 1)
		error = fail_file(redis, "tls_key", key);
	if (error) {
		SSL_CTX_free(context);
		return error;
	}
	redis->tls = context;
	return 0;
}

/* The name, or address, that the server's certificate must have. NULL: none is known. */
static const char *expected_name(const struct baton_redis *redis,
                                 const struct redisContext *context)
{
	if (redis->options.tls_server_name)
		return redis->options.tls_server_name;
	return context->connection_type == REDIS_CONN_TCP ? context->tcp.host : NULL;
}

static bool expect_name(SSL *tls, const char *name)
{
	/* An address has a field of its own in a certificate, and is no name to be asked for. */
	if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(tls), name) == 1)
		return true;
	SSL_set_hostflags(tls, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
	return SSL_set1_host(tls, name) == 1 && SSL_set_tlsext_host_name(tls, name) == 1;
}

int baton__redis_begin_tls(struct baton_redis *redis, struct redisContext *context)
{
	const char *name = expected_name(redis, context);
	int error = redis->tls ? 0 : make_context(redis);
	long verdict;
	SSL *tls;

	if (error)
		return error;
	if (!name)
		return fail_tls(redis, -EINVAL, "tls_server_name",
		                "over a unix socket nothing else says whose certificate to expect");
	tls = SSL_new(redis->tls);
	if (!tls || !expect_name(tls, name)) {
		SSL_free(tls);
		return fail_tls(redis, -EINVAL, name, "it cannot be expected of a certificate");
	}
	if (redisInitiateSSL(context, tls) == REDIS_OK)
		return 0; /* `tls` is freed with the connection */
	verdict = SSL_get_verify_result(tls);
	SSL_free(tls);
	if (verdict != X509_V_OK)
		return fail_tls(redis, -EACCES, name, X509_verify_cert_error_string(verdict));
	return baton__redis_unreachable(redis, context);
}

void baton__redis_free_tls(struct baton_redis *redis)
{
	SSL_CTX_free(redis->tls);
}

#else

int baton__redis_begin_tls(struct baton_redis *redis, struct redisContext *context)
{
	(void)context;
	return baton__redis_fail(redis, -ENOTSUP,
	                         "this libbaton-redis was built with a hiredis without TLS");
}

void baton__redis_free_tls(struct baton_redis *redis)
{
	(void)redis;
}

#endif
