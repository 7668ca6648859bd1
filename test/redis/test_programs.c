/* SPDX-License-Identifier: MIT */
/* Submitter, scheduler and backend of examples/queue, as their users run them: statuses, output,
 * Ctrl-C, and what each says when it cannot go on. QUEUE_PROGRAMS: where they are. */
#include "programs.h"

#include <criterion/criterion.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static void set_up(void)
{
	server_start(&server, NULL);
}

static void tear_down(void)
{
	server_stop(&server);
}

TestSuite(programs, .init = set_up, .fini = tear_down, .timeout = 60);

Test(programs, a_submitter_has_the_output_and_the_status_of_its_job)
{
	struct program job;
	char input[128];
	FILE *file;

	start_queue("10,20,30");
	job = start("submitter", "--class", "fast", "sh", "-c", "echo out; echo err >&2; exit 7",
	            NULL);
	cr_assert_eq(await_end(&job), 7, "%s", contents(job.err));
	cr_assert_str_eq(contents(job.out), "out\n");
	cr_assert_str_eq(contents(job.err), "err\n");
	job = start("submitter", "sh", "-c", "kill -KILL $$", NULL);
	cr_assert_eq(await_end(&job), 128 + SIGKILL, "%s", contents(job.err));
	job = start("submitter", "/no/such/program", NULL);
	fails(&job, 127, "/no/such/program: No such file or directory");
	snprintf(input, sizeof(input), "%s/input", server.directory);
	file = fopen(input, "w");
	cr_assert(file && fputs("from a file", file) >= 0 && fclose(file) == 0);
	job = start("submitter", "--file", input, "cat", "input", NULL);
	cr_assert_eq(await_end(&job), 0, "%s", contents(job.err));
	cr_assert_str_eq(contents(job.out), "from a file");
	snprintf(input, sizeof(input), "%s/backend", server.directory);
	cr_assert_eq(unlink(input), 0);
	job = start("submitter", "true", NULL);
	fails(&job, OUTPUT_MISSING, "cannot reach the backend");
	no_task_is_left();
	end_queue();
}

/* The job goes on when the test has seen the first half of its output. */
Test(programs, the_output_of_a_job_comes_while_it_runs)
{
	struct program job;
	char text[512];

	start_queue("10,20,30");
	snprintf(text, sizeof(text),
	         "echo first; while ! [ -e %s/go ]; do sleep 0.01; done; echo second",
	         server.directory);
	job = start("submitter", "sh", "-c", text, NULL);
	await_text(job.out, "first\n");
	cr_assert_eq(waitpid(job.pid, NULL, WNOHANG), 0, "it runs");
	cr_assert_str_eq(contents(job.out), "first\n");
	snprintf(text, sizeof(text), "%s/go", server.directory);
	cr_assert_eq(close(open(text, O_CREAT | O_WRONLY, 0600)), 0);
	cr_assert_eq(await_end(&job), 0, "%s", contents(job.err));
	cr_assert_str_eq(contents(job.out), "first\nsecond\n");
	end_queue();
}

Test(programs, ctrl_c_withdraws_a_job_that_waits_and_one_that_runs)
{
	struct program runs;
	struct program waits;
	struct program next;
	pid_t pid;

	start_queue("10,20,30");
	runs = start("submitter", "--class", "slow", "sh", "-c", "echo $$; exec sleep 1000", NULL);
	await_text(runs.out, "\n");
	pid = (pid_t)atoi(contents(runs.out));
	cr_assert(pid > 0 && kill(pid, 0) == 0);
	waits = start("submitter", "--class", "slow", "--progress", "echo", "never", NULL);
	await_text(waits.err, "waiting, at most");
	cr_assert_eq(server_number(&server, "ZCARD {baton}:queue"), 1);
	kill(waits.pid, SIGINT);
	cr_assert_eq(await_end(&waits), 130, "%s", contents(waits.err));
	cr_assert_eq(server_number(&server, "ZCARD {baton}:queue"), 0);
	cr_assert_str_eq(contents(waits.out), "");
	cr_assert_eq(kill(pid, 0), 0, "the other one runs");
	kill(runs.pid, SIGINT);
	cr_assert_eq(await_end(&runs), 130, "%s", contents(runs.err));
	cr_assert(kill(pid, 0) == -1 && errno == ESRCH, "the job is dead");
	no_task_is_left();
	next = start("submitter", "--class", "slow", "echo", "next", NULL);
	cr_assert_eq(await_end(&next), 0, "%s", contents(next.err));
	cr_assert_str_eq(contents(next.out), "next\n");
	end_queue();
}

