/* SPDX-License-Identifier: MIT */
/* The rules of an access file; see access.h. */
#include "common/access.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- The file ---- */

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static struct slice trimmed(struct slice text)
{
	while (text.size > 0 && is_blank(text.bytes[0])) {
		text.bytes++;
		text.size--;
	}
	while (text.size > 0 && is_blank(text.bytes[text.size - 1]))
		text.size--;
	return text;
}

/* Takes the part before the first byte for which `ends` holds off `rest`, that byte included. */
static struct slice taken(struct slice *rest, bool (*ends)(char c))
{
	struct slice part = {rest->bytes, 0};

	while (part.size < rest->size && !ends(rest->bytes[part.size]))
		part.size++;
	rest->bytes += part.size + (part.size < rest->size);
	rest->size -= part.size + (part.size < rest->size);
	return part;
}

static bool is_end(char c)
{
	return c == '\n';
}

static bool is_word(struct slice text, const char *word)
{
	return names_equal(text, (struct slice){word, strlen(word)});
}

/* Does the text have %u, or %c? */
static bool has_place(struct slice text, char kind)
{
	for (size_t i = 1; i < text.size; i++)
		if (text.bytes[i - 1] == '%' && text.bytes[i] == kind)
			return true;
	return false;
}

/* Takes the kind of access off the rest of a line, if it has one. */
static unsigned char rights_taken(struct slice *rest)
{
	static const struct {
		const char *word;
		unsigned char rights;
	} words[] = {{"read", ACCESS_READ},
	             {"write", ACCESS_WRITE},
	             {"readwrite", ACCESS_READ | ACCESS_WRITE},
	             {"deny", 0}};
	struct slice after = *rest;
	const struct slice word = taken(&after, is_blank);

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (is_word(word, words[i].word)) {
			*rest = trimmed(after);
			return words[i].rights;
		}
	return ACCESS_READ | ACCESS_WRITE;
}

/* A line `topic` or `pattern`, without this word. Returns NULL, or what was expected. */
static const char *rule_read(struct access_rule *rule, struct slice rest)
{
	const struct slice whole = rest;

	rule->rights = rights_taken(&rest);
	rule->filter = rest;
	if (rest.size == 0)
		return "a topic filter behind that";
	if (!names_utf8_valid(rest) || !names_filter_valid(rest))
		return "a topic filter: UTF-8, + and # as levels of their own, # as the last";
	for (size_t i = 0; rest.bytes == whole.bytes && i < rest.size; i++)
		if (is_blank(rest.bytes[i]))
			return "read, write, readwrite or deny before a filter with a blank";
	return NULL;
}

/* Returns NULL, or what was expected. */
static const char *line_read(struct access *access, struct slice line)
{
	const struct slice word = taken(&line, is_blank);
	struct access_rule rule = {0};
	const char *wrong;

	line = trimmed(line);
	if (is_word(word, "user")) {
		if (line.size == 0 || !names_utf8_valid(line))
			return "a user name, in UTF-8, behind that";
		access->sections[access->sections_count++] =
			(struct access_section){line, access->rules_count, 0};
		return NULL;
	}
	if (!is_word(word, "topic") && !is_word(word, "pattern"))
		return "user, topic, pattern, or # at the beginning";
	wrong = rule_read(&rule, line);
	if (wrong != NULL)
		return wrong;
	if (is_word(word, "topic")) {
		access->rules[access->rules_count++] = rule;
		access->sections[access->sections_count - 1].count++;
		return NULL;
	}
	rule.of_user = has_place(rule.filter, 'u');
	rule.of_client = has_place(rule.filter, 'c');
	access->patterns[access->patterns_count++] = rule;
	return NULL;
}

static int compare_names(struct slice a, struct slice b)
{
	const size_t shorter = a.size < b.size ? a.size : b.size;
	const int order = shorter > 0 ? memcmp(a.bytes, b.bytes, shorter) : 0;

	return order != 0 ? order : (a.size > b.size) - (a.size < b.size);
}

static int compare_sections(const void *a, const void *b)
{
	return compare_names(((const struct access_section *)a)->user,
	                     ((const struct access_section *)b)->user);
}

/* With room for the rules of so many lines. */
static struct access *access_create(struct slice file, size_t lines)
{
	struct access *access = calloc(1, sizeof(*access) + file.size);

	if (access == NULL)
		return NULL;
	access->sections = calloc(lines + 1, sizeof(*access->sections));
	access->rules = calloc(lines, sizeof(*access->rules));
	access->patterns = calloc(lines, sizeof(*access->patterns));
	if (access->sections == NULL || access->rules == NULL || access->patterns == NULL) {
		access_destroy(access);
		return NULL;
	}
	if (file.size > 0)
		memcpy(access->text, file.bytes, file.size);
	access->sections_count = 1; /* of those without a name */
	return access;
}

