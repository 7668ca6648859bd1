/* SPDX-License-Identifier: MIT */
/* Settings, and the file; see option_read.h. */
#include "common/option_read.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/must.h"
#include "common/printable.h"

#define LINE_SIZE 1024
#define TYPOS_MAX 3 /* letters in which a name that is suggested may differ */

/* Says an error. `line`: of the file; 0: none. */
void option_complain(struct reading *reading, unsigned int line, const char *format, ...)
{
	char text[LINE_SIZE];
	va_list arguments;
	int used = 0;

	if (line > 0)
		used = snprintf(text, sizeof(text) / 2, "%s:%u: ", reading->file, line);
	if (used >= (int)sizeof(text) / 2)
		used = (int)sizeof(text) / 2 - 1;
	va_start(arguments, format);
	vsnprintf(text + used, sizeof(text) - (size_t)used, format, arguments);
	va_end(arguments);
	printable(text, strlen(text));
	reading->say(text);
	reading->errors++;
}

/* ---- Names ---- */

static const struct option_row *row_of_key(const char *key)
{
	for (size_t i = 0; i < option_rows; i++)
		if (option_table[i].key != NULL && strcmp(option_table[i].key, key) == 0)
			return &option_table[i];
	return NULL;
}

static size_t least_of(size_t a, size_t b, size_t c)
{
	const size_t least = a < b ? a : b;

	return least < c ? least : c;
}

/* In how many letters two names differ (Levenshtein's distance); SIZE_MAX: long names. */
static size_t distance(const char *a, const char *b)
{
	enum { LONGEST = 64 };
	const size_t size = strlen(b);
	size_t row[LONGEST + 1], corner, above;

	if (size > LONGEST)
		return SIZE_MAX;
	for (size_t j = 0; j <= size; j++)
		row[j] = j;
	for (size_t i = 0; a[i] != '\0'; i++) {
		corner = row[0]++;
		for (size_t j = 0; j < size; j++) {
			above = row[j + 1];
			row[j + 1] = least_of(row[j] + 1, above + 1, corner + (a[i] != b[j]));
			corner = above;
		}
	}
	return row[size];
}

/* The key that is most like it, or the name if `name`; NULL: none is like it. */
const char *option_nearest(const char *text, bool name)
{
	size_t best = TYPOS_MAX + 1;
	const char *found = NULL;

	for (size_t i = 0; i < option_rows; i++) {
		const char *candidate = name && option_table[i].kind != OPTION_HEADING
		                                ? option_table[i].name
		                                : option_table[i].key;
		const size_t typos = candidate != NULL ? distance(text, candidate) : best;

		if (typos < best) {
			best = typos;
			found = candidate;
		}
	}
	return found;
}

static void complain_unknown(struct reading *reading, unsigned int line, const char *key)
{
	const char *instead = option_missing(key), *near = option_nearest(key, false);

	if (instead != NULL)
		option_complain(reading, line, "%s: mosquitto has it, this broker has not: %s", key,
		                instead);
	else if (near != NULL)
		option_complain(reading, line, "%s: unknown; is %s meant?", key, near);
	else
		option_complain(reading, line, "%s: unknown", key);
}

const struct option_row *option_named(const char *name)
{
	for (size_t i = 0; i < option_rows; i++)
		if (option_table[i].kind != OPTION_HEADING &&
		    strcmp(option_table[i].name, name) == 0)
			return &option_table[i];
	return NULL;
}

/* ---- The settings ---- */

/* Adds it, if its value is right. */
void option_add(struct reading *reading, const struct option_row *row, const char *value,
                unsigned int line)
{
	const char *expected = option_set(&reading->trial, row, value);
	struct setting *setting;

	if (expected != NULL && line > 0)
		option_complain(reading, line, "%s %s: expected %s", row->key, value, expected);
	else if (expected != NULL)
		option_complain(reading, 0, "--%s: '%s': expected %s", row->name, value, expected);
	if (expected != NULL)
		return;

	reading->settings =
		realloc(reading->settings, (reading->count + 1) * sizeof(*reading->settings));
	must(reading->settings == NULL ? -ENOMEM : 0, "options");
	if (row->kind == OPTION_LISTENER)
		reading->sections++;
	setting = &reading->settings[reading->count++];
	*setting = (struct setting){row, must_alloc(strlen(value) + 1), line, reading->sections};
	strcpy(setting->value, value);
}

/* The line of the file in which it stands already; 0: none. */
static unsigned int line_before(const struct reading *reading, const struct option_row *row)
{
	for (size_t i = 0; i < reading->count && !row->again; i++) {
		const struct setting *setting = &reading->settings[i];

		if (setting->row == row && setting->line > 0 &&
		    (!row->of_listener || setting->section == reading->sections))
			return setting->line;
	}
	return 0;
}

static void read_line(struct reading *reading, char *text, unsigned int line)
{
	const size_t size = strcspn(text, " \t");
	const struct option_row *row;
	char *value = text + size;
	unsigned int before;

	if (*value != '\0')
		*value++ = '\0';
	value += strspn(value, " \t");
	row = row_of_key(text);
	before = row != NULL ? line_before(reading, row) : 0;
	if (row == NULL)
		complain_unknown(reading, line, text);
	else if (before > 0)
		option_complain(reading, line, "%s: stands in line %u already", text, before);
	else
		option_add(reading, row, value, line);
}

/* Cuts white space off both ends. */
static char *trim_line(char *text)
{
	size_t size;

	text += strspn(text, " \t\r\n");
	size = strlen(text);
	while (size > 0 && strchr(" \t\r\n", text[size - 1]) != NULL)
		size--;
	text[size] = '\0';
	return text;
}

static void read_lines(struct reading *reading, FILE *file)
{
	char *line = NULL, *text;
	size_t capacity = 0;
	ssize_t size;

	for (unsigned int number = 1; (size = getline(&line, &capacity, file)) >= 0; number++) {
		if (strlen(line) < (size_t)size) {
			option_complain(reading, number, "a byte 0 in the line");
			continue;
		}
		text = trim_line(line);
		if (text[0] != '\0' && text[0] != '#')
			read_line(reading, text, number);
	}
	if (ferror(file) != 0)
		option_complain(reading, 0, "%s: %s", reading->file, strerror(errno));
	free(line);
}

void option_read_file(struct reading *reading)
{
	FILE *file = fopen(reading->file, "re");

	reading->sections = 0;
	if (file == NULL) {
		option_complain(reading, 0, "%s: %s", reading->file, strerror(errno));
		return;
	}
	read_lines(reading, file);
	fclose(file);
}
