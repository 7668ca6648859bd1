/* SPDX-License-Identifier: MIT */
#include "job.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORDS_MAX 1024
#define TERM_TO_KILL_NS (500 * MS)
#define READER_WAIT_NS (2 * BATON_SECOND)

void job_init(struct job *job)
{
	unsigned char *output = job->output;

	*job = (struct job){.pipes = {-1, -1},
	                    .reader = -1,
	                    .end_at = BATON_NEVER,
	                    .kill_at = BATON_NEVER,
	                    .output = output};
	if (!job->output)
		job->output = malloc(OUTPUT_MAX + 2 * FRAME_HEAD + 65536);
	if (!job->output)
		die(EXIT_INTERNAL, "no memory");
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* ---- Starting ---- */

static int write_file(const char *directory, const struct baton_redis_file *input)
{
	char path[4096];
	FILE *file;
	size_t written;

	if (strchr(input->name, '/') || input->name[0] == '.' || !input->name[0])
		return -EINVAL;
	snprintf(path, sizeof(path), "%s/%s", directory, input->name);
	file = fopen(path, "wb");
	if (!file)
		return -errno;
	written = fwrite(input->data, 1, input->size, file);
	return fclose(file) == 0 && written == input->size ? 0 : -EIO;
}

static _Noreturn void run(const struct job *job, char **words, int out, int err)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* a backend that is killed leaves no job behind */
	dup2(open("/dev/null", O_RDONLY), 0);
	dup2(out, 1);
	dup2(err, 2);
	if (chdir(job->directory) == 0)
		execvp(words[0], words);
	dprintf(2, "%s: %s\n", words[0], strerror(errno));
	_exit(127);
}

static int spawn(struct job *job, char **words)
{
	int out[2];
	int err[2];

	if (pipe2(out, O_CLOEXEC))
		return -errno;
	if (pipe2(err, O_CLOEXEC)) {
		close(out[0]);
		close(out[1]);
		return -EMFILE;
	}
	job->pid = fork();
	if (job->pid == 0)
		run(job, words, out[1], err[1]);
	close(out[1]);
	close(err[1]);
	job->pipes[0] = out[0];
	job->pipes[1] = err[0];
	if (job->pid < 0) {
		job->pid = 0;
		return -EAGAIN;
	}
	setpgid(job->pid, job->pid);
	return 0;
}

int job_start(struct job *job, const struct baton_redis_order *order)
{
	const char *command = order->command;
	char *words[WORDS_MAX + 1];
	size_t count = 0;
	int error = 0;

	job_init(job);
	for (size_t at = 0; at < order->command_size && count < WORDS_MAX;
	     at += strlen(command + at) + 1)
		words[count++] = (char *)(uintptr_t)(command + at);
	words[count] = NULL;
	if (count == 0 || command[order->command_size - 1] != '\0')
		return -EINVAL;
	/* A reader of an earlier run is sent away: it would stop this run when it leaves. */
	snprintf(job->expected, sizeof(job->expected), "%s %s %" PRIu64, order->token, order->id,
	         order->epoch);
	snprintf(job->directory, sizeof(job->directory), "/tmp/baton-job.XXXXXX");
	if (!mkdtemp(job->directory)) {
		job->directory[0] = '\0';
		return -errno;
	}
	for (size_t i = 0; i < order->file_count && !error; i++)
		error = write_file(job->directory, &order->files[i]);
	if (!error)
		error = spawn(job, words);
	if (error)
		job_clear(job);
	else if (order->may_run_ns != BATON_NEVER)
		job->end_at = clock_ns() + order->may_run_ns;
	return error;
}

/* ---- Ending ---- */

void job_stop(struct job *job, const char *why)
{
	if (job->pid == 0 || job->stopped)
		return;
	job->stopped = why;
	kill(-job->pid, SIGTERM);
	job->kill_at = clock_ns() + TERM_TO_KILL_NS;
}

void job_check_time(struct job *job)
{
	uint64_t now = clock_ns();

	if (job->pid == 0)
		return;
	if (now >= job->end_at)
		job_stop(job, "time");
	if (now >= job->kill_at) {
		kill(-job->pid, SIGKILL);
		job->kill_at = BATON_NEVER;
	}
}

