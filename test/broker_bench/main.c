/* SPDX-License-Identifier: MIT */
/* A load generator for MQTT 3.1.1 brokers; see options.c for what it does, README.md for how. */
#include <stdio.h>

#include "load.h"
#include "network.h"
#include "options.h"
#include "report.h"
#include "run.h"
#include "selftest.h"

int main(int argc, char **argv)
{
	static struct load load;
	struct options options;
	bool self;
	int status = options_parse(&options, &self, argc, argv);

	if (status >= 0)
		return status;
	if (self)
		return selftest();
	if (load_init(&load, &options) != 0)
		load_fail(&load, LOAD_SYSTEM, NULL, "no memory");
	else
		run(&load);
	status = report(&load);
	network_close(&load);
	network_deinit(&load);
	load_deinit(&load);
	return status;
}