Test(programs, a_withdrawn_job_that_the_server_has_lost_is_not_submitted_again)
{
	struct program job = start("submitter", "echo", "never", NULL);

	await_number(1, "ZCARD {baton}:queue");
	server_text(&server, "FLUSHALL");
	kill(job.pid, SIGINT);
	cr_assert_eq(await_end(&job), 130, "%s", contents(job.err));
	await_number(0, "ZCARD {baton}:queue");
}

Test(programs, a_job_whose_time_is_over_is_stopped_and_an_interactive_one_denied)
{
	struct program job;
	struct program shell;

	start_queue("0.2,20,30");
	job = start("submitter", "--class", "fast", "sleep", "1000", NULL);
	fails(&job, 128 + SIGTERM, "the job was stopped: time");
	job = start("submitter", "--class", "medium", "sh", "-c", "echo runs; exec sleep 1000",
	            NULL);
	await_text(job.out, "runs");
	shell = start("submitter", "--class", "interactive", "sh", NULL);
	fails(&shell, DENIED, "denied: no backend is free");
	kill(job.pid, SIGTERM);
	cr_assert_eq(await_end(&job), 130);
	no_task_is_left();
	end_queue();
}

/* ---- What cannot be done ---- */

static const char *const all[] = {"submitter", "scheduler", "backend"};

/* A command, or where to listen: without it there is only the usage. */
static const char *plain_address(void)
{
	static char address[128];

	snprintf(address, sizeof(address), "unix:%s/plain", server.directory);
	return address;
}

static struct program start_plain(int which)
{
	if (which == 1)
		return start(all[1], NULL);
	return which == 0 ? start(all[0], "true", NULL)
	                  : start(all[2], "--listen", plain_address(), NULL);
}

Test(programs, each_has_a_help_and_knows_no_other_options)
{
	for (int i = 0; i < 3; i++) {
		struct program self = launch((const char *[]){all[i], "--help", NULL});
		char usage[32];

		snprintf(usage, sizeof(usage), "Usage: %s ", all[i]);
		cr_assert_eq(await_end(&self), 0);
		cr_assert_eq(strncmp(contents(self.out), usage, strlen(usage)), 0);
		cr_assert(strstr(contents(self.out), "--password-file FILE"));
		cr_assert_str_eq(contents(self.err), "");
		self = launch((const char *[]){all[i], "--nonsense", NULL});
		fails(&self, USAGE, usage);
		says(&self, "unrecognized option '--nonsense'");
		cr_assert_str_eq(contents(self.out), "");
	}
}

Test(programs, without_redis_each_says_where_it_has_looked)
{
	static const char text[] = "no Redis at /no/redis: No such file or directory";
	struct program self = start_nowhere("submitter", "true", NULL);

	fails(&self, NO_REDIS, text);
	self = start_nowhere("scheduler", NULL);
	fails(&self, NO_REDIS, text);
	self = start_nowhere("backend", "--listen", plain_address(), NULL);
	fails(&self, NO_REDIS, text);
}

Test(programs, a_server_that_comes_late_is_waited_for)
{
	struct program self;

	server_kill(&server);
	self = start_plain(1);
	usleep(200000); /* some attempts */
	server_restart(&server, NULL);
	await_text(self.out, "leads");
	kill(self.pid, SIGINT);
	cr_assert_eq(await_end(&self), 0);
}

