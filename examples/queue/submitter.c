/* SPDX-License-Identifier: MIT */
/*
 * Queues a command, shows how long it waits at most, then its output, and exits with its status.
 * Ctrl-C withdraws the command. The output comes from the backend directly.
 */
#include "common.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char help[] =
	"Usage: submitter [OPTION...] COMMAND [ARGUMENT...]\n"
	"Runs a command on a backend of a queue, when the scheduler lets it.\n\n"
	"  --class NAME            fast, medium, slow, a number, default or interactive (default)\n"
	"  --file PATH             the command finds this file in its directory; may be repeated\n"
	"  --id NAME               the job's id (random)\n"
	"  --attempts N            how many backends may be lost with it (3)\n"
	"  --room S                how long to wait for room in a full queue, in seconds (0)\n"
	"  --progress, --quiet     progress always, never (if stderr is a terminal)\n"
	"  --report FILE           append a line about this job\n" CONNECTION_HELP
	"Exit status: the command's; 128 + n: it was ended by signal n; 64: an option is wrong;\n"
	"69: no Redis, or it refuses; 70: the job failed; 74: the end of its output is missing;\n"
	"75: denied, or the queue is full; 130: Ctrl-C.\n";

#define KEEP_NS (60 * BATON_SECOND)
#define KEEP_EVERY_NS (5 * BATON_SECOND)
#define LAST_OUTPUT_NS (5 * BATON_SECOND)
#define FILES_MAX 64

struct submitter {
	struct baton_redis *redis;
	struct baton_redis_task task;
	struct baton_redis_file files[FILES_MAX];
	struct baton_redis_note note; /* the last */
	char token[BATON_REDIS_TOKEN_SIZE];
	char id[BATON_REDIS_TOKEN_SIZE];
	const char *report;
	bool progress;
	bool shown; /* the progress line is there */
	bool withdrawn;
	bool downgraded;
	int signal_fd;
	int output; /* from the backend; -1 */
	bool whole; /* this run's output has come to its end */
	unsigned char head[FRAME_HEAD];
	size_t head_size;
	uint32_t left;    /* of the frame's bytes */
	uint64_t room_ns; /* how long to wait for room */
	uint64_t submitted;
	uint64_t started;
	uint64_t keep_at;
	uint64_t estimate_ns; /* the first that was told */
	uint64_t starts_by;
	int64_t attempt;
};

/* ---- What the user sees ---- */

static void hide(struct submitter *self)
{
	if (self->shown)
		fputs("\r\033[K", stderr);
	self->shown = false;
}

static void show(struct submitter *self)
{
	uint64_t now = clock_ns();

	if (!self->progress || self->started || self->withdrawn)
		return;
	if (self->starts_by == BATON_NEVER)
		fprintf(stderr, "\rwaiting\033[K");
	else
		fprintf(stderr, "\rwaiting, at most %.0f s\033[K",
		        (double)(self->starts_by > now ? self->starts_by - now : 0) /
		                (double)BATON_SECOND);
	self->shown = true;
}

static void tell(struct submitter *self, const char *text, const char *more)
{
	hide(self);
	if (self->progress)
		fprintf(stderr, "%s%s\n", text, more);
}

/* ---- Output ---- */

static void close_output(struct submitter *self)
{
	if (self->output >= 0)
		close(self->output);
	self->output = -1;
	self->head_size = 0;
	self->left = 0;
}

static void open_output(struct submitter *self, const char *address)
{
	char hello[2 * BATON_REDIS_ID_MAX + 32];
	int size = snprintf(hello, sizeof(hello), "%s %s %" PRIu64 "\n", self->token, self->task.id,
	                    self->note.epoch);

	close_output(self);
	self->whole = false;
	self->output = connect_to(address);
	if (self->output >= 0 && write(self->output, hello, (size_t)size) != size)
		close_output(self);
	if (self->output < 0) {
		hide(self);
		complain("cannot reach the backend at %s: the output of this run is lost", address);
	}
}

static void write_all(int fd, const unsigned char *bytes, size_t size)
{
	while (size > 0) {
		ssize_t written = write(fd, bytes, size);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return; /* nobody reads: the job goes on */
		bytes += written;
		size -= (size_t)written;
	}
}

static void take_bytes(struct submitter *self, const unsigned char *bytes, size_t size)
{
	while (size > 0) {
		size_t part;

		if (self->left == 0) {
			self->head[self->head_size++] = *bytes++;
			size--;
			if (self->head_size == FRAME_HEAD) {
				self->left = frame_size(self->head);
				self->head_size = 0;
				self->whole |= self->head[0] == CHANNEL_END;
			}
			continue;
		}
		part = size < self->left ? size : self->left;
		write_all(self->head[0] == 2 ? 2 : 1, bytes, part);
		bytes += part;
		size -= part;
		self->left -= (uint32_t)part;
	}
}

/* Reads once; closes the output at its end. */
static void read_output(struct submitter *self)
{
	unsigned char bytes[65536];
	ssize_t size = read(self->output, bytes, sizeof(bytes));

	if (size > 0) {
		hide(self);
		take_bytes(self, bytes, (size_t)size);
	} else if (size == 0 || errno != EINTR) {
		close_output(self);
	}
}

