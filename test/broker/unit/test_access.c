/* SPDX-License-Identifier: MIT */
/*
 * The broker's access rules (examples/broker/common/access.h): a table of files and questions, and
 * random files beside a model, which puts the names into the filters' text, and matches by regular
 * expressions.
 */
#include <criterion/criterion.h>

#include <errno.h>
#include <regex.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/access.h"

static struct slice slice_from(const char *text)
{
	return (struct slice){text, strlen(text)};
}

/* The lines that are wrong, in words: "1 4". */
static void note_line(void *wrong, size_t line, const char *expected)
{
	cr_assert(strlen(expected) > 0);
	snprintf((char *)wrong + strlen(wrong), 16, "%s%zu", *(char *)wrong != '\0' ? " " : "",
	         line);
}

static struct access *parsed(const char *file)
{
	struct access *access = NULL;
	char wrong[256] = "";
	const int status = access_parse(slice_from(file), note_line, wrong, &access);

	cr_assert_eq(status, 0, "lines %s are wrong in: %s", wrong, file);
	return access;
}

static bool allows(const struct access *access, const char *user, const char *id,
                   enum access_right right, const char *topic)
{
	const struct access_client client = {slice_from(user), slice_from(id)};

	return access_allows(access, &client, right, slice_from(topic));
}

#define ANN "user ann\n"