Test(programs, options_that_are_none)
{
	static const struct {
		const char *words[8];
		const char *text;
	} wrong[] = {
		{{"submitter", NULL}, "Usage: submitter"},
		{{"backend", NULL}, "Usage: backend"},
		{{"backend", "--listen", "unix:/no/such/folder/socket", NULL}, "cannot listen at"},
		{{"submitter", "--class", "huge", "true", NULL}, "not a class: huge"},
		{{"submitter", "--class", "8", "true", NULL}, "not a class: 8"},
		{{"submitter", "--id", "a:b", "true", NULL},
	         "the task's id is not 1 to 63 letters"},
		{{"submitter", "--file", "/no/such/file", "true", NULL},
	         "cannot read /no/such/file: No such"},
		{{"submitter", "--file", "/tmp", "true", NULL}, "/tmp: it is no regular file"},
		{{"submitter", "--queue", "a b", "true", NULL},
	         "the queue's name is not 1 to 63 letters"},
		{{"submitter", "--password-file", "/no/such/file", "true", NULL},
	         "cannot read /no/such/file"},
		{{"scheduler", "--limits", "1,2,3", NULL}, "limits nest"},
		{{"scheduler", "--limits", "3,2,0", NULL}, "none is 0"},
		{{"scheduler", "--limits", "3,two,1", NULL}, "not a limit: two"},
		{{"scheduler", "--limits", "101%,50%,25%", NULL}, "no rules"},
		{{"scheduler", "--limits", "3,2,1", "--durations", "3,2,1", NULL},
	         "durations rise"},
		{{"scheduler", "--limits", "3,2", "--durations", "1,2,3", NULL},
	         "2 limits, but 3 durations"},
		{{"scheduler", "--limits", "3,2", NULL}, "2 limits, but 3 durations"},
		{{"scheduler", "--limits", "90%,50%,1", NULL}, "1: all limits are percentages"},
		{{"scheduler", "--queue-max", "many", NULL}, "not a number from 0 to"},
		{{"scheduler", "--queue-bytes", "-1", NULL}, "not a number from 0 to"},
		{{"scheduler", "--effects", "9x", NULL}, "not a number from 0 to"},
		{{"scheduler", "--reserve", "", NULL}, "not a number from 0 to"},
		{{"submitter", "--attempts", "4294967296", "true", NULL},
	         "not a number from 0 to 4294967295"},
		{{"submitter", "--port", "65536", "true", NULL}, "not a number from 0 to 65535"},
		{{"submitter", "--room", "long", "true", NULL}, "not a number of seconds: long"},
		{{"submitter", "--password-file", "/dev/null", "true", NULL},
	         "cannot read a password from /dev/null: it is empty"},
		{{"backend", "--listen", "nowhere", NULL}, "(unix:PATH or HOST:PORT)"},
		{{"scheduler", "--durations", "1,two,3", NULL}, "not a number of seconds: two"},
		{{"scheduler", "--limits", "3,2,1", "--reserve", "3", NULL}, "no rules"},
		{{"scheduler", "--policy", "fair", NULL}, "not a policy: fair"},
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		const char *const *words = wrong[i].words;
		struct program self =
			start(words[0], words[1], words[2], words[3], words[4], words[5], NULL);

		fails(&self, USAGE, wrong[i].text);
	}
	cr_assert_eq(server_number(&server, "DBSIZE"), 0, "nothing was written");
}

Test(programs, an_id_that_exists_and_a_class_that_the_scheduler_has_not)
{
	struct program first = start("submitter", "--id", "same", "--progress", "true", NULL);
	struct program other;

	await_text(first.err, "waiting");
	other = start("submitter", "--id", "same", "true", NULL);
	fails(&other, USAGE, "a task with the id same is there already");
	kill(first.pid, SIGINT);
	cr_assert_eq(await_end(&first), 130);
	no_task_is_left();
	start_queue("10,20,30");
	other = start("submitter", "--class", "5", "true", NULL);
	fails(&other, USAGE, "there is no class 5: the scheduler has 3 classes");
	end_queue();
}

