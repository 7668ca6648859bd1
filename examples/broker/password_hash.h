/* SPDX-License-Identifier: MIT */
/*
 * One hash of the password file: of crypt(3), `$6$salt$...` and others, or of mosquitto_passwd,
 * `$7$iterations$salt$key` with base64 of a salt and of 64 bytes by PBKDF2 and SHA-512 (RFC 8018).
 */
#ifndef BROKER_PASSWORD_HASH_H
#define BROKER_PASSWORD_HASH_H

#include <stdbool.h>

#define PASSWORD_HASH_SIZE 384 /* of the longest hash there is, and its NUL */

/* NULL, or what is wrong with the hash. */
const char *password_hash_wrong(const char *hash);

/* Is this the password's hash? Slow by design. False, too, without memory. */
bool password_hash_fits(const char *hash, const char *password);

#endif
