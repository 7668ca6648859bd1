/* SPDX-License-Identifier: MIT */
/* TLS; see tls.h. */
#include "net/tls.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/bio.h>
#include <openssl/buffer.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>

#include "common/log.h"
#include "common/must.h"

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
	unsigned char *identity; /* of OpenSSL's memory; NULL: not looked at yet */
	size_t identity_size;
};

struct tls_proof {
	X509 *certificate;
	STACK_OF(X509) * chain;
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
static int tls_no_phrase(char *phrase, int size, int writing, void *asked)
{
	(void)phrase;
	(void)size;
	(void)writing;
	*(bool *)asked = true;
	return -1;
}

/* Such a file is not refused: the clock may be wrong, and OpenSSL judges each handshake. */
static void tls_warn_of_time(const char *path, const char *what)
{
	log_event(LOG_LEVEL_WARNING, "tls_expired", log_text("file", path),
	          log_text("reason", what));
}

/* One step of tls_load_own(). */
static int tls_load_key(SSL_CTX *context, const char *path)
{
	bool asked = false;
	int loaded;

	SSL_CTX_set_default_passwd_cb(context, tls_no_phrase);
	SSL_CTX_set_default_passwd_cb_userdata(context, &asked);
	loaded = SSL_CTX_use_PrivateKey_file(context, path, SSL_FILETYPE_PEM);
	SSL_CTX_set_default_passwd_cb_userdata(context, NULL);
	if (loaded != 1)
		return tls_complain(path, asked ? "has a pass phrase, and there is nobody to ask"
		                                : "no private key for that certificate");
	return 0;
}

static int tls_load_own(SSL_CTX *context, const struct tls_files *files)
{
	const X509 *own;

	if (SSL_CTX_use_certificate_chain_file(context, files->cert) != 1)
		return tls_complain(files->cert, "no certificate");
	if (tls_load_key(context, files->key) != 0)
		return -EINVAL;
	if (SSL_CTX_check_private_key(context) != 1)
		return tls_complain(files->key, "not the private key of that certificate");
	own = SSL_CTX_get0_certificate(context);
	if (X509_cmp_current_time(X509_get0_notAfter(own)) < 0)
		tls_warn_of_time(files->cert,
		                 "the certificate has expired: clients will refuse it");
	else if (X509_cmp_current_time(X509_get0_notBefore(own)) > 0)
		tls_warn_of_time(files->cert,
		                 "the certificate is of the future: clients will refuse it");
	return 0;
}

/* With a list that has expired, OpenSSL refuses all clients of its authority. */
static void tls_warn_of_lists(X509_STORE *store, const char *path)
{
	STACK_OF(X509_OBJECT) *objects = X509_STORE_get0_objects(store);

	for (int i = 0; i < sk_X509_OBJECT_num(objects); i++) {
		X509_CRL *list = X509_OBJECT_get0_X509_CRL(sk_X509_OBJECT_value(objects, i));
		const ASN1_TIME *next = list != NULL ? X509_CRL_get0_nextUpdate(list) : NULL;

		if (next != NULL && X509_cmp_current_time(next) < 0)
			tls_warn_of_time(
				path, "a list has expired: clients of its authority are refused");
	}
}

/* Clients have certificates. No handshake is a resumption of an earlier one, in which the client's
 * certificate was accepted by other files. */
static int tls_load_authorities(SSL_CTX *context, const struct tls_files *files)
{
	const int required = files->required ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0;
	X509_STORE *store = SSL_CTX_get_cert_store(context);
	X509_LOOKUP *lookup = X509_STORE_add_lookup(store, X509_LOOKUP_file());
	STACK_OF(X509_NAME) *names = SSL_load_client_CA_file(files->ca);

	if (names == NULL || SSL_CTX_load_verify_locations(context, files->ca, NULL) != 1) {
		sk_X509_NAME_pop_free(names, X509_NAME_free);
		return tls_complain(files->ca, "no certificates of authorities");
	}
	SSL_CTX_set_client_CA_list(context, names);
	if (files->crl != NULL) {
		if (lookup == NULL || X509_load_crl_file(lookup, files->crl, X509_FILETYPE_PEM) < 1)
			return tls_complain(files->crl, "no lists of revoked certificates");
		X509_STORE_set_flags(store, X509_V_FLAG_CRL_CHECK);
		tls_warn_of_lists(store, files->crl);
	}
	SSL_CTX_set_verify(context, SSL_VERIFY_PEER | required, NULL);
	SSL_CTX_set_options(context, SSL_OP_NO_TICKET);
	SSL_CTX_set_num_tickets(context, 0);
	return 0;
}

int tls_load(const struct tls_files *files, struct ssl_ctx_st **context)
{
	SSL_CTX *made = SSL_CTX_new(TLS_server_method());
	int status;

	if (made == NULL)
		return -ENOMEM;
	SSL_CTX_set_min_proto_version(made, TLS1_2_VERSION);
	SSL_CTX_set_options(made, SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE);
	/* An idle connection holds no buffers. */
	SSL_CTX_set_mode(made, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	SSL_CTX_set_session_cache_mode(made, SSL_SESS_CACHE_OFF);
	ERR_clear_error();
	status = tls_load_own(made, files);
	if (status == 0 && files->ca != NULL)
		status = tls_load_authorities(made, files);
	if (status != 0) {
		SSL_CTX_free(made);
		return status;
	}
	*context = made;
	return 0;
}

bool tls_asks(const struct ssl_ctx_st *context)
{
	return SSL_CTX_get_verify_mode(context) != SSL_VERIFY_NONE;
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
	OPENSSL_free(tls->identity);
	free(tls);
}

bool tls_ready(const struct tls *tls)
{
	return SSL_is_init_finished(tls->ssl) == 1;
}

/* The common name of a certificate. NULL: it has no common name, or more than one. */
static const ASN1_STRING *common_name(const X509 *certificate)
{
	const X509_NAME *subject = X509_get_subject_name(certificate);
	const int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);

	if (at < 0 || X509_NAME_get_index_by_NID(subject, NID_commonName, at) >= 0)
		return NULL;
	return X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at));
}