static const struct row {
	const char *file;
	const char *user;
	const char *id;
	const char *topic;
	const char *rights; /* r, w, rw or nothing */
} rows[] = {
	{"", "ann", "c", "a", ""},
	{"", "", "c", "a", ""},
	{"# nothing\n\n  \t\r\n", "ann", "c", "a", ""},
	{"topic a", "", "c", "a", "rw"},
	{"topic a", "ann", "c", "a", ""}, /* the lines of those without a name */
	{"topic read a", "", "c", "a", "r"},
	{"topic write a", "", "c", "a", "w"},
	{"topic readwrite a", "", "c", "a", "rw"},
	{"topic read a\ntopic write a", "", "c", "a", "rw"},
	{"topic read a/b c", "", "c", "a/b c", "r"},
	{"topic read a\r\n", "", "c", "a", "r"},
	{"  topic  read \t a  ", "", "c", "a", "r"},
	{"topic reader", "", "c", "reader", "rw"},
	{ANN "topic a", "ann", "c", "a", "rw"},
	{ANN "topic a", "", "c", "a", ""},
	{ANN "topic a", "an", "c", "a", ""},
	{ANN "topic a", "anna", "c", "a", ""},
	{ANN "topic a", "bob", "c", "a", ""},
	{"user  ann lee \ntopic a", "ann lee", "c", "a", "rw"},
	{ANN "topic read a\nuser bob\ntopic a\n" ANN "topic write a", "ann", "c", "a", "rw"},
	{ANN "topic read a\nuser bob\ntopic a\n" ANN "topic b", "bob", "c", "b", ""},
	/* Filters. */
	{"topic a/+", "", "c", "a/b", "rw"},
	{"topic a/+", "", "c", "a/b/c", ""},
	{"topic a/#", "", "c", "a/b/c", "rw"},
	{"topic a/#", "", "c", "a", "rw"},
	{"topic #", "", "c", "a/b", "rw"},
	{"topic #", "", "c", "$SYS/broker", ""},
	{"topic +/broker", "", "c", "$SYS/broker", ""},
	{"topic read $SYS/#", "", "c", "$SYS/broker", "r"},
	/* What is denied stays denied, wherever it stands. */
	{"topic deny a/b\ntopic a/#", "", "c", "a/b", ""},
	{"topic a/#\ntopic deny a/b", "", "c", "a/b", ""},
	{"topic a/#\ntopic deny a/b", "", "c", "a/c", "rw"},
	{ANN "topic a/#\npattern deny a/b", "ann", "c", "a/b", ""},
	{ANN "topic deny a/b\npattern a/#", "ann", "c", "a/b", ""},
	{ANN "topic deny a/b\npattern a/#", "bob", "c", "a/b", "rw"},
	/* Patterns. */
	{"pattern read a", "ann", "c", "a", "r"},
	{"pattern read a", "", "c", "a", "r"},
	{ANN "topic x\npattern read a", "bob", "c", "a", "r"},
	{"pattern %u", "ann", "c", "ann", "rw"},
	{"pattern %u", "ann", "c", "bob", ""},
	{"pattern %u/#", "ann", "c", "ann/x", "rw"},
	{"pattern %u/#", "", "c", "/x", ""},
	{"pattern a/%c/+", "", "c", "a/c/x", "rw"},
	{"pattern a/%c/+", "", "c", "a/d/x", ""},
	{"pattern a/%c", "", "", "a/", ""},
	{"pattern a/<%u-%c>/b", "ann", "c", "a/<ann-c>/b", "rw"},
	{"pattern a/<%u-%c>/b", "ann", "c", "a/<ann-cc>/b", ""},
	{"pattern a/%u%u", "ann", "c", "a/annann", "rw"},
	{"pattern a/%x/%", "ann", "c", "a/%x/%", "rw"},
	{"pattern %%u", "ann", "c", "%ann", "rw"},
	{"topic a/%u", "", "c", "a/%u", "rw"}, /* no pattern */
	{ANN "topic a/%u", "ann", "c", "a/ann", ""},
	{"pattern +/%c", "ann", "c", "x/c", "rw"},
	{"pattern +/%c", "ann", "c", "$x/c", ""},
	{"pattern $x/%c", "ann", "c", "$x/c", "rw"},
	/* Names that would be wildcards, more levels than one, or the broker's own topics. */
	{"pattern a/%u", "+", "c", "a/b", ""},
	{"pattern a/%u", "+", "c", "a/+", ""},
	{"pattern a/%u", "#", "c", "a/b", ""},
	{"pattern a/%c", "ann", "#", "a/b", ""},
	{"pattern a/%c", "ann", "+", "a/b", ""},
	{"pattern a/%c", "ann", "x+", "a/x+", ""},
	{"pattern a/%c", "ann", "x/y", "a/x/y", ""},
	{"pattern a/%c", "x/y", "c", "a/c", "rw"}, /* the pattern does not have that name */
	{"pattern a/%c/%u", "x/y", "c", "a/c/x/y", ""},
	{"pattern %u/#", "$SYS", "c", "$SYS/broker", ""},
	{"pattern %u/#", "a$", "c", "a$/broker", "rw"},
	{"pattern b\npattern a/%u", "#", "c", "b", "rw"},
	/* To deny too little would be worse than to deny too much. */
	{"pattern #\npattern deny a/%u", "ann", "c", "a/ann", ""},
	{"pattern #\npattern deny a/%u", "ann", "c", "b", "rw"},
	{"pattern #\npattern deny a/%u", "", "c", "b", "rw"},
	{"pattern #\npattern deny a/%u", "x/y", "c", "a/x/y", ""},
	{"pattern #\npattern deny a/%u", "x/y", "c", "b", ""},
	{ANN "topic #\npattern deny a/%c", "ann", "+", "b", ""},
};

Test(access, table, .timeout = 5)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *row = &rows[i];
		struct access *access = parsed(row->file);

		cr_expect_eq(allows(access, row->user, row->id, ACCESS_READ, row->topic),
		             strchr(row->rights, 'r') != NULL, "read, row %zu: %s", i, row->file);
		cr_expect_eq(allows(access, row->user, row->id, ACCESS_WRITE, row->topic),
		             strchr(row->rights, 'w') != NULL, "write, row %zu: %s", i, row->file);
		access_destroy(access);
	}
}

