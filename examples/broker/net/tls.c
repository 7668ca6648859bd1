/* SPDX-License-Identifier: MIT */
/* TLS; see tls.h. */
#include "net/tls.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/bio.h>
#include <openssl/buffer.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include "common/log.h"

/* More bytes than are ever encrypted before the socket takes them, and more than the stream itself
 * answers to one reading. */
#define TLS_OUTPUT_MAX ((size_t)16 * TLS_RECORD_MAX)

#define TLS_KEPT_MAX 4096 /* bytes of memory that a stream keeps when nothing lies in it */

struct tls {
	SSL *ssl;
	BIO *in;
	BIO *out;
	size_t taken; /* bytes of `out` that were written */
	const char *reason;
};

/* The first error names what is wrong with the file; later ones come from the callers. */
static int tls_complain(const char *path, const char *what)
{
	const unsigned long error = ERR_peek_error();
	const char *reason = ERR_SYSTEM_ERROR(error) ? strerror(ERR_GET_REASON(error))
	                                             : ERR_reason_error_string(error);

	log_event(LOG_LEVEL_ERROR, "tls_failed", log_text("file", path), log_text("reason", what),
	          log_text("detail", reason != NULL ? reason : "cannot be used"));
	ERR_clear_error();
	return -EINVAL;
}

/* Without this, OpenSSL would ask the terminal, also at SIGHUP. */
static int tls_no_phrase(char *phrase, int size, int writing, void *path)
{
	(void)phrase;
	(void)size;
	(void)writing;
	log_event(LOG_LEVEL_ERROR, "tls_failed", log_text("file", path),
	          log_text("reason", "has a pass phrase, and there is nobody to ask"));
	return -1;
}

int tls_load(const char *cert, const char *key, struct ssl_ctx_st **context)
{
	SSL_CTX *made = SSL_CTX_new(TLS_server_method());
	int status = 0;

	if (made == NULL)
		return -ENOMEM;
	SSL_CTX_set_min_proto_version(made, TLS1_2_VERSION);
	SSL_CTX_set_options(made, SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE);
	/* An idle connection holds no buffers. */
	SSL_CTX_set_mode(made, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	SSL_CTX_set_session_cache_mode(made, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_default_passwd_cb(made, tls_no_phrase);
	SSL_CTX_set_default_passwd_cb_userdata(made, (void *)key);
	if (SSL_CTX_use_certificate_chain_file(made, cert) != 1)
		status = tls_complain(cert, "no certificate");
	else if (SSL_CTX_use_PrivateKey_file(made, key, SSL_FILETYPE_PEM) != 1)
		status = tls_complain(key, "no private key for that certificate");
	else if (SSL_CTX_check_private_key(made) != 1)
		status = tls_complain(key, "not the private key of that certificate");
	if (status != 0) {
		SSL_CTX_free(made);
		return status;
	}
	*context = made;
	return 0;
}

void tls_reference(struct ssl_ctx_st *context)
{
	SSL_CTX_up_ref(context);
}

void tls_release(struct ssl_ctx_st *context)
{
	SSL_CTX_free(context);
}

struct tls *tls_create(struct ssl_ctx_st *context)
{
	struct tls *tls = calloc(1, sizeof(*tls));

	if (tls == NULL)
		return NULL;
	tls->ssl = SSL_new(context);
	tls->in = BIO_new(BIO_s_mem());
	tls->out = BIO_new(BIO_s_mem());
	if (tls->ssl == NULL || tls->in == NULL || tls->out == NULL) {
		SSL_free(tls->ssl);
		BIO_free(tls->in);
		BIO_free(tls->out);
		free(tls);
		ERR_clear_error();
		return NULL;
	}
	BIO_set_mem_eof_return(tls->in, -1); /* empty is "not yet", not "no more" */
	BIO_set_mem_eof_return(tls->out, -1);
	SSL_set_bio(tls->ssl, tls->in, tls->out);
	SSL_set_accept_state(tls->ssl);
	return tls;
}

void tls_destroy(struct tls *tls)
{
	if (tls == NULL)
		return;
	SSL_free(tls->ssl);
	free(tls);
}

/* Called when the BIO is empty. Replaces a large buffer: OpenSSL would keep the memory of a burst,
 * and clear all of it each time. */
static void bio_empty(BIO *bio)
{
	BUF_MEM *memory = NULL, *fresh = NULL;

	BIO_get_mem_ptr(bio, &memory);
	if (memory != NULL && memory->max > TLS_KEPT_MAX)
		fresh = BUF_MEM_new();
	if (fresh != NULL)
		BIO_set_mem_buf(bio, fresh, BIO_CLOSE);
	else
		(void)BIO_reset(bio);
}

bool tls_feed(struct tls *tls, const void *bytes, size_t size)
{
	return BIO_write(tls->in, bytes, (int)size) == (int)size;
}

static int tls_error(struct tls *tls, int result)
{
	const int error = SSL_get_error(tls->ssl, result);

	if (error == SSL_ERROR_SSL)
		tls->reason = ERR_reason_error_string(ERR_peek_error());
	ERR_clear_error(); /* the queue of errors is the thread's, not the stream's */
	if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE)
		return -EAGAIN;
	return error == SSL_ERROR_ZERO_RETURN ? -ECONNRESET : -EPROTO;
}

bool tls_begun(const struct tls *tls)
{
	return BIO_ctrl_pending(tls->in) > 0 || SSL_has_pending(tls->ssl) == 1;
}

int tls_read(struct tls *tls, void *bytes, size_t size)
{
	const unsigned char *output;
	int result, error;

	/* TLS itself answers some records (a key update by a key update), and the client might not
	 * read the answers. */
	if (tls_output(tls, &output) > TLS_OUTPUT_MAX)
		return -EPROTO;
	result = SSL_read(tls->ssl, bytes, size < INT_MAX ? (int)size : INT_MAX);
	if (result > 0)
		return result;
	error = tls_error(tls, result);
	if (BIO_ctrl_pending(tls->in) == 0)
		bio_empty(tls->in);
	return error == -EAGAIN ? 0 : error;
}

int tls_write(struct tls *tls, const void *bytes, size_t size)
{
	const int result = SSL_write(tls->ssl, bytes, (int)size);

	return result > 0 ? 0 : tls_error(tls, result);
}

size_t tls_output(struct tls *tls, const unsigned char **bytes)
{
	char *start = NULL;
	const long size = BIO_get_mem_data(tls->out, &start);

	*bytes = (const unsigned char *)start + tls->taken;
	return (size_t)size - tls->taken;
}

void tls_taken(struct tls *tls, size_t size)
{
	const unsigned char *bytes;

	tls->taken += size;
	if (tls_output(tls, &bytes) > 0)
		return;
	tls->taken = 0;
	bio_empty(tls->out);
}

const char *tls_reason(const struct tls *tls)
{
	return tls->reason;
}

void tls_goodbye(struct tls *tls)
{
	if (SSL_is_init_finished(tls->ssl))
		(void)SSL_shutdown(tls->ssl);
	ERR_clear_error();
}