void job_reap(struct job *job)
{
	if (job->pid == 0 || waitpid(job->pid, &job->status, WNOHANG) != job->pid)
		return;
	kill(-job->pid, SIGKILL); /* the processes that it has left behind */
	job->pid = 0;
	job->exited = true;
	job->exited_at = clock_ns();
}

int job_status(const struct job *job)
{
	return WIFEXITED(job->status) ? WEXITSTATUS(job->status) : 128 + WTERMSIG(job->status);
}

const char *job_reason(const struct job *job)
{
	return job->stopped ? job->stopped : "exit";
}

static int unlink_one(const char *path, const struct stat *stat, int type, struct FTW *ftw)
{
	(void)stat, (void)type, (void)ftw;
	return remove(path);
}

void job_clear(struct job *job)
{
	if (job->pid > 0) {
		kill(-job->pid, SIGKILL);
		waitpid(job->pid, NULL, 0);
	}
	if (job->directory[0])
		nftw(job->directory, unlink_one, 16, FTW_DEPTH | FTW_PHYS);
	close_fd(&job->pipes[0]);
	close_fd(&job->pipes[1]);
	close_fd(&job->reader);
	job_init(job);
}

/* ---- Output ---- */

void job_greet(struct job *job, int reader)
{
	if (job->greeted || (job->pid == 0 && !job->exited)) {
		close(reader);
		return;
	}
	/* A new reader takes the place of a reader that has not said the token. */
	close_fd(&job->reader);
	job->reader = reader;
	job->hello_size = 0;
	fcntl(reader, F_SETFL, O_NONBLOCK);
}

/* Reads the first line, the token. Afterwards only the end counts: the submitter has gone. */
void job_hear(struct job *job)
{
	char byte;
	ssize_t size;

	while ((size = read(job->reader, &byte, 1)) == 1) {
		if (job->greeted)
			continue;
		if (byte != '\n') {
			if (job->hello_size + 1 >= sizeof(job->hello))
				break;
			job->hello[job->hello_size++] = byte;
			continue;
		}
		job->hello[job->hello_size] = '\0';
		job->greeted = job->read_once = strcmp(job->hello, job->expected) == 0;
		if (!job->greeted)
			break;
	}
	if (size < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	close_fd(&job->reader);
	if (job->greeted)
		job_stop(job, "submitter gone");
	job->greeted = false;
}

bool job_wants_output(const struct job *job)
{
	return job->output_size < OUTPUT_MAX;
}

void job_read(struct job *job, int which)
{
	unsigned char *at = job->output + job->output_size;
	ssize_t size = read(job->pipes[which], at + FRAME_HEAD, 65536);

	if (size > 0) {
		frame_head(at, (unsigned)which + 1, (uint32_t)size);
		job->output_size += FRAME_HEAD + (size_t)size;
	} else if (size == 0 || errno != EINTR) {
		close_fd(&job->pipes[which]);
	}
}

void job_send(struct job *job)
{
	ssize_t sent = send(job->reader, job->output, job->output_size, MSG_NOSIGNAL);

	if (sent > 0) {
		job->output_size -= (size_t)sent;
		memmove(job->output, job->output + sent, job->output_size);
	}
}

void job_end_output(struct job *job)
{
	if (job->marked || !job->exited || job->pipes[0] >= 0 || job->pipes[1] >= 0)
		return;
	frame_head(job->output + job->output_size, CHANNEL_END, 0);
	job->output_size += FRAME_HEAD;
	job->marked = true;
}

bool job_is_over(const struct job *job)
{
	if (!job->exited)
		return false;
	if (clock_ns() >= job->exited_at + READER_WAIT_NS)
		return true;
	if (!job->marked)
		return false;
	return job->output_size == 0 || (job->read_once && !job->greeted);
}

uint64_t job_due(const struct job *job)
{
	uint64_t at = job->end_at < job->kill_at ? job->end_at : job->kill_at;
	uint64_t now = clock_ns();

	if (job->exited)
		at = job->exited_at + READER_WAIT_NS;
	else if (job->pid == 0)
		return BATON_NEVER;
	return at > now ? at - now : 0;
}