int access_parse(struct slice file, access_error_fn error, void *arg, struct access **access)
{
	struct slice rest = file;
	size_t lines = 1;
	struct access *made;
	bool failed = false;

	while (rest.size > 0) {
		(void)taken(&rest, is_end);
		lines++;
	}
	made = access_create(file, lines);
	if (made == NULL)
		return -ENOMEM;
	rest = (struct slice){made->text, file.size};
	for (size_t number = 1; rest.size > 0; number++) {
		const struct slice line = trimmed(taken(&rest, is_end));
		const char *wrong =
			line.size == 0 || line.bytes[0] == '#' ? NULL : line_read(made, line);

		if (wrong != NULL)
			error(arg, number, wrong);
		failed = failed || wrong != NULL;
	}
	if (failed) {
		access_destroy(made);
		return -EINVAL;
	}
	qsort(made->sections, made->sections_count, sizeof(*made->sections), compare_sections);
	*access = made;
	return 0;
}

void access_destroy(struct access *access)
{
	if (access == NULL)
		return;
	free(access->sections);
	free(access->rules);
	free(access->patterns);
	free(access);
}

/* ---- The rules ---- */

/* May the text stand for %u or %c? It stays within a level, and matches itself alone. */
static bool is_plain(struct slice text)
{
	return !names_wildcard(text) && memchr(text.bytes, '/', text.size) == NULL &&
	       text.bytes[0] != '$';
}

/* Is a level of a pattern, with the client's name and id in it, this level of a topic? */
static bool level_fits(struct slice level, const struct access_client *client, struct slice have)
{
	size_t at = 0;

	for (size_t i = 0; i < level.size; i++) {
		const char kind =
			level.bytes[i] == '%' && i + 1 < level.size ? level.bytes[i + 1] : '\0';
		struct slice part = {level.bytes + i, 1};

		if (kind == 'u' || kind == 'c') {
			part = kind == 'u' ? client->user : client->id;
			i++;
		}
		if (part.size > have.size - at ||
		    memcmp(have.bytes + at, part.bytes, part.size) != 0)
			return false;
		at += part.size;
	}
	return at == have.size;
}

/* As names_match(), of a pattern whose %u and %c are the client's. */
static bool pattern_matches(struct slice pattern, const struct access_client *client,
                            struct slice topic)
{
	struct slice want, have;

	if (topic.bytes[0] == '$' && pattern.bytes[0] != '$')
		return false;
	while (names_next_level(&pattern, &want)) {
		if (is_word(want, "#"))
			return true;
		if (!names_next_level(&topic, &have))
			return false;
		if (!is_word(want, "+") && !level_fits(want, client, have))
			return false;
	}
	return topic.bytes == NULL;
}

static bool rule_matches(const struct access_rule *rule, const struct access_client *client,
                         struct slice topic)
{
	if (!rule->of_user && !rule->of_client)
		return names_match(rule->filter, topic);
	if ((rule->of_user && client->user.size == 0) || (rule->of_client && client->id.size == 0))
		return false;
	if ((rule->of_user && !is_plain(client->user)) ||
	    (rule->of_client && !is_plain(client->id)))
		return rule->rights == 0;
	return pattern_matches(rule->filter, client, topic);
}

/* A question, and what the rules that were looked at say. */
struct question {
	const struct access_client *client;
	enum access_right right;
	struct slice topic;
	bool allowed;
	bool denied;
};

static void rules_ask(struct question *question, const struct access_rule *rules, size_t count)
{
	for (size_t i = 0; i < count && !question->denied; i++) {
		const bool denies = rules[i].rights == 0;

		/* A rule that would change nothing is not compared. */
		if (!denies && (question->allowed || (rules[i].rights & question->right) == 0))
			continue;
		if (!rule_matches(&rules[i], question->client, question->topic))
			continue;
		question->denied = denies;
		question->allowed = true;
	}
}

/* The user's first section, or where it would be. */
static size_t sections_find(const struct access *access, struct slice user)
{
	size_t from = 0, to = access->sections_count;

	while (from < to) {
		const size_t middle = from + (to - from) / 2;

		if (compare_names(access->sections[middle].user, user) < 0)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

bool access_allows(const struct access *access, const struct access_client *client,
                   enum access_right right, struct slice topic)
{
	struct question question = {.client = client, .right = right, .topic = topic};
	const struct access_section *section =
		&access->sections[sections_find(access, client->user)];
	const struct access_section *end = access->sections + access->sections_count;

	for (; section < end && names_equal(section->user, client->user); section++)
		rules_ask(&question, access->rules + section->first, section->count);
	rules_ask(&question, access->patterns, access->patterns_count);
	return question.allowed && !question.denied;
}
