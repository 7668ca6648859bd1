/* SPDX-License-Identifier: MIT */
/*
 * From the command line to the signal that shuts the broker down.
 *
 * Signals come to the main thread alone: they are blocked before any other thread starts, and
 * unblocked in the main thread while it serves. The first SIGINT or SIGTERM shuts the broker down.
 * Until the last resource is freed, a second signal prints a line and kills the process. A signal
 * within half a second of the first belongs to the first: timeout(1), for one, signals a child and
 * then the child's process group. Before the broker serves and after the shutdown, signals wait.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "broker.h"
#include "net/listener.h"
#include "common/log.h"
#include "net/loop.h"
#include "common/must.h"
#include "reload.h"
#include "store/database.h"
#include "system.h"

#define SIGNALS_TOGETHER_MS 500

struct service {
	uv_loop_t uv; /* of the main thread */
	uv_signal_t interrupt;
	uv_signal_t terminate;
	uv_signal_t hang_up;
	struct listeners listeners;
	struct system system;
	struct broker *broker;
};

/* When the first signal came, in milliseconds. Written once, before the handler is installed. */
static volatile long long signalled;

static void signals_block(int how)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	must(-pthread_sigmask(how, &set, NULL), "signals");
}

/* A handler may call this. */
static long long milliseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

/* The signal that is raised here is pending until this handler returns, and then kills. */
static void end_at_once(int number)
{
	static const char line[] = "broker: a signal during the shutdown: ended at once\n";

	if (milliseconds() - signalled < SIGNALS_TOGETHER_MS)
		return;
	(void)!write(STDERR_FILENO, line, sizeof(line) - 1);
	signal(number, SIG_DFL);
	raise(number);
}

/* From here on a signal kills the process, since libuv's loop does not run in the shutdown. */
static void signals_end_at_once(void)
{
	static const struct sigaction action = {.sa_handler = end_at_once};

	signalled = milliseconds();
	must(sigaction(SIGINT, &action, NULL) | sigaction(SIGTERM, &action, NULL), "signals");
	signals_block(SIG_UNBLOCK);
}

static void service_end(uv_signal_t *handle, int number)
{
	struct service *service = handle->data;

	if (service->listeners.stopped)
		return; /* the second signal in one turn of the loop */
	signals_end_at_once();
	log_event(LOG_LEVEL_NOTICE, "stopping", log_number("signal", (uint64_t)number));
	listeners_stop(&service->listeners);
	uv_stop(handle->loop);
}

static void service_reload(uv_signal_t *handle, int number)
{
	struct service *service = handle->data;

	(void)number;
	broker_reload(service->broker);
	system_pace(&service->system);
}

/* Serves until a signal comes. */
static int service_run(struct service *service)
{
	int status;

	/* First: a process that has read "listening" may send a signal at once. */
	service->interrupt.data = service;
	service->terminate.data = service;
	service->hang_up.data = service;
	uv_signal_start(&service->interrupt, service_end, SIGINT);
	uv_signal_start(&service->terminate, service_end, SIGTERM);
	uv_signal_start(&service->hang_up, service_reload, SIGHUP);
	signals_block(SIG_UNBLOCK);
	status = listeners_start(&service->listeners, &service->uv, &service->broker->net);
	if (status != 0) {
		listeners_stop(&service->listeners);
		return status;
	}
	system_start(&service->system, &service->uv, service->broker);
	uv_run(&service->uv, UV_RUN_DEFAULT);
	system_stop(&service->system);
	return 0;
}

static void service_init(struct service *service, struct broker *broker)
{
	service->broker = broker;
	must(uv_loop_init(&service->uv), "loop");
	uv_signal_init(&service->uv, &service->interrupt);
	uv_signal_init(&service->uv, &service->terminate);
	uv_signal_init(&service->uv, &service->hang_up);
}

static void service_deinit(struct service *service)
{
	system_deinit(&service->system);
	uv_close((uv_handle_t *)&service->interrupt, NULL);
	uv_close((uv_handle_t *)&service->terminate, NULL);
	uv_close((uv_handle_t *)&service->hang_up, NULL);
	uv_run(&service->uv, UV_RUN_DEFAULT);
	must(uv_loop_close(&service->uv), "close loop");
}

/*
 * Opens /dev/null for each standard stream that is closed. Otherwise a client's socket would get
 * the number of stderr, and receive the log.
 */
static void open_streams(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

/* --check-config and --check-store. Returns the exit status. */
static int look(const struct broker_options *options)
{
	if (options->check_config) {
		const int files = broker_check(options), listeners = listeners_check(options);

		if (files != 0 || listeners != 0)
			return 2;
	}
	if (options->check_config)
		printf("no errors in the configuration\n");
	return options->check_store ? database_check(options->store) : 0;
}

int main(int argc, char **argv)
{
	static struct broker broker;
	static struct service service;
	int status;

	open_streams();
	status = options_parse(&broker.env.options, argc, argv, options_say_stderr);
	if (status >= 0) {
		options_free(&broker.env.options);
		return status;
	}
	broker.argc = argc;
	broker.argv = argv;
	if (broker.env.options.check_config || broker.env.options.check_store) {
		status = look(&broker.env.options);
		options_free(&broker.env.options);
		return status;
	}
	signal(SIGPIPE, SIG_IGN);
	signals_block(SIG_BLOCK);
	listener_raise_limit();
	service_init(&service, &broker);
	status = broker_init(&broker);
	if (status == 0)
		status = service_run(&service);
	signals_end_at_once();
	broker_deinit(&broker, status);
	signals_block(SIG_BLOCK);
	service_deinit(&service);
	options_free(&broker.env.options);
	return status == 0 ? 0 : 1;
}
