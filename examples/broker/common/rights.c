/* SPDX-License-Identifier: MIT */
/* The rules that are in force; see rights.h. */
#include "common/rights.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <baton/task.h>

#include "common/log.h"
#include "common/must.h"

#define READ_STEP 65536

static void rights_complain(void *path, size_t line, const char *expected)
{
	log_event(LOG_LEVEL_ERROR, "access_failed", log_text("file", path),
	          log_number("line", line), log_text("expected", expected));
}

static void rights_reclaim(struct baton_retired *retired)
{
	access_destroy(baton_container_of(retired, struct access, retired));
}

/* Appends the rest of the file to the text, which is to be freed. */
static int file_read(FILE *file, struct slice *text)
{
	char *bytes = NULL;
	size_t got;

	do {
		char *more = realloc(bytes, text->size + READ_STEP);

		if (more == NULL) {
			free(bytes);
			return -ENOMEM;
		}
		bytes = more;
		got = fread(bytes + text->size, 1, READ_STEP, file);
		text->size += got;
	} while (got == READ_STEP);
	text->bytes = bytes;
	return ferror(file) != 0 ? -EIO : 0;
}

int rights_read(const char *path, struct access **access)
{
	FILE *file = fopen(path, "re");
	struct slice text = {NULL, 0};
	int status = file == NULL ? -errno : file_read(file, &text);

	if (file != NULL)
		fclose(file);
	if (status == 0)
		status = access_parse(text, rights_complain, (void *)path, access);
	free((void *)text.bytes);
	if (status != 0 && status != -EINVAL) /* which was logged, for each line */
		log_event(LOG_LEVEL_ERROR, "access_failed", log_text("file", path),
		          log_text("reason", strerror(-status)));
	return status;
}

void rights_use(struct rights *rights, const char *path, struct access *access)
{
	log_event(LOG_LEVEL_INFO, "access_read", log_text("file", path),
	          log_number("rules", access->rules_count + access->patterns_count));
	if (rights->limited) {
		baton_published_replace(&rights->rules, &access->retired);
		return;
	}
	must(baton_published_init(&rights->rules, &access->retired, rights_reclaim),
	     "access rules");
	rights->limited = true; /* at the start of the broker: no other thread asks yet */
}

void rights_deinit(struct rights *rights)
{
	if (rights->limited)
		baton_published_deinit(&rights->rules);
	rights->limited = false;
}

bool rights_allow(const struct rights *rights, const struct access_client *client,
                  enum access_right right, struct slice topic)
{
	bool allowed;

	if (!rights->limited)
		return true;
	must(baton_epoch_enter(), "read the access rules");
	allowed = access_allows(
		baton_container_of(baton_published_read(&rights->rules), struct access, retired),
		client, right, topic);
	baton_epoch_leave();
	return allowed;
}
