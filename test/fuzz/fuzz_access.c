/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target: the example broker's access files. An input is a user name, a client id and a topic,
 * a line each, and the file. Properties:
 *
 * - nothing outside the file's bytes is read;
 * - a file is refused if and only if a line was told; each such line is told once, in order;
 * - the rules of a file that is accepted are valid filters, and lie in its text;
 * - a line for the topic at the end takes nothing away; a `deny` line there takes all away;
 * - ends of lines may be those of DOS.
 */
#include <errno.h>

#include "common/access.h"
#include "fuzz.h"

struct told {
	size_t last;
	size_t count;
};

static void note_line(void *arg, size_t line, const char *expected)
{
	struct told *told = arg;

	FUZZ_CHECK(line > told->last && expected[0] != '\0');
	told->last = line;
	told->count++;
}

/* NULL: the file is refused. */
static struct access *parse(struct slice file)
{
	const struct fuzz_copy copy = fuzz_copy(file.bytes, file.size);
	struct access *access = NULL;
	struct told told = {0, 0};
	const int status = access_parse((struct slice){(char *)copy.bytes, file.size}, note_line,
	                                &told, &access);

	fuzz_uncopy(copy);
	FUZZ_CHECK(status == (told.count > 0 ? -EINVAL : 0));
	FUZZ_CHECK((status == 0) == (access != NULL));
	return access;
}

static void check_rules(const struct access *access, const struct access_rule *rules, size_t count,
                        size_t size)
{
	for (size_t i = 0; i < count; i++) {
		const struct slice filter = rules[i].filter;

		FUZZ_CHECK(filter.bytes >= access->text &&
		           filter.bytes + filter.size <= access->text + size);
		FUZZ_CHECK(names_utf8_valid(filter) && names_filter_valid(filter));
	}
}

/* 1: may read; 2: may write. */
static unsigned int rights_of(const struct access *access, const struct access_client *client,
                              struct slice topic)
{
	return (access_allows(access, client, ACCESS_READ, topic) ? 1U : 0U) +
	       (access_allows(access, client, ACCESS_WRITE, topic) ? 2U : 0U);
}

/* The same with these words and the topic as one more line. */
static unsigned int rights_with(struct slice file, const char *words,
                                const struct access_client *client, struct slice topic)
{
	const size_t size = file.size + 1 + strlen(words) + topic.size;
	char *text = malloc(size + 1);
	struct access *access;
	unsigned int rights;

	FUZZ_CHECK(text != NULL);
	if (file.size > 0)
		memcpy(text, file.bytes, file.size);
	strcpy(strcpy(text + file.size, "\n") + 1, words);
	memcpy(text + size - topic.size, topic.bytes, topic.size);
	access = parse((struct slice){text, size});
	free(text);
	FUZZ_CHECK(access != NULL);
	rights = rights_of(access, client, topic);
	access_destroy(access);
	return rights;
}

static void check_dos(struct slice file, unsigned int rights, const struct access_client *client,
                      struct slice topic)
{
	char *text = malloc(2 * file.size + 1);
	struct access *access;
	size_t size = 0;

	FUZZ_CHECK(text != NULL);
	for (size_t i = 0; i < file.size; i++) {
		if (file.bytes[i] == '\n')
			text[size++] = '\r';
		text[size++] = file.bytes[i];
	}
	access = parse((struct slice){text, size});
	free(text);
	FUZZ_CHECK(access != NULL && rights_of(access, client, topic) == rights);
	access_destroy(access);
}

static struct slice line_take(struct slice *rest)
{
	const char *end = rest->size > 0 ? memchr(rest->bytes, '\n', rest->size) : NULL;
	struct slice line = *rest;

	if (end == NULL) {
		*rest = (struct slice){rest->bytes + rest->size, 0};
		return line;
	}
	line.size = (size_t)(end - line.bytes);
	rest->bytes += line.size + 1;
	rest->size -= line.size + 1;
	return line;
}

/* Can the topic stand in a line, and mean itself? */
static bool is_plain_topic(struct slice topic)
{
	return memchr(topic.bytes, '%', topic.size) == NULL && topic.bytes[0] > ' ' &&
	       topic.bytes[topic.size - 1] > ' ';
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice file = {(const char *)data, size};
	const struct slice user = line_take(&file), id = line_take(&file), topic = line_take(&file);
	const struct access_client client = {user, id};
	struct access *access;
	unsigned int rights;

	if (!names_utf8_valid(client.user) || !names_utf8_valid(client.id) ||
	    !names_utf8_valid(topic) || !names_topic_valid(topic))
		return 0;
	access = parse(file);
	if (access == NULL)
		return 0;
	check_rules(access, access->rules, access->rules_count, file.size);
	check_rules(access, access->patterns, access->patterns_count, file.size);
	rights = rights_of(access, &client, topic);
	access_destroy(access);
	check_dos(file, rights, &client, topic);
	if (!is_plain_topic(topic))
		return 0;
	FUZZ_CHECK((rights & ~rights_with(file, "pattern readwrite ", &client, topic)) == 0);
	FUZZ_CHECK(rights_with(file, "pattern deny ", &client, topic) == 0);
	return 0;
}
