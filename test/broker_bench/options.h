/* SPDX-License-Identifier: MIT */
/* What the load generator is asked to do: its command line. */
#ifndef LOAD_OPTIONS_H
#define LOAD_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct options {
	const char *host; /* an IPv4 or IPv6 address */
	const char *label;
	unsigned int port;
	unsigned int publishers, subscribers, topics;
	unsigned int idle; /* further connections that do nothing */
	unsigned int publish_qos, subscribe_qos;
	unsigned int payload;
	unsigned int rate; /* messages per second in total; 0: flat out */
	unsigned int window;
	unsigned int ramp; /* connections per second; 0: as fast as they are accepted */
	double seconds, warm_up, timeout, wait;
	pid_t pid; /* of the broker; 0: not known */
	bool persistent, json;
};

/* Returns -1, or the status to exit with: 0 after --help, 2 after a complaint. `selftest` is set
 * if that is all that is asked for. */
int options_parse(struct options *options, bool *selftest, int argc, char **argv);

#endif
