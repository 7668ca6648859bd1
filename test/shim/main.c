/* SPDX-License-Identifier: MIT */
/*
 * Runs the tests of one executable, each in a child of its own: the parent never uses baton, so
 * that every child is a process that may. A child that overstays is ended by its own alarm.
 *
 *	test_x [--filter pattern] [--list]	pattern: as for fnmatch, on "suite/name"
 *
 * SHIM_TIMEOUT_SCALE: instrumented code is slower; the tests' timeouts are multiplied by this.
 */
#include <criterion/criterion.h>

#include <errno.h>
#include <fnmatch.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SHIM_TIMEOUT_SCALE
#define SHIM_TIMEOUT_SCALE 10
#endif
#define SKIPPED 177
#define TIMEOUT_DEFAULT 30

enum outcome { PASSED, FAILED, CRASHED, LEFT_OUT };

static struct shim_test *tests;
static struct shim_test **tests_end = &tests;
static bool failed;

void shim_register(struct shim_test *test)
{
	*tests_end = test;
	tests_end = &test->next;
}

static void print_line(const char *mark, const char *format, va_list arguments)
{
	char line[512];

	(void)vsnprintf(line, sizeof line, format, arguments);
	(void)fprintf(stderr, "[%s] %s\n", mark, line);
}

void shim_log(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	print_line("----", format, arguments);
	va_end(arguments);
}

void shim_fail(bool fatal, const char *file, int line, const char *text, const char *format, ...)
{
	va_list arguments;

	shim_log("%s:%d: Assertion Failed: %s", file, line, text);
	va_start(arguments, format);
	if (*format)
		print_line("----", format, arguments);
	va_end(arguments);
	if (fatal)
		_exit(EXIT_FAILURE);
	__atomic_store_n(&failed, true, __ATOMIC_SEQ_CST);
}

_Noreturn void shim_skip(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	print_line("SKIP", format, arguments);
	va_end(arguments);
	_exit(SKIPPED);
}

static const struct shim_test *suite_of(const struct shim_test *test)
{
	static const struct shim_test none;

	for (const struct shim_test *entry = tests; entry; entry = entry->next)
		if (!entry->name && strcmp(entry->suite, test->suite) == 0)
			return entry;
	return &none;
}

/* In the child; exit() runs the sanitizers' last checks, which change the exit code. */
_Noreturn static void run(const struct shim_test *test, const struct shim_test *suite)
{
	double timeout = test->timeout > 0 ? test->timeout : suite->timeout;
	void (*init)(void) = test->init ? test->init : suite->init;
	void (*fini)(void) = test->fini ? test->fini : suite->fini;

	(void)setpgid(0, 0);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm((unsigned)ceil((timeout > 0 ? timeout : TIMEOUT_DEFAULT) * SHIM_TIMEOUT_SCALE));
	if (init)
		init();
	test->run();
	if (fini)
		fini();
	exit(__atomic_load_n(&failed, __ATOMIC_SEQ_CST) ? EXIT_FAILURE : EXIT_SUCCESS);
}

static enum outcome judge(const struct shim_test *test, int signal, int status)
{
	if (WIFSIGNALED(status)) {
		if (WTERMSIG(status) == signal)
			return PASSED;
		shim_log("%s/%s: %s", test->suite, test->name,
		         WTERMSIG(status) == SIGALRM ? "timed out" : strsignal(WTERMSIG(status)));
		return WTERMSIG(status) == SIGALRM ? FAILED : CRASHED;
	}
	if (WEXITSTATUS(status) == SKIPPED)
		return LEFT_OUT;
	if (WEXITSTATUS(status) == test->exit_code && !signal)
		return PASSED;
	shim_log("%s/%s: exit code %d", test->suite, test->name, WEXITSTATUS(status));
	return FAILED;
}

static enum outcome run_in_child(const struct shim_test *test)
{
	const struct shim_test *suite = suite_of(test);
	int status = 0;
	pid_t child;

	if (test->disabled || suite->disabled)
		return LEFT_OUT;
	(void)fflush(NULL);
	child = fork();
	if (child < 0) {
		perror("fork");
		return FAILED;
	}
	if (child == 0)
		run(test, suite);
	/* The child's alarm ends the wait. */
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	(void)kill(-child, SIGKILL); /* whatever the test has left running */
	return judge(test, test->signal ? test->signal : suite->signal, status);
}

static bool wanted(const struct shim_test *test, const char *pattern)
{
	char name[256];

	(void)snprintf(name, sizeof name, "%s/%s", test->suite, test->name ? test->name : "");
	return test->name && (!pattern || fnmatch(pattern, name, 0) == 0);
}

int main(int argument_count, char **arguments)
{
	unsigned counts[LEFT_OUT + 1] = {0};
	const char *pattern = NULL;
	bool list = false;

	for (int i = 1; i < argument_count; i++) {
		if (strcmp(arguments[i], "--filter") == 0 && i + 1 < argument_count)
			pattern = arguments[++i];
		else if (strcmp(arguments[i], "--list") == 0)
			list = true;
	}
	for (const struct shim_test *test = tests; test; test = test->next) {
		enum outcome outcome;

		if (!wanted(test, pattern))
			continue;
		if (list) {
			(void)printf("%s/%s\n", test->suite, test->name);
			continue;
		}
		outcome = run_in_child(test);
		counts[outcome]++;
		if (outcome == FAILED || outcome == CRASHED)
			(void)fprintf(stderr, "[FAIL] %s::%s\n", test->suite, test->name);
	}
	if (list)
		return EXIT_SUCCESS;
	(void)fprintf(stderr,
	              "[====] Synthesis: Tested: %u | Passing: %u | Failing: %u | Crashing: %u \n",
	              counts[PASSED] + counts[FAILED] + counts[CRASHED], counts[PASSED],
	              counts[FAILED] + counts[CRASHED], counts[CRASHED]);
	return counts[FAILED] + counts[CRASHED] ? EXIT_FAILURE : EXIT_SUCCESS;
}
