/* SPDX-License-Identifier: MIT */
/*
 * A backend of a queue: runs one job at a time, in a child with a time limit, and sends its output
 * to the submitter.
 */
#include "job.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static const char help[] =
	"Usage: backend --listen ADDRESS [OPTION...]\n"
	"Runs the jobs of a queue, one at a time. The jobs run as this user: whoever may write to\n"
	"the queue may run programs here.\n\n"
	"  --listen ADDRESS        where submitters get the output: unix:PATH, or\n"
	"                          HOST:PORT, as they reach it\n"
	"  --name NAME             the backend's name in the queue (its host's and process's)\n"
	"  --lease S               its job starts elsewhere so long after it is lost (10)\n"
	"  --verbose               print each job\n" CONNECTION_HELP
	"Exit status: 0: SIGINT or SIGTERM; 64: an option is wrong; 69: no Redis, or it refuses;\n"
	"70: no memory, or no signals.\n";

struct backend {
	struct baton_redis *redis;
	struct baton_redis_backend *queue;
	struct job job;
	int listener;
	int signal_fd;
	bool busy;
	bool verbose;
	bool leaving;
	char id[BATON_REDIS_ID_MAX + 1];
};

static void say(const struct backend *self, const char *what, const char *more)
{
	if (!self->verbose)
		return;
	printf("%s %s%s%s\n", what, self->id, more[0] ? ": " : "", more);
	fflush(stdout);
}

/* The effect is what a job has come to: at most one for each, however often it was started. */
static void finish(struct backend *self, int status, const char *reason)
{
	char result[128];
	int size = snprintf(result, sizeof(result), "%d %s", status, reason);
	struct baton_redis_result end = {result, (size_t)size, status, reason};
	int error = baton_redis_backend_conclude(self->queue, &end);

	say(self, error ? "refused" : "finished", error ? baton_redis_error(self->redis) : reason);
	job_clear(&self->job);
	self->busy = false;
}

static void obey(struct backend *self, const struct baton_redis_order *order)
{
	int error;

	switch (order->what) {
	case BATON_REDIS_RUN:
		snprintf(self->id, sizeof(self->id), "%s", order->id);
		self->busy = true;
		say(self, "runs", "");
		error = job_start(&self->job, order);
		if (error)
			finish(self, 126, strerror(-error));
		break;
	case BATON_REDIS_SHORTEN:
		self->job.end_at = clock_ns() + order->may_run_ns;
		break;
	case BATON_REDIS_STOP:
		job_stop(&self->job, strcmp(order->text, "halted") == 0 ? "halted" : "withdrawn");
		break;
	case BATON_REDIS_STALE:
		say(self, "lost", "another backend has it");
		job_clear(&self->job);
		self->busy = false;
		break;
	case BATON_REDIS_IDLE:
		break;
	}
}

static void on_signals(struct backend *self)
{
	for (int signal; (signal = next_signal(self->signal_fd));)
		if (signal == SIGCHLD)
			job_reap(&self->job);
		else
			self->leaving = true;
}

/* Waits until a descriptor is ready or a time has come, and serves all that are. */
static void wait_and_do(struct backend *self)
{
	struct job *job = &self->job;
	bool room = job_wants_output(job);
	uint64_t due = baton_redis_backend_due(self->queue);
	uint64_t job_ns = job_due(job);
	struct pollfd fds[] = {
		{.fd = self->signal_fd, .events = POLLIN},
		{.fd = baton_redis_fd(self->redis), .events = POLLIN},
		{.fd = self->listener, .events = POLLIN},
		{.fd = room ? job->pipes[0] : -1, .events = POLLIN},
		{.fd = room ? job->pipes[1] : -1, .events = POLLIN},
		{.fd = job->reader,
	         .events = POLLIN | (job->greeted && job->output_size > 0 ? POLLOUT : 0)},
	};

	if (job_ns < due)
		due = job_ns;
	poll(fds, sizeof(fds) / sizeof(fds[0]), due / MS < 60000 ? (int)(due / MS) + 1 : 60000);
	for (int i = 0; i < 2; i++)
		if (fds[3 + i].fd >= 0 && fds[3 + i].revents && job_wants_output(job))
			job_read(job, i);
	if (fds[5].fd >= 0 && fds[5].revents & POLLOUT)
		job_send(job);
	if (fds[5].fd >= 0 && fds[5].revents & ~POLLOUT)
		job_hear(job);
	if (fds[2].revents) {
		int reader = accept(self->listener, NULL, NULL);

		if (reader >= 0)
			job_greet(job, reader);
	}
	if (fds[0].revents)
		on_signals(self);
	job_check_time(job);
	job_end_output(job);
	if (self->busy && job_is_over(job))
		finish(self, job_status(job), job_reason(job));
}

static void serve(struct backend *self)
{
	bool failing = false;

	while (!self->leaving) {
		struct baton_redis_order order;
		int error = baton_redis_backend_next(self->queue, &order);

		if (error && !failing)
			complain("%s; trying again", baton_redis_error(self->redis));
		failing = error != 0;
		if (!error)
			obey(self, &order);
		/* After an order another one may be there already: no wait. */
		if (error || order.what == BATON_REDIS_IDLE)
			wait_and_do(self);
	}
}

static void parse(int argc, char **argv, struct backend *self,
                  struct baton_redis_options *connection,
                  struct baton_redis_backend_options *options)
{
	static const struct option known[] = {
		{"listen", required_argument, NULL, 'l'},
		{"name", required_argument, NULL, 'n'},
		{"lease", required_argument, NULL, 'e'},
		{"verbose", no_argument, NULL, 'v'},
		CONNECTION_OPTIONS,
	};
	int option;

	while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
		if (option == 'l')
			options->address = optarg;
		else if (option == 'n')
			options->name = optarg;
		else if (option == 'e')
			options->lease_ns = parse_seconds(optarg);
		else if (option == 'v')
			self->verbose = true;
		else
			connection_option(connection, option, help);
	}
	if (optind < argc || !options->address)
		connection_option(connection, '?', help);
}

int main(int argc, char **argv)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGCHLD, 0};
	struct baton_redis_options connection = {0};
	struct baton_redis_backend_options options = {0};
	static struct backend self;
	char host[40] = "backend";
	char name[BATON_REDIS_ID_MAX + 1];

	program = "backend";
	parse(argc, argv, &self, &connection, &options);
	if (!options.name) {
		gethostname(host, sizeof(host) - 1);
		snprintf(name, sizeof(name), "%s-%d", host, (int)getpid());
		options.name = name;
	}
	job_init(&self.job);
	self.signal_fd = signal_descriptor(signals);
	self.listener = listen_at(options.address);
	if (self.listener < 0)
		die(EXIT_USAGE, "cannot listen at %s (unix:PATH or HOST:PORT): %s", options.address,
		    strerror(errno));
	self.redis = connect_or_die(&connection);
	if (baton_redis_backend_create(self.redis, &options, &self.queue))
		die(EXIT_NO_REDIS, "%s", baton_redis_error(self.redis));
	serve(&self);
	job_clear(&self.job);
	baton_redis_backend_destroy(self.queue);
	baton_redis_destroy(self.redis);
	if (strncmp(options.address, "unix:", 5) == 0)
		unlink(options.address + 5);
	return 0;
}
