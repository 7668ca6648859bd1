/* SPDX-License-Identifier: MIT */
/*
 * Bounds. At most five publishes wait in a session. When four wait, the reader of the socket is
 * told to stop; a sixth publish is refused. Acknowledgements (lane 0) are exempt.
 */
#include <baton.h>
#include <baton/bound.h>
#include <baton/label.h>

#include <errno.h>
#include <stdio.h>

struct session {
	struct baton_resource resource;
	int refused;
	int acknowledged;
	int stopped; /* how often the reader was told to stop */
	int resumed; /* how often the reader was told to go on */
};

static void stop_reading(struct baton_resource *resource, void *arg)
{
	(void)resource;
	((struct session *)arg)->stopped++;
}

static void resume_reading(struct baton_resource *resource, void *arg)
{
	(void)resource;
	((struct session *)arg)->resumed++;
}

static void *publish(void *session)
{
	return session;
}

static void *acknowledge(void *session)
{
	((struct session *)session)->acknowledged++;
	return NULL;
}

/* The session is busy with this task, so the tasks submitted here wait. */
static void *flood(void *arg)
{
	const struct baton_label publishes = {.bytes = 100, .lane = 1};
	const struct baton_label control = {.lane = 0};
	struct session *session = arg;

	for (int i = 0; i < 8; i++) {
		if (baton_post_with(&session->resource,
		                    &(struct baton_call_options){.fn = publish,
		                                                 .arg = arg,
		                                                 .label = &publishes}) == -EAGAIN)
			session->refused++;
		BATON_IGNORE(baton_post_with(&session->resource,
		                             &(struct baton_call_options){.fn = acknowledge,
		                                                          .arg = arg,
		                                                          .label = &control}));
	}
	return NULL;
}

int main(void)
{
	struct session session = {BATON_RESOURCE_INIT(NULL), 0, 0, 0, 0};
	struct baton_bound_config config = BATON_BOUND_CONFIG_INIT;
	struct baton_bound bound = BATON_BOUND_INIT(&config);

	config.tasks_max = 5;
	config.exempt = 1U << 0;
	config.tasks_high = 4;
	config.tasks_low = 1;
	config.high = stop_reading;
	config.low = resume_reading;
	config.arg = &session;
	baton_resource_set_bound(&session.resource, &bound);
	if (baton_call(&session.resource, flood, &session, NULL))
		return 1;
	if (baton_resource_close(&session.resource) || baton_resource_await(&session.resource))
		return 1;
	printf("8 publishes: %d refused; 8 acknowledgements: %d ran; stopped %d, resumed %d\n",
	       session.refused, session.acknowledged, session.stopped, session.resumed);
	return session.refused != 3 || session.acknowledged != 8 || session.stopped != 1 ||
	       session.resumed != 1;
}
