/* SPDX-License-Identifier: MIT */
/*
 * The users that may connect. The password file has a line `user:hash` for each user, with the hash
 * as crypt(3) writes it (`openssl passwd -6`, `mkpasswd`), or mosquitto_passwd. Empty lines and
 * lines that begin with # are skipped.
 *
 * The list of users is a resource: a look-up copies one hash out, and a reload replaces the list. A
 * hash is never computed under this baton, nor on a loop's thread, since these hashes are slow by
 * design: the pool for slow things computes them (login.h).
 */
#ifndef BROKER_PASSWORDS_H
#define BROKER_PASSWORDS_H

#include <stdbool.h>
#include <stddef.h>

#include <baton/resource.h>

#include "common/vouchers.h"
#include "mqtt/names.h"

struct password_list;

struct passwords {
	struct baton_resource resource;
	struct password_list *list; /* NULL: there is no password file */
	uint64_t generation;        /* how often the list was replaced */
};

void passwords_init(struct passwords *passwords, const struct baton_resource_config *config);
void passwords_deinit(struct passwords *passwords);

/*
 * read: makes a list of the file's users; logs errors. use: replaces the list, and returns the
 * vouchers of the new one, which it takes. destroy: of a list that is not used; NULL is allowed.
 */
int passwords_read(const char *path, struct password_list **list);
struct vouchers *passwords_use(struct passwords *passwords, const char *path,
                               struct password_list *list);
void password_list_destroy(struct password_list *list);

/* The line that let a user in, and of which list it was. */
struct password_proof {
	uint64_t voucher;
	uint64_t generation;
};

/* Is the password this user's? Slow. An unknown user takes as long as a known one. */
bool passwords_check(struct passwords *passwords, struct slice user, const char *password,
                     struct password_proof *proof);

#endif
