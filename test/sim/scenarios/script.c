/* SPDX-License-Identifier: MIT */
/*
 * Plays scripts. What the interpreter does itself is no part of the program that is explored: it is
 * written without being looked at (SIM_UNSEEN). What verbs do is looked at.
 */
#include "script.h"

#include <ctype.h>

#define SIM_KEPT __attribute__((section("sim_kept")))
#define LINES_MAX 12
#define OPS_MAX 24
#define HOOKS_MAX 4

/* ---- What is kept from one execution to the next: verbs, the script as it was parsed ---- */

struct op {
	const struct sim_verb *verb;
	struct sim_note *note;
	unsigned number;
	unsigned good; /* statuses */
	unsigned last; /* statuses that end the line */
};

struct line {
	char label;   /* 'A': of a thread, 'a': of a task, 0: the main thread's */
	bool started; /* by a step */
	unsigned count;
	struct op ops[OPS_MAX];
};

static struct {
	const char *text; /* NULL: nothing was parsed */
	bool bare;        /* without an executor */
	unsigned limit;
	unsigned quantum;
	unsigned notes;
	unsigned count;
	struct line lines[LINES_MAX]; /* [0]: the main thread's */
} script SIM_KEPT;

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

/* ---- The execution ---- */

struct sim_stage sim_script_stage;

static struct sim_topic *const topic = &sim_script_stage.topic;
static struct sim_note *const notes = sim_script_stage.notes;
struct sim_script_marks sim_script_marks;
static void (*before_close[HOOKS_MAX])(void);
static void (*after_close[HOOKS_MAX])(void);

void sim_verb_register(struct sim_verb *verb)
{
	for (const struct sim_verb *other = verbs; other; other = other->next)
		if (!strcmp(other->name, verb->name))
			sim_fail("two verbs are called %s", verb->name);
	verb->next = verbs;
	verbs = verb;
}

/* ---- Parsing ---- */

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

SIM_UNSEEN static struct op *add(struct line *line, struct op op)
{
	if (line->count == OPS_MAX)
		sim_fail("script: more than %d steps in a line", OPS_MAX);
	line->ops[line->count] = op;
	return &line->ops[line->count++];
}

SIM_UNSEEN static struct line *line_of(char label)
{
	for (unsigned i = 0; i < script.count; i++)
		if (script.lines[i].label == label)
			return &script.lines[i];
	sim_fail("script: no line %c", label);
}

SIM_UNSEEN static void set_argument(struct op *op, const char *at)
{
	unsigned index = (unsigned)(*at - 'a');

	if (isdigit((unsigned char)*at)) {
		op->number = (unsigned)strtoul(at, NULL, 10);
	} else if (isupper((unsigned char)*at)) {
		op->number = (unsigned)*at;
		line_of(*at)->started = true;
	} else if (index < SIM_SCRIPT_NOTES && is_word(at, (char[]){*at, 0})) {
		op->note = &notes[index];
		if (script.notes <= index)
			script.notes = index + 1;
	} else {
		sim_fail("script: no argument: %s", at);
	}
}

/* Of the topic: made before the first step. */
SIM_UNSEEN static bool parse_setting(const char *at)
{
	if (is_word(at, "bare"))
		script.bare = true;
	else if (is_word(at, "limit"))
		script.limit = (unsigned)strtoul(behind_word(at), NULL, 10);
	else if (is_word(at, "quantum"))
		script.quantum = (unsigned)strtoul(behind_word(at), NULL, 10);
	else
		return false;
	return true;
}