static const struct {
	const char *file;
	const char *wrong;
} errors[] = {
	{"topics a", "1"},
	{"a\n", "1"},
	{"Topic a\n", "1"},
	{"user\n", "1"},
	{"user  \t\n", "1"},
	{"user a\xff", "1"},
	{"topic", "1"},
	{"topic read", "1"},
	{"topic deny\n", "1"},
	{"pattern  write  ", "1"},
	{"topic reed a", "1"},
	{"topic read\ta b\ntopic a b", "2"},
	{"topic a#", "1"},
	{"topic a/#/b", "1"},
	{"topic read a+/b", "1"},
	{"pattern %u#", "1"},
	{"pattern +%c", "1"},
	{"topic a\xc0\x80", "1"},
	{"#\n\ntopics\ntopic a\nuser\n # \npattern", "3 5 7"},
};

Test(access, each_line_that_is_wrong_is_told, .timeout = 5)
{
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		struct access *access = NULL;
		char wrong[256] = "";

		cr_expect_eq(access_parse(slice_from(errors[i].file), note_line, wrong, &access),
		             -EINVAL, "row %zu", i);
		cr_expect_str_eq(wrong, errors[i].wrong, "row %zu", i);
		cr_expect_null(access);
	}
}

Test(access, a_nul_is_no_text, .timeout = 5)
{
	static const char file[] = "topic a\0b\nuser a\0b\n# \0\n";
	struct access *access = NULL;
	char wrong[256] = "";

	cr_assert_eq(
		access_parse((struct slice){file, sizeof(file) - 1}, note_line, wrong, &access),
		-EINVAL);
	cr_assert_str_eq(wrong, "1 2");
}

/* ---- Random files beside a model ---- */

static uint64_t state = 88172645463325252U;

static const char *pick(const char *const *words, unsigned int count)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return words[state % count];
}

#define PICK(words) pick(words, sizeof(words) / sizeof((words)[0]))

#define LINES 8
#define TEXT 64

struct line {
	const char *word; /* user, topic or pattern */
	const char *rights;
	char text[TEXT];
};

/* The filter matches the topic, by a regular expression. */
static bool model_matches(const char *filter, const char *topic)
{
	char expression[4 * TEXT] = "^";
	regex_t regex;
	bool found;

	if (topic[0] == '$' && strchr("+#", filter[0]) != NULL)
		return false;
	for (const char *at = filter; *at != '\0'; at++) {
		char *end = expression + strlen(expression);

		if (strcmp(at, "/#") == 0) {
			strcpy(end, "(/.*)?");
			break;
		}
		if (*at == '#')
			strcpy(end, ".*");
		else if (*at == '+')
			strcpy(end, "[^/]*");
		else
			snprintf(end, 4, "[%c]", *at);
	}
	strcat(expression, "$");
	cr_assert_eq(regcomp(&regex, expression, REG_EXTENDED | REG_NOSUB), 0, "%s", expression);
	found = regexec(&regex, topic, 0, NULL, 0) == 0;
	regfree(&regex);
	return found;
}

static bool model_unfit(const char *name)
{
	return name[0] == '$' || strpbrk(name, "+#/") != NULL;
}

/* Puts the name in the place of each `mark`. */
static void model_replace(char text[TEXT], const char *mark, const char *name)
{
	char *at;

	while ((at = strstr(text, mark)) != NULL) {
		char rest[TEXT];

		strcpy(rest, at + 2);
		snprintf(at, (size_t)(text + TEXT - at), "%s%s", name, rest);
	}
}

