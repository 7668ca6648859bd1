/* SPDX-License-Identifier: MIT */
/* The I/O threads together; see net.h. */
#include "net/net.h"

#include <stdlib.h>

#include <baton/error.h>

#include "common/env.h"
#include "common/log.h"
#include "common/must.h"
#include "net/loop.h"

int net_init(struct net *net, struct env *env, const struct net_calls *calls)
{
	int status = 0;

	net->env = env;
	net->calls = calls;
	net->loops = must_alloc(env->options.threads * sizeof(*net->loops));
	for (unsigned int i = 0; i < env->options.threads && status == 0; i++) {
		status = loop_start(&net->loops[i], net);
		if (status == 0)
			net->loops_running++;
	}
	if (status != 0)
		log_event(LOG_LEVEL_ERROR, "start_failed", log_text("what", "I/O thread"),
		          log_text("reason", baton_error_text(status)));
	return status;
}

void net_stop(struct net *net)
{
	for (unsigned int i = 0; i < net->loops_running; i++)
		loop_stop(&net->loops[i]);
	for (unsigned int i = 0; i < net->loops_running; i++)
		loop_join(&net->loops[i]);
}

void net_deinit(struct net *net)
{
	for (unsigned int i = 0; i < net->loops_running; i++)
		loop_deinit(&net->loops[i]);
	free(net->loops);
}
