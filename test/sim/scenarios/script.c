/* SPDX-License-Identifier: MIT */
/*
 * Plays scripts. What the interpreter does itself is no part of the program that is explored: it is
 * written without being looked at (SIM_UNSEEN). What verbs do is looked at.
 */
#include "script_parse.h"

#include <ctype.h>

#define HOOKS_MAX 4

struct sim_stage sim_script_stage;
struct sim_topic sim_script_other;
struct sim_script_marks sim_script_marks;

static struct sim_topic *const topic = &sim_script_stage.topic;
static struct sim_note *const notes = sim_script_stage.notes;
static struct sim_shelf shelf;          /* in the manual executor's place, if `refusing` */
static unsigned threads[SIM_LINES_MAX]; /* each line's, from its start to its end; or 0 */
static void (*before_close[HOOKS_MAX])(void);
static void (*after_close[HOOKS_MAX])(void);

SIM_UNSEEN static void play(void *argument)
{
	const struct sim_line *line = argument;

	for (unsigned i = 0; i < line->count; i++) {
		const struct sim_op *op = &line->ops[i];
		int status = op->verb->run(op->note, op->number);

		if (op->last & sim_status_bit(status))
			return;
		if (!(op->good & sim_status_bit(status)))
			sim_fail("%s %c: status %d", op->verb->name,
			         op->note ? (char)('a' + (op->note - notes)) : ' ', status);
	}
}

SIM_UNSEEN static void note_thread(unsigned index, unsigned thread)
{
	threads[index] = thread;
}

static void play_line(void *line)
{
	unsigned index = (unsigned)((struct sim_line *)line - sim_script.lines);

	note_thread(index, sim_thread());
	play(line);
	note_thread(index, 0);
}

static void start_line(struct sim_line *line)
{
	note_thread((unsigned)(line - sim_script.lines), SIM_THREADS_MAX);
	sim_start(play_line, line);
}

SIM_UNSEEN void sim_script_others_go_on(void)
{
	sim_not_delayed(topic);
	if (sim_script_other.config.executor)
		sim_not_delayed(&sim_script_other);
	for (int i = 0; i < SIM_LINES_MAX; i++)
		if (threads[i] && threads[i] != sim_frozen())
			sim_fail("a stopped thread delays line %c", sim_script.lines[i].label);
}

SIM_UNSEEN static void play_inside(struct sim_note *note)
{
	play(note->argument);
}

void sim_script_renew(struct sim_note *note, bool with_future)
{
	void (*body)(struct sim_note *) = note->body;
	void *argument = note->argument;

	sim_note_init(note, note->topic, with_future);
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

void sim_script_drive(void)
{
	if (sim_script_stage.manual)
		sim_drive(sim_script_stage.manual);
	else if (sim_script.refusing)
		sim_shelf_drive(&shelf);
	else
		sim_join_all();
}

static void begin(void)
{
	struct baton_executor *executor = NULL;

	sim_calm(true);
	if (sim_script.refusing) {
		sim_shelf_init(&shelf, 1, 1);
		executor = &shelf.executor;
	} else if (!sim_script.bare) {
		sim_require(baton_manual_create(&sim_script_stage.manual) == 0);
		executor = baton_manual_executor(sim_script_stage.manual);
	}
	sim_topic_init(topic, sim_script.limit, sim_script.quantum, executor);
	for (unsigned i = 0; i < sim_script.notes; i++)
		sim_note_init(&notes[i], topic, false);
	for (unsigned i = 1; i < sim_script.count; i++) {
		struct sim_line *line = &sim_script.lines[i];

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
	sim_script_drive();
	for (int i = 0; i < HOOKS_MAX && before_close[i]; i++)
		before_close[i]();
	for (unsigned i = 0; i < sim_script.notes; i++) {
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
	if (sim_script.text != text)
		sim_script_parse(text);
	begin();
	play(&sim_script.lines[0]);
	end();
}

/* ---- Verbs that start threads ---- */

static int run_go(struct sim_note *none, unsigned number)
{
	sim_calm(false);
	return 0;
}

const struct sim_verb sim_go = {.name = "go", .run = run_go};

static int run_begin_thread(struct sim_note *none, unsigned label)
{
	struct sim_line *line = sim_line_of((char)label);

	if (!line->started)
		start_line(line);
	return 0;
}

const struct sim_verb sim_begin_thread = {.name = "begin", .run = run_begin_thread};

SIM_VERB(start, SIM_OK)
{
	start_line(sim_line_of((char)number));
	return 0;
}