static void read_rest(struct submitter *self)
{
	uint64_t end = clock_ns() + LAST_OUTPUT_NS;

	while (self->output >= 0 && clock_ns() < end) {
		struct pollfd fd = {.fd = self->output, .events = POLLIN};

		if (poll(&fd, 1, 100) > 0)
			read_output(self);
	}
	close_output(self);
}

/* ---- Notes ---- */

static void on_note(struct submitter *self)
{
	const struct baton_redis_note *note = &self->note;

	switch (note->what) {
	case BATON_REDIS_WAITING:
		if (note->ns == BATON_NEVER)
			break;
		if (!self->estimate_ns)
			self->estimate_ns = note->ns ? note->ns : 1;
		self->starts_by = clock_ns() + note->ns;
		break;
	case BATON_REDIS_STARTED:
		if (!self->started)
			self->started = clock_ns();
		hide(self);
		break;
	case BATON_REDIS_RUNNING:
		self->attempt = note->number;
		open_output(self, note->text);
		break;
	case BATON_REDIS_SHORTENED:
		self->downgraded = true;
		break;
	case BATON_REDIS_LOST:
		close_output(self);
		tell(self, "the backend was lost, the job waits again: ", note->text);
		break;
	default:
		break;
	}
}

static int submit_or_die(struct submitter *self)
{
	int error = baton_redis_submit(self->redis, &self->task);

	if (error && error != -EAGAIN)
		die(error == -EEXIST || error == -EINVAL ? EXIT_USAGE : EXIT_NO_REDIS, "%s",
		    baton_redis_error(self->redis));
	return error;
}

/* Waits for room in a full queue for a short time each, so that Ctrl-C is heard. */
static void submit(struct submitter *self)
{
	uint64_t begin = clock_ns();
	bool told = false;
	int error;

	while ((error = submit_or_die(self)) == -EAGAIN && clock_ns() - begin < self->room_ns) {
		struct pollfd fd = {.fd = self->signal_fd, .events = POLLIN};

		if (!told)
			tell(self, baton_redis_error(self->redis), "; waiting for room");
		told = true;
		if (poll(&fd, 1, 250) > 0)
			die(128 + next_signal(self->signal_fd), "not submitted");
	}
	if (error)
		die(EXIT_DENIED, "%s", baton_redis_error(self->redis));
}

/*
 * Keeps the job alive; submits it again if the server has lost it with its last second. After
 * Ctrl-C withdraws the job, again if the server was away.
 */
static void keep(struct submitter *self)
{
	int error = self->withdrawn ? baton_redis_withdraw(self->redis, &self->task)
	                            : baton_redis_keep(self->redis, &self->task);

	self->keep_at = clock_ns() + KEEP_EVERY_NS;
	if (error == -ENOENT && self->withdrawn) {
		self->note.what = BATON_REDIS_WITHDRAWN;
	} else if (error == -ENOENT) {
		tell(self, "the server has lost the job: submitted again", "");
		self->note = (struct baton_redis_note){0};
		submit(self);
	} else if (error) {
		tell(self, baton_redis_error(self->redis), "; trying again");
	}
}

static void on_signal(struct submitter *self, int signal)
{
	if (signal == 0)
		return;
	if (self->withdrawn)
		die(128 + signal, "not withdrawn yet: what is left of the job expires");
	hide(self);
	self->withdrawn = true;
	keep(self);
}

/* Serves notes, output and signals until the last note has come. */
static void follow(struct submitter *self)
{
	while (!baton_redis_is_last(self->note.what)) {
		struct pollfd fds[] = {
			{.fd = self->signal_fd, .events = POLLIN},
			{.fd = baton_redis_fd(self->redis), .events = POLLIN},
			{.fd = self->output, .events = POLLIN},
		};

		if (baton_redis_note_next(self->redis, &self->task, &self->note) == 0)
			on_note(self);
		if (self->note.what != BATON_REDIS_NOTHING)
			continue;
		show(self);
		fds[1].fd = baton_redis_fd(self->redis);
		fds[2].fd = self->output;
		poll(fds, 3, 200);
		if (fds[0].revents)
			on_signal(self, next_signal(self->signal_fd));
		if (self->output >= 0 && fds[2].revents)
			read_output(self);
		if (clock_ns() >= self->keep_at)
			keep(self);
	}
}

/* ---- The end ---- */

static const char *outcome(const struct submitter *self)
{
	switch (self->note.what) {
	case BATON_REDIS_DENIED:
		return "denied";
	case BATON_REDIS_FAILED:
		return "failed";
	case BATON_REDIS_WITHDRAWN:
		return "withdrawn";
	default:
		return self->note.text[0] ? self->note.text : "exit";
	}
}

static void report(const struct submitter *self)
{
	FILE *file = self->report ? fopen(self->report, "a") : NULL;
	uint64_t end = self->started ? self->started : clock_ns();
	char name[16];

	if (!file)
		return;
	/* id class estimate_ms wait_ms outcome status attempts downgraded */
	fprintf(file, "%s %s %" PRIu64 " %" PRIu64 " %s %" PRId64 " %" PRId64 " %d\n",
	        self->task.id, class_name(self->task.kind, name), self->estimate_ns / MS,
	        (end - self->submitted) / MS, outcome(self), self->note.number, self->attempt,
	        self->downgraded);
	fclose(file);
}

