/* SPDX-License-Identifier: MIT */
/*
 * A message goes to all sessions that subscribe: one allocation, one future. The other sessions get
 * the message although one session is closed.
 */
#include <errno.h>
#include <stdio.h>

#include <baton/error.h>
#include <baton/fan_out.h>

#define SESSIONS 1000

struct session {
	struct baton_resource resource;
	const char *last;
};

static struct session sessions[SESSIONS];

static int deliver(struct baton_resource *resource, void *message, size_t index)
{
	struct session *session = baton_container_of(resource, struct session, resource);

	(void)index;
	session->last = message;
	return 0;
}

int main(void)
{
	static char message[] = "hello";
	struct baton_fan_out_options options = {
		.fn = deliver, .arg = message, .flags = BATON_FAN_OUT_LATER};
	struct baton_resource *resources[SESSIONS];
	struct baton_fan_out_stats counts;
	struct baton_fan_out *fan_out;
	size_t failed = SESSIONS;
	int delivered = 0;
	int status;

	for (int i = 0; i < SESSIONS; i++) {
		resources[i] = &sessions[i].resource;
		baton_resource_init(resources[i], NULL);
	}
	baton_resource_close(resources[17]);
	if (baton_fan_out_submit(resources, SESSIONS, &options, &fan_out) != 0 ||
	    baton_fan_out_wait(fan_out) != 0)
		return 1;
	for (int i = 0; i < SESSIONS; i++)
		delivered += sessions[i].last == message;
	baton_fan_out_stats_read(fan_out, &counts);
	status = baton_fan_out_status(fan_out, &failed);
	printf("fan_out: %d of %d delivered, %zu failed, the first at %zu: %s\n", delivered,
	       SESSIONS, counts.failed, failed, baton_error_text(status));
	baton_fan_out_unref(fan_out);
	return delivered != SESSIONS - 1 || failed != 17 || status != -EPIPE;
}