static int tls_identify(struct tls *tls)
{
	const X509 *certificate = SSL_get0_peer_certificate(tls->ssl);
	const ASN1_STRING *name = certificate != NULL ? common_name(certificate) : NULL;
	struct slice text;
	int size;

	if (certificate == NULL)
		return 0;
	size = name != NULL ? ASN1_STRING_to_UTF8(&tls->identity, name) : -1;
	ERR_clear_error();
	text = (struct slice){(char *)tls->identity, size > 0 ? (size_t)size : 0};
	if (size > 0 && size <= UINT16_MAX && names_utf8_valid(text)) {
		tls->identity_size = text.size;
		return 1;
	}
	if (size >= 0)
		OPENSSL_free(tls->identity);
	tls->identity = NULL;
	return -EINVAL;
}

int tls_identity(struct tls *tls, struct slice *name)
{
	const int status = tls->identity != NULL ? 1 : tls_identify(tls);

	if (status == 1)
		*name = (struct slice){(char *)tls->identity, tls->identity_size};
	return status;
}

struct tls_proof *tls_prove(const struct tls *tls)
{
	X509 *certificate = SSL_get1_peer_certificate(tls->ssl);
	STACK_OF(X509) *chain = SSL_get_peer_cert_chain(tls->ssl);
	struct tls_proof *proof;

	if (certificate == NULL)
		return NULL;
	proof = must_alloc(sizeof(*proof));
	proof->certificate = certificate;
	proof->chain = chain != NULL ? X509_chain_up_ref(chain) : NULL;
	return proof;
}

bool tls_proof_holds(const struct tls_proof *proof, struct ssl_ctx_st *context)
{
	X509_STORE_CTX *look = X509_STORE_CTX_new();
	bool holds = false;

	if (look != NULL &&
	    X509_STORE_CTX_init(look, SSL_CTX_get_cert_store(context), proof->certificate,
	                        proof->chain) == 1 &&
	    X509_STORE_CTX_set_default(look, "ssl_client") == 1)
		holds = X509_verify_cert(look) == 1;
	X509_STORE_CTX_free(look);
	ERR_clear_error();
	return holds;
}

void tls_proof_free(struct tls_proof *proof)
{
	X509_free(proof->certificate);
	sk_X509_pop_free(proof->chain, X509_free);
	free(proof);
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

	if (error == SSL_ERROR_SSL) {
		const long verified = SSL_get_verify_result(tls->ssl);

		tls->reason = verified != X509_V_OK ? X509_verify_cert_error_string(verified)
		                                    : ERR_reason_error_string(ERR_peek_error());
	}
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
