/* SPDX-License-Identifier: MIT */
/*
 * Who may connect. The password file has a line `user:hash` for each user, the hash as crypt(3)
 * writes it (`openssl passwd -6`, `mkpasswd`); empty lines and those that begin with # are skipped.
 *
 * The users are a resource: a look-up copies one hash out, and a reload puts another list in its
 * place. Nobody computes a hash under its baton, nor on a loop's thread: to be slow is what these
 * hashes are for. That happens in the pool for slow things (login.h).
 */
#ifndef BROKER_PASSWORDS_H
#define BROKER_PASSWORDS_H

#include <stdbool.h>
#include <stddef.h>

#include <baton/resource.h>

#include "mqtt/names.h"

#define PASSWORDS_HASH_SIZE 384 /* of the longest hash there is, and its NUL */

struct password_list;

struct passwords {
	struct baton_resource resource;
	struct password_list *list; /* NULL: there is no password file */
};

void passwords_init(struct passwords *passwords, const struct baton_resource_config *config);
void passwords_deinit(struct passwords *passwords);

/* Reads the file and puts it in the place of the old one; logs errors and keeps the old one. */
int passwords_load(struct passwords *passwords, const char *path);

/* Is the password this user's? Takes its time. A user that is not there costs the same. */
bool passwords_check(struct passwords *passwords, struct slice user, const char *password);

#endif