/* Where the next step begins. */
SIM_UNSEEN static const char *parse_step(struct line *line, const char *at)
{
	const struct sim_verb *verb = verb_of(at);
	struct op *first = add(line, (struct op){.verb = verb, .good = verb->good});
	struct op *op = NULL;
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

static const struct sim_verb go;
static const struct sim_verb begin_thread;

SIM_UNSEEN static void add_to_main(const struct sim_verb *verb, unsigned number)
{
	const struct op op = {.verb = verb, .number = number, .good = SIM_OK};

	(void)add(&script.lines[0], op);
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
	struct line *line = has_label(at) ? line_of(*at) : &script.lines[0];

	if (has_label(at))
		at = behind_word(at);
	while (*at && *at != '|')
		if (parse_setting(at))
			at = behind_word(at) + strspn(behind_word(at), "0123456789; ");
		else
			at = parse_step(line, at);
}

SIM_UNSEEN static void parse(const char *text)
{
	script.text = NULL;
	script.bare = false;
	script.limit = 10;
	script.quantum = 64;
	script.notes = 0;
	script.count = 1;
	memset(script.lines, 0, sizeof(script.lines));
	for (const char *at = text; at; at = behind_line(at)) {
		if (!has_label(at))
			continue;
		if (script.count == LINES_MAX)
			sim_fail("script: more than %d lines", LINES_MAX);
		script.lines[script.count++].label = *at;
	}
	for (const char *at = text; at; at = behind_line(at)) {
		if (!has_label(at))
			parse_line(at);
		if (at == text)
			add_to_main(&go, 0);
		if (has_label(at))
			parse_line(at);
		if (has_label(at) && isupper((unsigned char)*at))
			add_to_main(&begin_thread, (unsigned)*at);
	}
	script.text = text;
}

/* ---- Playing ---- */

SIM_UNSEEN static unsigned bit_of(int status)
{
	for (size_t i = 0; i < STATUSES; i++)
		if (statuses[i].status == status)
			return 1U << i;
	return 0;
}

SIM_UNSEEN static void play(void *argument)
{
	const struct line *line = argument;

	for (unsigned i = 0; i < line->count; i++) {
		const struct op *op = &line->ops[i];
		int status = op->verb->run(op->note, op->number);

		if (op->last & bit_of(status))
			return;
		if (!(op->good & bit_of(status)))
			sim_fail("%s %c: status %d", op->verb->name,
			         op->note ? (char)('a' + (op->note - notes)) : ' ', status);
	}
}

SIM_UNSEEN static void play_inside(struct sim_note *note)
{
	play(note->argument);
}

void sim_script_renew(struct sim_note *note, bool with_future)
{
	void (*body)(struct sim_note *) = note->body;
	void *argument = note->argument;

	sim_note_init(note, topic, with_future);
	note->body = body;
	note->argument = argument;
}

SIM_UNSEEN void sim_script_mark(bool *mark)
{
	*mark = true;
}

SIM_UNSEEN static void hook(void (*hooks[])(void), void (*function)(void))
{
	int i = 0;

	while (hooks[i] && hooks[i] != function)
		if (++i == HOOKS_MAX)
			sim_fail("script: more than %d hooks", HOOKS_MAX);
	hooks[i] = function;
}

void sim_script_before_close(void (*function)(void))
{
	hook(before_close, function);
}

void sim_script_after_close(void (*function)(void))
{
	hook(after_close, function);
}

static void begin(void)
{
	struct baton_executor *executor = NULL;

	sim_calm(true);
	if (!script.bare) {
		sim_require(baton_manual_create(&sim_script_stage.manual) == 0);
		executor = baton_manual_executor(sim_script_stage.manual);
	}
	sim_topic_init(topic, script.limit, script.quantum, executor);
	for (unsigned i = 0; i < script.notes; i++)
		sim_note_init(&notes[i], topic, false);
	for (unsigned i = 1; i < script.count; i++) {
		struct line *line = &script.lines[i];

		if (islower((unsigned char)line->label)) {
			notes[line->label - 'a'].body = play_inside;
			notes[line->label - 'a'].argument = line;
		}
	}
}

SIM_UNSEEN static void check_cancelled(const struct sim_note *note)
{
	if (note->fate == SIM_CANCELLED && !note->never && !sim_script_marks.cancels)
		sim_fail("task %c is cancelled by nobody", (char)('a' + (note - notes)));
}

SIM_UNSEEN static bool is_over(const struct sim_note *note)
{
	return sim_script_marks.over[note - notes] || note->fate == SIM_FRESH ||
	       note->fate == SIM_REFUSED || !note->own_future;
}

static void end(void)
{
	if (sim_script_stage.manual)
		sim_drive(sim_script_stage.manual);
	sim_join_all();
	for (int i = 0; i < HOOKS_MAX && before_close[i]; i++)
		before_close[i]();
	for (unsigned i = 0; i < script.notes; i++) {
		if (!is_over(&notes[i]))
			sim_note_over(&notes[i]);
		check_cancelled(&notes[i]);
	}
	sim_settled(topic);
	sim_require(topic->finalised == sim_script_marks.finalised);
	sim_require(!sim_script_marks.refused || sim_script_marks.closed);
	if (!sim_script_marks.ended && !sim_script_marks.finalised)
		sim_topic_close(topic);
	for (int i = 0; i < HOOKS_MAX && after_close[i]; i++)
		after_close[i]();
	if (sim_script_stage.manual)
		baton_manual_destroy(sim_script_stage.manual);
	sim_no_leaks();
}

void sim_script_play(const char *text)
{
	if (script.text != text)
		parse(text);
	begin();
	play(&script.lines[0]);
	end();
}

/* ---- Verbs that start threads ---- */

static int run_go(struct sim_note *none, unsigned number)
{
	sim_calm(false);
	return 0;
}

static const struct sim_verb go = {.name = "go", .run = run_go};

static int run_begin_thread(struct sim_note *none, unsigned label)
{
	struct line *line = line_of((char)label);

	if (!line->started)
		sim_start(play, line);
	return 0;
}

static const struct sim_verb begin_thread = {.name = "begin", .run = run_begin_thread};

SIM_VERB(start, SIM_OK)
{
	sim_start(play, line_of((char)number));
	return 0;
}