static bool model_allows(const struct line lines[LINES], const char *user, const char *id,
                         const char *right, const char *topic)
{
	const char *section = "";
	bool allowed = false;

	for (int i = 0; i < LINES; i++) {
		const struct line *line = &lines[i];
		const bool pattern = strcmp(line->word, "pattern") == 0;
		const bool denies = strcmp(line->rights, "deny") == 0;
		const bool user_in = pattern && strstr(line->text, "%u") != NULL;
		const bool id_in = pattern && strstr(line->text, "%c") != NULL;
		char filter[TEXT];

		if (strcmp(line->word, "user") == 0) {
			section = line->text;
			continue;
		}
		if ((!pattern && strcmp(section, user) != 0) || (user_in && *user == '\0'))
			continue;
		if ((user_in && model_unfit(user)) || (id_in && model_unfit(id))) {
			if (denies)
				return false;
			continue;
		}
		strcpy(filter, line->text);
		if (pattern) {
			model_replace(filter, "%u", user);
			model_replace(filter, "%c", id);
		}
		if (!model_matches(filter, topic))
			continue;
		if (denies)
			return false;
		allowed = allowed || line->rights[0] == '\0' || strstr(line->rights, right) != NULL;
	}
	return allowed;
}

static void make_line(struct line *line)
{
	static const char *const words[] = {"user", "topic", "topic", "pattern", "pattern"};
	static const char *const rights[] = {"", "read", "write", "readwrite", "deny"};
	static const char *const users[] = {"a", "b", "a/b", "+", "$a"};
	static const char *const levels[] = {"a",  "b",   "",   "+",     "+", "%u",
	                                     "%c", "a%u", "$a", "%c-%u", "%"};
	static const char *const lengths[] = {"1", "12", "123"};
	static const char *const ends[] = {"", "", "#"};
	const char *end;

	line->word = PICK(words);
	line->rights = PICK(rights);
	line->text[0] = '\0';
	if (strcmp(line->word, "user") == 0) {
		line->rights = "";
		strcpy(line->text, PICK(users));
		return;
	}
	for (const char *left = PICK(lengths); *left != '\0'; left++) {
		if (left[0] != '1')
			strcat(line->text, "/");
		strcat(line->text, PICK(levels));
	}
	end = PICK(ends);
	if (line->text[0] != '\0' && *end != '\0')
		strcat(line->text, "/");
	strcat(line->text, end);
	if (line->text[0] == '\0')
		strcpy(line->text, "a");
}

static void compare_file(const struct line lines[LINES], const struct access *access,
                         const char *file)
{
	static const char *const users[] = {"", "a", "b", "a/b", "+", "$a", "#", "ab"};
	static const char *const ids[] = {"a", "b", "a/b", "+", "$a", "#"};
	static const char *const levels[] = {"a", "b", "", "aa", "$a", "a-b", "%u", "ab", "%"};
	static const char *const lengths[] = {"1", "12", "123", "1234"};

	for (int i = 0; i < 40; i++) {
		const char *user = PICK(users), *id = PICK(ids);
		char topic[TEXT] = "";

		for (const char *left = PICK(lengths); *left != '\0'; left++) {
			if (left[0] != '1')
				strcat(topic, "/");
			strcat(topic, PICK(levels));
		}
		if (topic[0] == '\0')
			continue;
		cr_assert_eq(allows(access, user, id, ACCESS_READ, topic),
		             model_allows(lines, user, id, "read", topic),
		             "user %s, id %s reads %s:\n%s", user, id, topic, file);
		cr_assert_eq(allows(access, user, id, ACCESS_WRITE, topic),
		             model_allows(lines, user, id, "write", topic),
		             "user %s, id %s writes %s:\n%s", user, id, topic, file);
	}
}

Test(access, agrees_with_a_model, .timeout = 60)
{
	for (int i = 0; i < 1500; i++) {
		struct line lines[LINES];
		char file[LINES * 2 * TEXT] = "";
		struct access *access;

		for (int k = 0; k < LINES; k++) {
			char *end = file + strlen(file);

			make_line(&lines[k]);
			snprintf(end, 2 * TEXT, "%s %s%s%s\n", lines[k].word, lines[k].rights,
			         lines[k].rights[0] != '\0' ? " " : "", lines[k].text);
		}
		access = parsed(file);
		compare_file(lines, access, file);
		access_destroy(access);
	}
}
