/* SPDX-License-Identifier: MIT */
/*
 * Tags. A client has tasks queued in two topics, and disconnects. One call cancels all these tasks.
 * The call walks no list: each topic's runner drops the cancelled tasks when it reaches them.
 */
#include <baton.h>
#include <baton/label.h>
#include <baton/tag.h>

#include <stdio.h>

struct client {
	struct baton_tag tag;
	int deliveries;
};

static struct baton_resource topics[2] = {
	BATON_RESOURCE_INIT(NULL),
	BATON_RESOURCE_INIT(NULL),
};

static void *deliver(void *client)
{
	((struct client *)client)->deliveries++;
	return NULL;
}

struct scene {
	struct client *gone;
	struct client *stays;
	int failed;
};

/* A task of topic 0: keeps that topic busy. */
static void *disconnect(void *arg)
{
	struct scene *scene = arg;
	const struct baton_label gone = {.tag = &scene->gone->tag, .hold = true};
	const struct baton_label stays = {.tag = &scene->stays->tag, .hold = true};

	for (int i = 0; i < 1000; i++) {
		scene->failed |= baton_post_with(
			&topics[0], &(struct baton_call_options){
					    .fn = deliver, .arg = scene->gone, .label = &gone});
		scene->failed |= baton_post_with(
			&topics[0], &(struct baton_call_options){
					    .fn = deliver, .arg = scene->stays, .label = &stays});
	}
	baton_tag_cancel(&scene->gone->tag);
	return NULL;
}

/* A task of topic 1: keeps that topic busy, too. */
static void *keep_busy(void *arg)
{
	struct scene *scene = arg;
	const struct baton_label gone = {.tag = &scene->gone->tag, .hold = true};

	scene->failed |= baton_post_with(
		&topics[1],
		&(struct baton_call_options){.fn = deliver, .arg = scene->gone, .label = &gone});
	scene->failed |= baton_call(&topics[0], disconnect, scene, NULL);
	return NULL;
}

int main(void)
{
	struct client gone = {BATON_TAG_INIT, 0};
	struct client stays = {BATON_TAG_INIT, 0};
	struct scene scene = {&gone, &stays, 0};

	if (baton_call(&topics[1], keep_busy, &scene, NULL) || scene.failed)
		return 1;
	for (int i = 0; i < 2; i++)
		if (baton_resource_close(&topics[i]) || baton_resource_await(&topics[i]))
			return 1;
	printf("1001 tasks of a client that went: %d ran; 1000 of one that stayed: %d ran\n",
	       gone.deliveries, stays.deliveries);
	/* No task holds the tags any more: the clients may be freed. */
	if (baton_tag_held(&gone.tag) || baton_tag_held(&stays.tag))
		return 1;
	return gone.deliveries != 0 || stays.deliveries != 1000;
}
