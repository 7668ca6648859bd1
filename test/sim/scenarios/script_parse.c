/* SPDX-License-Identifier: MIT */
/* Parses scripts, once each; the language: script.h. */
#include "script_parse.h"

#include <ctype.h>

#define SIM_KEPT __attribute__((section("sim_kept")))

struct sim_script sim_script SIM_KEPT;
static struct sim_verb *verbs SIM_KEPT;

static const struct {
	const char *word;
	int status;
} statuses[] = {
	{"ok", 0},          {"already", -EALREADY},   {"running", -EINPROGRESS},
	{"closed", -EPIPE}, {"early", -EINVAL},       {"late", -ETIMEDOUT},
	{"again", -EAGAIN}, {"deadlock", -EDEADLK},   {"cancelled", -ECANCELED},
	{"failed", -EIO},   {"shutdown", -ESHUTDOWN}, {"memory", -ENOMEM},
};

#define STATUSES (sizeof(statuses) / sizeof(statuses[0]))

void sim_verb_register(struct sim_verb *verb)
{
	for (const struct sim_verb *other = verbs; other; other = other->next)
		if (!strcmp(other->name, verb->name))
			sim_fail("two verbs are called %s", verb->name);
	verb->next = verbs;
	verbs = verb;
}

SIM_UNSEEN static bool is_word(const char *at, const char *word)
{
	size_t length = strcspn(at, " ;|");

	return strlen(word) == length && !memcmp(at, word, length);
}

SIM_UNSEEN static const char *behind_word(const char *at)
{
	at += strcspn(at, " ;|");
	return at + strspn(at, " ");
}

SIM_UNSEEN static const struct sim_verb *verb_of(const char *at)
{
	for (const struct sim_verb *verb = verbs; verb; verb = verb->next)
		if (is_word(at, verb->name))
			return verb;
	sim_fail("script: no such verb: %s", at);
}

SIM_UNSEEN static unsigned status_of(const char *at)
{
	for (size_t i = 0; i < STATUSES; i++)
		if (is_word(at, statuses[i].word))
			return 1U << i;
	sim_fail("script: no such status: %s", at);
}

SIM_UNSEEN static struct sim_op *add(struct sim_line *line, struct sim_op op)
{
	if (line->count == SIM_OPS_MAX)
		sim_fail("script: more than %d steps in a line", SIM_OPS_MAX);
	line->ops[line->count] = op;
	return &line->ops[line->count++];
}

SIM_UNSEEN struct sim_line *sim_line_of(char label)
{
	for (unsigned i = 0; i < sim_script.count; i++)
		if (sim_script.lines[i].label == label)
			return &sim_script.lines[i];
	sim_fail("script: no line %c", label);
}

SIM_UNSEEN static void set_argument(struct sim_op *op, const char *at)
{
	unsigned index = (unsigned)(*at - 'a');

	if (isdigit((unsigned char)*at)) {
		op->number = (unsigned)strtoul(at, NULL, 10);
	} else if (isupper((unsigned char)*at)) {
		op->number = (unsigned)*at;
		sim_line_of(*at)->started = true;
	} else if (index < SIM_SCRIPT_NOTES && is_word(at, (char[]){*at, 0})) {
		op->note = &sim_script_stage.notes[index];
		if (sim_script.notes <= index)
			sim_script.notes = index + 1;
	} else {
		sim_fail("script: no argument: %s", at);
	}
}

/* Of the topic: made before the first step. */
SIM_UNSEEN static bool parse_setting(const char *at)
{
	if (is_word(at, "bare"))
		sim_script.bare = true;
	else if (is_word(at, "refusing"))
		sim_script.refusing = true;
	else if (is_word(at, "limit"))
		sim_script.limit = (unsigned)strtoul(behind_word(at), NULL, 10);
	else if (is_word(at, "quantum"))
		sim_script.quantum = (unsigned)strtoul(behind_word(at), NULL, 10);
	else
		return false;
	return true;
}

/* Where the next step begins. */
SIM_UNSEEN static const char *parse_step(struct sim_line *line, const char *at)
{
	const struct sim_verb *verb = verb_of(at);
	struct sim_op *first = add(line, (struct sim_op){.verb = verb, .good = verb->good});
	struct sim_op *op = NULL;
	unsigned good = 0;
	unsigned last = 0;

	for (at = behind_word(at); *at && !strchr(";|=/", *at); at = behind_word(at)) {
		op = op ? add(line, *first) : first;
		set_argument(op, at);
	}
	if (*at == '=')
		for (at = behind_word(at); *at && !strchr(";|/", *at); at = behind_word(at))
			good |= status_of(at);
	if (*at == '/')
		for (at = behind_word(at); *at && !strchr(";|", *at); at = behind_word(at))
			last |= status_of(at);
	for (op = first; op < &line->ops[line->count]; op++) {
		op->good = good ? good : verb->good;
		op->last = last;
	}
	return at + strspn(at, "; ");
}

SIM_UNSEEN static void add_to_main(const struct sim_verb *verb, unsigned number)
{
	const struct sim_op op = {.verb = verb, .number = number, .good = SIM_OK};

	(void)add(&sim_script.lines[0], op);
}

SIM_UNSEEN static bool has_label(const char *text)
{
	return isalpha((unsigned char)text[0]) && text[1] == ':';
}

/* The next line, or NULL. */
SIM_UNSEEN static const char *behind_line(const char *at)
{
	at = strchr(at, '|');
	return at ? at + 1 + strspn(at + 1, " ") : NULL;
}

SIM_UNSEEN static void parse_line(const char *at)
{
	struct sim_line *line = has_label(at) ? sim_line_of(*at) : &sim_script.lines[0];

	if (has_label(at))
		at = behind_word(at);
	while (*at && *at != '|')
		if (parse_setting(at))
			at = behind_word(at) + strspn(behind_word(at), "0123456789; ");
		else
			at = parse_step(line, at);
}

SIM_UNSEEN void sim_script_parse(const char *text)
{
	sim_script.text = NULL;
	sim_script.bare = false;
	sim_script.refusing = false;
	sim_script.limit = 10;
	sim_script.quantum = 64;
	sim_script.notes = 0;
	sim_script.count = 1;
	memset(sim_script.lines, 0, sizeof(sim_script.lines));
	for (const char *at = text; at; at = behind_line(at)) {
		if (!has_label(at))
			continue;
		if (sim_script.count == SIM_LINES_MAX)
			sim_fail("script: more than %d lines", SIM_LINES_MAX);
		sim_script.lines[sim_script.count++].label = *at;
	}
	for (const char *at = text; at; at = behind_line(at)) {
		if (!has_label(at))
			parse_line(at);
		if (at == text)
			add_to_main(&sim_go, 0);
		if (has_label(at))
			parse_line(at);
		if (has_label(at) && isupper((unsigned char)*at))
			add_to_main(&sim_begin_thread, (unsigned)*at);
	}
	sim_script.text = text;
}

SIM_UNSEEN unsigned sim_status_bit(int status)
{
	for (size_t i = 0; i < STATUSES; i++)
		if (statuses[i].status == status)
			return 1U << i;
	return 0;
}
