/* SPDX-License-Identifier: MIT */
/*
 * TLS by OpenSSL, which never sees a socket: a stream takes the bytes that libuv has read and
 * returns the bytes to be written. A connection's stream is used by its loop thread alone. OpenSSL
 * counts the settings (certificate and key), so a connection keeps those that it began with.
 */
#ifndef BROKER_TLS_H
#define BROKER_TLS_H

#include <stdbool.h>
#include <stddef.h>

struct ssl_ctx_st; /* OpenSSL's SSL_CTX */
struct tls;

#define TLS_RECORD_MAX 16384 /* bytes that one record carries */

/* Reads the files, PEM. Errors are logged: -EINVAL, -ENOMEM. */
int tls_load(const char *cert, const char *key, struct ssl_ctx_st **context);
void tls_reference(struct ssl_ctx_st *context);
void tls_release(struct ssl_ctx_st *context); /* may be NULL */

/* Makes the server's end of a new connection. NULL: no memory. */
struct tls *tls_create(struct ssl_ctx_st *context);
void tls_destroy(struct tls *tls); /* may be NULL */

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
