/* SPDX-License-Identifier: MIT */
/* The password file; see passwords.h. */
#include "passwords.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/must.h"
#include "password_hash.h"

struct password {
	struct slice user;
	const char *hash;
	char *line; /* user and hash lie in it */
	uint64_t voucher;
};

struct password_list {
	struct password *users; /* sorted */
	size_t count;
	size_t capacity;
};

void password_list_destroy(struct password_list *list)
{
	if (list == NULL)
		return;
	for (size_t i = 0; i < list->count; i++)
		free(list->users[i].line);
	free(list->users);
	free(list);
}

static int compare_users(const void *a, const void *b)
{
	const struct slice *left = &((const struct password *)a)->user;
	const struct slice *right = &((const struct password *)b)->user;
	const size_t shorter = left->size < right->size ? left->size : right->size;
	const int order = memcmp(left->bytes, right->bytes, shorter);

	return order != 0 ? order : (left->size > right->size) - (left->size < right->size);
}

/* Takes the line. Returns NULL, or what is wrong with the line. */
static const char *list_add(struct password_list *list, char *line)
{
	char *colon = strchr(line, ':');
	struct password *user;
	const char *wrong;

	if (colon == NULL || colon == line) {
		free(line);
		return "not `user:hash`";
	}
	wrong = password_hash_wrong(colon + 1);
	if (wrong != NULL) {
		free(line);
		return wrong;
	}
	if (list->count == list->capacity) {
		list->capacity = list->capacity == 0 ? 16 : list->capacity * 2;
		list->users = realloc(list->users, list->capacity * sizeof(*list->users));
		must(list->users == NULL ? -ENOMEM : 0, "password file");
	}
	user = &list->users[list->count++];
	user->line = line;
	user->user = (struct slice){line, (size_t)(colon - line)};
	user->hash = colon + 1;
	user->voucher = voucher_of(line, strlen(line));
	return NULL;
}

/* One line without its end, to be freed; NULL at the end of the file. */
static char *line_read(FILE *file)
{
	char *line = NULL;
	size_t size = 0;

	if (getline(&line, &size, file) < 0) {
		free(line);
		return NULL;
	}
	line[strcspn(line, "\r\n")] = '\0';
	return line;
}

static int list_read(struct password_list *list, FILE *file, const char *path)
{
	const char *wrong = NULL;
	char *line;

	for (size_t number = 1; (line = line_read(file)) != NULL; number++) {
		if (line[0] == '\0' || line[0] == '#') {
			free(line);
			continue;
		}
		wrong = list_add(list, line);
		if (wrong == NULL)
			continue;
		log_event(LOG_LEVEL_ERROR, "passwords_failed", log_text("file", path),
		          log_number("line", number), log_text("reason", wrong));
		return -EINVAL;
	}
	if (ferror(file) != 0) {
		log_event(LOG_LEVEL_ERROR, "passwords_failed", log_text("file", path),
		          log_text("reason", "cannot be read"));
		return -EIO;
	}
	if (list->count > 0) /* NULL may not be sorted */
		qsort(list->users, list->count, sizeof(*list->users), compare_users);
	for (size_t i = 1; i < list->count; i++)
		if (compare_users(&list->users[i - 1], &list->users[i]) == 0) {
			log_event(LOG_LEVEL_ERROR, "passwords_failed", log_text("file", path),
			          log_slice("user", list->users[i].user),
			          log_text("reason", "is there twice"));
			return -EINVAL;
		}
	return 0;
}

struct exchange {
	struct passwords *passwords;
	struct password_list *list;
	uint64_t generation;
};

static void *passwords_run_exchange(void *arg)
{
	struct exchange *exchange = arg;
	struct password_list *old = exchange->passwords->list;

	exchange->passwords->list = exchange->list;
	exchange->list = old;
	exchange->generation = ++exchange->passwords->generation;
	return NULL;
}

static struct vouchers *list_vouchers(const struct password_list *list)
{
	struct vouchers *vouchers = vouchers_create(list->count);

	for (size_t i = 0; i < list->count; i++)
		vouchers->each[i] = list->users[i].voucher;
	vouchers_sort(vouchers);
	return vouchers;
}

int passwords_read(const char *path, struct password_list **list)
{
	struct password_list *made;
	FILE *file = fopen(path, "re");
	int status;

	if (file == NULL) {
		status = -errno;
		log_event(LOG_LEVEL_ERROR, "passwords_failed", log_text("file", path),
		          log_text("reason", strerror(-status)));
		return status;
	}
	made = must_alloc(sizeof(*made));
	status = list_read(made, file, path);
	fclose(file);
	if (status != 0) {
		password_list_destroy(made);
		return status;
	}
	*list = made;
	return 0;
}

struct vouchers *passwords_use(struct passwords *passwords, const char *path,
                               struct password_list *list)
{
	struct exchange exchange = {passwords, list, 0};
	struct vouchers *vouchers = list_vouchers(list);

	log_event(list->count > 0 ? LOG_LEVEL_INFO : LOG_LEVEL_WARNING, "passwords_read",
	          log_text("file", path), log_number("users", list->count));
	must(baton_call(&passwords->resource, passwords_run_exchange, &exchange, NULL),
	     "new passwords");
	vouchers->generation = exchange.generation;
	password_list_destroy(exchange.list); /* the old one */
	return vouchers;
}

struct lookup {
	const struct passwords *passwords;
	struct slice user;
	bool found;
	struct password_proof proof;
	char hash[PASSWORD_HASH_SIZE];
};

/* An unknown user gets the hash of another one, so that the check takes as long. */
static void *passwords_run_lookup(void *arg)
{
	struct lookup *lookup = arg;
	const struct password_list *list = lookup->passwords->list;
	const struct password key = {.user = lookup->user};
	const struct password *user = NULL;

	if (list == NULL || list->count == 0)
		return NULL;
	user = bsearch(&key, list->users, list->count, sizeof(*list->users), compare_users);
	lookup->found = user != NULL;
	lookup->proof.generation = lookup->passwords->generation;
	if (user != NULL)
		lookup->proof.voucher = user->voucher;
	if (user == NULL)
		user = &list->users[0];
	memcpy(lookup->hash, user->hash, strlen(user->hash) + 1);
	return NULL;
}

bool passwords_check(struct passwords *passwords, struct slice user, const char *password,
                     struct password_proof *proof)
{
	struct lookup lookup = {.passwords = passwords, .user = user};
	bool good;

	must(baton_call(&passwords->resource, passwords_run_lookup, &lookup, NULL), "password");
	good = password_hash_fits(lookup.hash, password);
	*proof = lookup.proof;
	return good && lookup.found;
}

void passwords_init(struct passwords *passwords, const struct baton_resource_config *config)
{
	baton_resource_init(&passwords->resource, config);
}

void passwords_deinit(struct passwords *passwords)
{
	baton_resource_close(&passwords->resource);
	/* A thread of the pool for slow things may just be leaving it. */
	must(baton_resource_await(&passwords->resource), "end of the passwords");
	baton_resource_deinit(&passwords->resource);
	password_list_destroy(passwords->list);
	passwords->list = NULL;
}
