/* SPDX-License-Identifier: MIT */
/*
 * TLS by OpenSSL, which never sees a socket: a stream takes in what libuv has read and gives out
 * what is to be written. One connection's stream is its loop thread's alone; the settings
 * (certificate and key) are counted by OpenSSL, so that a connection keeps those that it began
 * with.
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

/* The server's end of a new connection. NULL: no memory. */
struct tls *tls_create(struct ssl_ctx_st *context);
void tls_destroy(struct tls *tls); /* may be NULL */

/* What has come from the client, encrypted. False: no memory. */
bool tls_feed(struct tls *tls, const void *bytes, size_t size);

/* Has it been fed what tls_read() has not given back, part of a record maybe? */
bool tls_begun(const struct tls *tls);

/*
 * What it means: > 0 bytes; 0: nothing yet; a negative errno: -ECONNRESET: the client has closed,
 * -EPROTO: this is not TLS, or not good enough, or asks for too much that is not read. It may have
 * things to be written each time.
 */
int tls_read(struct tls *tls, void *bytes, size_t size);

/* Encrypts at most TLS_RECORD_MAX bytes. 0; -EAGAIN: hands are not shaken yet; -EPROTO. */
int tls_write(struct tls *tls, const void *bytes, size_t size);

/* OpenSSL's words for the last -EPROTO, which last; NULL: none. */
const char *tls_reason(const struct tls *tls);

/* What is to be written to the socket, and that some of it was. Any other call moves it. */
size_t tls_output(struct tls *tls, const unsigned char **bytes);
void tls_taken(struct tls *tls, size_t size);

/* The last words, to be written. */
void tls_goodbye(struct tls *tls);

#endif