Test(programs, what_the_server_refuses_is_said_and_is_not_a_status_of_a_job)
{
	struct program self;

	server_text(&server, "LPUSH {baton}:queue foreign");
	self = start_plain(0);
	fails(&self, NO_REDIS, "another program uses the name of this queue");
	server_text(&server, "DEL {baton}:queue");
	server_text(&server, "CONFIG SET maxmemory 1");
	self = start_plain(0);
	fails(&self, NO_REDIS, "memory is full");
	server_text(&server, "CONFIG SET maxmemory 0");
	server_text(&server, "REPLICAOF 127.0.0.1 1");
	self = start(all[0], "--patience", "0", "true", NULL);
	fails(&self, NO_REDIS, "READONLY");
	server_text(&server, "REPLICAOF NO ONE");
	server_text(&server, "HSET {baton}:numbers schema 99");
	/* A scheduler tries again: it leads when the other programs have drained the queue. */
	for (int i = 0; i < 3; i += 2) {
		self = start_plain(i);
		fails(&self, NO_REDIS, "are of schema 99, this older program's of schema 1");
	}
	server_text(&server, "DEL {baton}:numbers");
	cr_assert_eq(server_number(&server, "DBSIZE"), 0);
}

/* A submitter that is stopped while the backend waits for it misses output, and knows it. */
Test(programs, output_whose_end_is_missing_is_said)
{
	char script[256];
	char gate[128];
	struct program self;

	snprintf(gate, sizeof(gate), "%s/gate", server.directory);
	snprintf(script, sizeof(script),
	         "echo begins; while [ ! -e %s ]; do sleep 0.05; done; head -c 900000 /dev/zero",
	         gate);
	start_queue("50,60,70");
	self = start("submitter", "sh", "-c", script, NULL);
	await_text(self.out, "begins");
	kill(self.pid, SIGSTOP);
	close(open(gate, O_WRONLY | O_CREAT, 0600));
	for (int ms = 0; server_number(&server, "HLEN {baton}:run") > 0; ms += 5) {
		cr_assert_lt(ms, PATIENCE_MS, "the job does not end");
		pause_5_ms();
	}
	kill(self.pid, SIGCONT);
	fails(&self, OUTPUT_MISSING, "the end of the job's output is missing");
	end_queue();
}

/*
 * A submitter reads late that its job runs, that the backend is lost, and that the job runs again,
 * on the same backend: it hears the second run, and does not end it when it leaves the first.
 */
Test(programs, a_submitter_that_reads_late_leaves_the_next_run_alone)
{
	char script[256], gate[128], address[128];
	struct program self;

	snprintf(gate, sizeof(gate), "%s/gate", server.directory);
	snprintf(address, sizeof(address), "unix:%s/backend", server.directory);
	snprintf(script, sizeof(script),
	         "echo begins; while [ ! -e %s ]; do sleep 0.05; done; echo ends", gate);
	self = start("submitter", "--id", "job", "--progress", "sh", "-c", script, NULL);
	await_text(self.err, "waiting");
	kill(self.pid, SIGSTOP);
	queue_scheduler = start("scheduler", "--limits", "1,1,1", "--durations", "50,60,70",
	                        "--lease", "1", NULL);
	queue_backend =
		start("backend", "--listen", address, "--name", "one", "--lease", "1", NULL);
	await_number(1, "SCARD {baton}:held:one");
	kill(queue_backend.pid, SIGSTOP);
	await_number(2, "HGET {baton}:task:job attempts");
	kill(queue_backend.pid, SIGCONT);
	await_number(1, "SCARD {baton}:held:one");
	kill(self.pid, SIGCONT);
	await_text(self.out, "begins");
	close(open(gate, O_WRONLY | O_CREAT, 0600));
	cr_assert_eq(await_end(&self), 0, "%s", contents(self.err));
	cr_assert(strstr(contents(self.out), "ends"));
	end_queue();
}

Test(programs, a_help_has_all_statuses)
{
	static const char *const statuses[] = {"74: the end",   "75: denied",
	                                       "69: no Redis",  "70: the job failed",
	                                       "64: an option", "130: Ctrl"};
	struct program self = start("submitter", "--help", NULL);

	cr_assert_eq(await_end(&self), 0);
	for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++)
		cr_assert(strstr(contents(self.out), statuses[i]), "%s", statuses[i]);
	for (int i = 0; i < 2; i++) {
		self = start(i ? "scheduler" : "backend", "--help", NULL);
		cr_assert_eq(await_end(&self), 0);
		cr_assert(strstr(contents(self.out), "Exit status: 0:"));
	}
}

