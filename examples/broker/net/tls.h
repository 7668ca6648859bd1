/* SPDX-License-Identifier: MIT */
/*
 * TLS by OpenSSL, which never sees a socket: a stream takes the bytes that libuv has read and
 * returns the bytes to be written. A connection's stream is used by its loop thread alone. OpenSSL
 * counts the settings (certificate, key, and which certificates of clients are accepted), so a
 * connection keeps those that it began with.
 */
#ifndef BROKER_TLS_H
#define BROKER_TLS_H

#include <stdbool.h>
#include <stddef.h>

#include "mqtt/names.h"

struct ssl_ctx_st; /* OpenSSL's SSL_CTX */
struct tls;
struct tls_proof;

#define TLS_RECORD_MAX 16384 /* bytes that one record carries */

/* The files, PEM. */
struct tls_files {
	const char *cert; /* the broker's certificate and chain */
	const char *key;
	const char
		*ca; /* clients' certificates must be signed by these; NULL: they are not asked */
	const char *crl; /* and must not be revoked by these lists; NULL: none */
	bool required;   /* a client must have a certificate */
};

/* Reads the files. Errors are logged: -EINVAL, -ENOMEM. */
int tls_load(const struct tls_files *files, struct ssl_ctx_st **context);
/* Are clients asked for certificates? */
bool tls_asks(const struct ssl_ctx_st *context);

void tls_reference(struct ssl_ctx_st *context);
void tls_release(struct ssl_ctx_st *context); /* may be NULL */

/* Makes the server's end of a new connection. NULL: no memory. */
struct tls *tls_create(struct ssl_ctx_st *context);
void tls_destroy(struct tls *tls); /* may be NULL */

/* Has the handshake ended? */
bool tls_ready(const struct tls *tls);

/*
 * The common name of the client's certificate, which lives as long as the stream. 1; 0: the client
 * has no certificate; -EINVAL: there is no name, or more than one, or it is empty or no UTF-8
 * without NUL.
 */
int tls_identity(struct tls *tls, struct slice *name);

/*
 * What the client's certificate and chain are checked by again, when the settings have changed.
 * prove: NULL: the client has no certificate. holds: any thread; do the settings accept it? It
 * verifies signatures, and so takes some time.
 */
struct tls_proof *tls_prove(const struct tls *tls);
bool tls_proof_holds(const struct tls_proof *proof, struct ssl_ctx_st *context);
void tls_proof_free(struct tls_proof *proof);

/* Takes encrypted bytes that have come from the client. False: no memory. */
bool tls_feed(struct tls *tls, const void *bytes, size_t size);

/* Holds the stream bytes, maybe a part of a record, that tls_read() has not returned yet? */
bool tls_begun(const struct tls *tls);

/*
 * Decrypts. Returns the number of bytes; 0: none yet; -ECONNRESET: the client has closed; -EPROTO:
 * the bytes are no acceptable TLS, or the client does not read what it has asked for. Each call may
 * leave bytes to be written.
 */
int tls_read(struct tls *tls, void *bytes, size_t size);

/* Encrypts at most TLS_RECORD_MAX bytes. 0; -EAGAIN: the handshake goes on; -EPROTO. */
int tls_write(struct tls *tls, const void *bytes, size_t size);

/* OpenSSL's reason for the last -EPROTO, a string that is never freed; NULL: none. */
const char *tls_reason(const struct tls *tls);

/* output: the bytes to be written, valid until the next call. taken: so many were written. */
size_t tls_output(struct tls *tls, const unsigned char **bytes);
void tls_taken(struct tls *tls, size_t size);

/* Makes the closing record, to be written. */
void tls_goodbye(struct tls *tls);

#endif