static int status(const struct submitter *self)
{
	if (self->withdrawn)
		return 130;
	if (self->note.what == BATON_REDIS_DENIED) {
		complain("denied: %s", self->note.text);
		return EXIT_DENIED;
	}
	if (self->note.what != BATON_REDIS_DONE) {
		complain("%s: %s", outcome(self), self->note.text);
		return EXIT_INTERNAL;
	}
	if (strcmp(self->note.text, "exit") != 0)
		complain("the job was stopped: %s", self->note.text);
	else if (!self->whole) {
		complain("the end of the job's output is missing: it did not wait for this "
		         "program; its status was %" PRId64,
		         self->note.number);
		return EXIT_OUTPUT;
	}
	return (int)self->note.number & 255;
}

/* ---- Beginning ---- */

static void add_file(struct submitter *self, const char *path)
{
	struct baton_redis_file *file = &self->files[self->task.file_count];
	FILE *stream = fopen(path, "rb");
	const char *name = strrchr(path, '/');
	struct stat stat;
	char *data;

	if (self->task.file_count == FILES_MAX)
		die(EXIT_USAGE, "more than %d files", FILES_MAX);
	if (!stream)
		die(EXIT_USAGE, "cannot read %s: %s", path, strerror(errno));
	if (fstat(fileno(stream), &stat) || !S_ISREG(stat.st_mode))
		die(EXIT_USAGE, "cannot read %s: it is no regular file", path);
	data = malloc((size_t)stat.st_size + 1);
	if (!data || fread(data, 1, (size_t)stat.st_size, stream) != (size_t)stat.st_size)
		die(EXIT_USAGE, "cannot read %s: %s", path, strerror(errno));
	fclose(stream);
	*file = (struct baton_redis_file){name ? name + 1 : path, data, (size_t)stat.st_size};
	self->task.file_count++;
	self->task.files = self->files;
}

/* The command's words, a zero byte after each. */
static void set_command(struct submitter *self, char **words)
{
	size_t size = 0;
	char *text;

	for (char **word = words; *word; word++)
		size += strlen(*word) + 1;
	text = malloc(size);
	if (!text)
		die(EXIT_INTERNAL, "no memory");
	self->task.command = text;
	self->task.command_size = size;
	for (; *words; words++)
		text = stpcpy(text, *words) + 1;
}

static void parse(int argc, char **argv, struct submitter *self,
                  struct baton_redis_options *connection)
{
	static const struct option known[] = {
		{"class", required_argument, NULL, 'c'},
		{"file", required_argument, NULL, 'f'},
		{"id", required_argument, NULL, 'i'},
		{"attempts", required_argument, NULL, 'a'},
		{"room", required_argument, NULL, 'w'},
		{"report", required_argument, NULL, 'r'},
		{"progress", no_argument, NULL, 'p'},
		{"quiet", no_argument, NULL, 'q'},
		CONNECTION_OPTIONS,
	};
	int option;

	while ((option = getopt_long(argc, argv, "+", known, NULL)) != -1) {
		if (option == 'c')
			self->task.kind = parse_class(optarg);
		else if (option == 'f')
			add_file(self, optarg);
		else if (option == 'i')
			self->task.id = optarg;
		else if (option == 'a')
			self->task.attempts = (uint32_t)parse_number(optarg, UINT32_MAX);
		else if (option == 'w')
			self->room_ns = parse_seconds(optarg);
		else if (option == 'r')
			self->report = optarg;
		else if (option == 'p' || option == 'q')
			self->progress = option == 'p';
		else
			connection_option(connection, option, help);
	}
	if (optind == argc)
		connection_option(connection, '?', help);
	set_command(self, argv + optind);
}

int main(int argc, char **argv)
{
	static const int signals[] = {SIGINT, SIGTERM, 0};
	struct baton_redis_options connection = {0};
	struct submitter self = {.progress = isatty(2), .output = -1, .starts_by = BATON_NEVER};

	program = "submitter";
	self.task.kind = BATON_RULES_DEFAULT;
	self.task.keep_ns = KEEP_NS;
	parse(argc, argv, &self, &connection);
	if (baton_redis_token(self.token) || baton_redis_token(self.id))
		die(EXIT_INTERNAL, "the system has no random numbers");
	self.task.token = self.token;
	if (!self.task.id)
		self.task.id = self.id;
	self.redis = connect_or_die(&connection);
	self.signal_fd = signal_descriptor(signals);
	self.submitted = clock_ns();
	self.keep_at = self.submitted + KEEP_EVERY_NS;
	submit(&self);
	follow(&self);
	hide(&self);
	read_rest(&self);
	/* Otherwise the server deletes the note when its time is over. */
	BATON_IGNORE(baton_redis_forget(self.redis, &self.task));
	report(&self);
	baton_redis_destroy(self.redis);
	return status(&self);
}