/* A scheduler goes on when the server can write again. */
Test(programs, a_scheduler_says_once_what_is_wrong_and_when_it_is_over)
{
	start_queue("10,20,30");
	server_text(&server, "LPUSH {baton}:effects foreign");
	await_text(queue_scheduler.err, "trying again\n");
	server_text(&server, "DEL {baton}:effects");
	await_text(queue_scheduler.err, "going on\n");
	end_queue();
}

Test(programs, a_password_comes_from_a_file_or_the_environment)
{
	struct program self;
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/password", server.directory);
	file = fopen(path, "w");
	cr_assert(file && fputs("right\n", file) >= 0 && fclose(file) == 0);
	server_text(&server, "ACL SETUSER baton on >right ~{* +@all");
	server_text(&server, "CONFIG SET requirepass locked");
	for (int i = 0; i < 3; i++) {
		self = start_plain(i);
		fails(&self, NO_REDIS, "NOAUTH");
	}
	self = start("submitter", "--password-file", path, "true", NULL);
	fails(&self, NO_REDIS, "WRONGPASS");
	/* The password of the user, and then that of the server. */
	self = start("submitter", "--user", "baton", "--password-file", path, "--progress", "true",
	             NULL);
	await_text(self.err, "waiting");
	kill(self.pid, SIGINT);
	cr_assert_eq(await_end(&self), 130);
	setenv("BATON_REDIS_PASSWORD", "locked", 1);
	self = start("submitter", "--progress", "true", NULL);
	unsetenv("BATON_REDIS_PASSWORD");
	await_text(self.err, "waiting");
	kill(self.pid, SIGINT);
	cr_assert_eq(await_end(&self), 130);
}

/* ---- A queue that is full ---- */

static void await_withdrawn(const struct program *self)
{
	kill(self->pid, SIGINT);
	cr_assert_eq(await_end(self), 130, "%s", contents(self->err));
}

static struct program fill(const char *option, const char *bound)
{
	struct program self;

	queue_scheduler = start("scheduler", option, bound, NULL);
	await_text(queue_scheduler.out, "leads");
	self = start("submitter", "--progress", "echo", "waits", NULL);
	await_text(self.err, "waiting");
	return self;
}

Test(programs, a_full_queue_refuses_jobs_or_lets_them_wait_for_room)
{
	struct program starts = fill("--queue-max", "1");
	struct program first, self, patient;

	await_number(1, "HLEN {baton}:run");
	first = start("submitter", "true", NULL);
	await_number(1, "ZCARD {baton}:queue");
	self = start("submitter", "true", NULL);
	fails(&self, DENIED, "the queue is full: 1 tasks wait");
	self = start("submitter", "--room", "0.3", "true", NULL);
	fails(&self, DENIED, "the queue is full");
	/* Ctrl-C is heard meanwhile. */
	self = start("submitter", "--progress", "--room", "1000", "true", NULL);
	await_text(self.err, "waiting for room");
	kill(self.pid, SIGINT);
	fails(&self, 130, "not submitted");
	patient = start("submitter", "--progress", "--room", "1000", "true", NULL);
	await_text(patient.err, "the queue is full: 1 tasks wait; waiting for room");
	cr_assert_eq(server_number(&server, "ZCARD {baton}:queue"), 1);
	await_withdrawn(&first);
	await_text(patient.err, "waiting\033");
	await_withdrawn(&patient);
	await_withdrawn(&starts);
	no_task_is_left();
	kill(queue_scheduler.pid, SIGINT);
	cr_assert_eq(await_end(&queue_scheduler), 0);
}

Test(programs, the_bytes_of_all_jobs_have_a_bound)
{
	struct program first = fill("--queue-bytes", "20"); /* it has 11 */
	struct program self = start("submitter", "echo", "too long", NULL);

	fails(&self, DENIED, "its tasks may have 20 bytes");
	self = start("submitter", "--progress", "true", NULL);
	await_text(self.err, "waiting");
	await_withdrawn(&self);
	await_withdrawn(&first);
	kill(queue_scheduler.pid, SIGINT);
	cr_assert_eq(await_end(&queue_scheduler), 0);
}
