/* SPDX-License-Identifier: MIT */
/*
 * The state of a topic's subscriptions, as a broker with durable subscribers keeps it. The topic is
 * a resource: its events, and how many subscriptions are interested in each. Each subscription is a
 * resource: the events that wait for its client, those in flight, and whether the client is there.
 *
 *   publish      topic: append the event, offer it to each subscription     (asyncs, wait_all)
 *   take         subscription: the next event goes in flight                (task and future)
 *   acknowledge  subscription: the event is done; topic: one interest less  (may be cancelled)
 *   disconnect   subscription: the events in flight wait again; later: connect
 *   leave, join  topic: no more offers; then subscription: give up the events that wait
 *   remove       topic: remove the oldest event if no subscription is interested in it
 *
 * Threads do all this at once. Meanwhile an auditor holds the topic and all subscriptions, and
 * looks whether they agree (baton_hold_many). At the end each event offered to a subscription was
 * given up, or was acknowledged once, or waits and counts as interest. Exit status 1 if a rule is
 * broken.
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <baton/hold.h>
#include <baton/resource.h>
#include <baton/stats.h>

#define PUBLISHERS 4
#define BURSTS 250 /* of each publisher */
#define BURST 16
#define EVENTS (PUBLISHERS * BURSTS * BURST)
#define CLIENTS 16
#define WINDOW 20

struct subscription {
	struct baton_resource resource;
	struct baton_resource_stats stats;
	bool connected;
	uint32_t waiting[EVENTS]; /* from `first` to `end`; events in flight are before `first` */
	size_t first, end;
	uint32_t inflight[WINDOW];
	size_t inflight_count;
	uint64_t acknowledged, given_up, rolled_back;
	bool done[EVENTS]; /* acknowledged */
	unsigned int seed;
};

static struct topic {
	struct baton_resource resource;
	struct baton_resource_stats stats;
	struct event {
		uint32_t interested;
		bool removed;
	} events[EVENTS]; /* `published`, of which the first `removed` are removed */
	size_t published, removed;
	struct subscription *subscribers[CLIENTS];
	size_t subscriber_count;
} topic = {.resource = BATON_RESOURCE_INIT(NULL)};

static struct subscription subscriptions[CLIENTS];
static const struct timespec pause_time = {.tv_nsec = 200000};
static atomic_uint publishers_left = PUBLISHERS, clients_left = CLIENTS;

struct operation {
	struct baton_task task;
	struct baton_future future;
	struct subscription *subscription;
	uint32_t event;
};

static void rule(bool kept, const char *what)
{
	if (kept)
		return;
	fprintf(stderr, "subscriptions: broken: %s\n", what);
	exit(1);
}

static void check(int status, const char *what)
{
	rule(status == 0, what);
}

/* ---- the topic's tasks ---- */

static int offer_run(struct baton_task *task)
{
	struct operation *offer = baton_container_of(task, struct operation, task);
	struct subscription *subscription = offer->subscription;

	subscription->waiting[subscription->end++] = offer->event;
	free(offer);
	return 0;
}

static void *publish(void *arg)
{
	const size_t id = topic.published++;

	topic.events[id].interested = (uint32_t)topic.subscriber_count;
	for (size_t i = 0; i < topic.subscriber_count; i++) {
		struct operation *offer = malloc(sizeof(*offer));

		rule(offer != NULL, "there is memory");
		offer->subscription = topic.subscribers[i];
		offer->event = (uint32_t)id;
		baton_task_init(&offer->task, offer_run, NULL);
		check(baton_submit(&offer->subscription->resource, &offer->task), "offer");
	}
	return arg;
}

/* One subscription is no longer interested in this event. */
static void *lose_interest(void *arg)
{
	struct event *event = arg;

	rule(!event->removed && event->interested > 0, "no interest in what is removed");
	event->interested--;
	return NULL;
}

/* Removes the oldest event, and returns it. NULL: a subscription is still interested in it. */
static void *remove_oldest(void *arg)
{
	(void)arg;
	if (topic.removed == topic.published || topic.events[topic.removed].interested > 0)
		return NULL;
	topic.events[topic.removed].removed = true;
	return &topic.events[topic.removed++];
}

static void *join(void *arg)
{
	topic.subscribers[topic.subscriber_count++] = arg;
	return NULL;
}

/* ---- a subscription's tasks ---- */

static void forget(uint32_t id)
{
	check(baton_post(&topic.resource, lose_interest, &topic.events[id]), "lose interest");
}

static void *give_up(void *arg)
{
	struct subscription *subscription = arg;

	for (size_t i = 0; i < subscription->inflight_count; i++)
		forget(subscription->inflight[i]);
	for (size_t i = subscription->first; i < subscription->end; i++)
		forget(subscription->waiting[i]);
	subscription->given_up +=
		subscription->end - subscription->first + subscription->inflight_count;
	subscription->inflight_count = 0;
	subscription->first = subscription->end;
	return NULL;
}

static void *leave(void *arg)
{
	struct subscription *subscription = arg;
	size_t i = 0;

	while (topic.subscribers[i] != subscription)
		i++;
	topic.subscribers[i] = topic.subscribers[--topic.subscriber_count];
	/* Runs after all offers to the subscription. */
	check(baton_post(&subscription->resource, give_up, subscription), "give up");
	return NULL;
}

static void *reconnect(void *arg)
{
	struct subscription *subscription = arg;

	subscription->connected = true;
	return NULL;
}

static void *disconnect(void *arg)
{
	struct subscription *subscription = arg;

	subscription->connected = false;
	subscription->rolled_back += subscription->inflight_count;
	while (subscription->inflight_count > 0)
		subscription->waiting[--subscription->first] =
			subscription->inflight[--subscription->inflight_count];
	return NULL;
}

/* The future's value: the event. NULL: no event can be taken now. */
static int take_run(struct baton_task *task)
{
	struct operation *operation = baton_container_of(task, struct operation, task);
	struct subscription *subscription = operation->subscription;
	uint32_t id;

	if (!subscription->connected || subscription->inflight_count == WINDOW ||
	    subscription->first == subscription->end)
		return 0;
	id = subscription->waiting[subscription->first++];
	rule(!subscription->done[id] && !topic.events[id].removed, "taken only while it waits");
	subscription->inflight[subscription->inflight_count++] = id;
	baton_set_result(&topic.events[id]);
	return 0;
}

static int acknowledge_run(struct baton_task *task)
{
	struct operation *operation = baton_container_of(task, struct operation, task);
	struct subscription *subscription = operation->subscription;
	uint32_t *inflight = subscription->inflight;
	size_t i = 0;

	while (i < subscription->inflight_count && inflight[i] != operation->event)
		i++;
	rule(i < subscription->inflight_count, "acknowledged only what is in flight");
	subscription->inflight_count--;
	memmove(inflight + i, inflight + i + 1,
	        (subscription->inflight_count - i) * sizeof(*inflight));
	subscription->done[operation->event] = true;
	subscription->acknowledged++;
	forget(operation->event);
	return 0;
}

/* ---- the threads ---- */

static void *publisher_thread(void *arg)
{
	struct baton_future *futures[BURST];

	for (int burst = 0; burst < BURSTS; burst++) {
		for (int i = 0; i < BURST; i++)
			check(baton_async(&topic.resource, publish, NULL, &futures[i]), "publish");
		check(baton_future_wait_all(futures, BURST), "published");
		for (int i = 0; i < BURST; i++)
			baton_future_unref(futures[i]);
		nanosleep(&pause_time, NULL);
	}
	atomic_fetch_sub(&publishers_left, 1);
	return arg;
}

/* Submits the operation and waits for its outcome. `regret`: tries to cancel it before the wait. */
static void client_do(struct operation *operation, struct subscription *self, baton_task_fn run,
                      bool regret)
{
	int cancelled = -EALREADY;

	baton_future_init(&operation->future);
	baton_task_init(&operation->task, run, &operation->future);
	operation->subscription = self;
	if (regret) {
		check(baton_submit_later(&self->resource, &operation->task), "submit");
		cancelled = baton_future_cancel(&operation->future);
	} else {
		check(baton_submit(&self->resource, &operation->task), "submit");
	}
	check(baton_future_wait(&operation->future), "wait");
	rule((cancelled == 0) == (baton_future_state(&operation->future) == BATON_CANCELLED),
	     "what was cancelled did not run, and the other way round");
}

/* Takes up to `count` events, and returns their number. */
static size_t client_take(struct subscription *self, uint32_t *events, size_t count)
{
	struct operation operation;
	const struct event *event;

	for (size_t got = 0; got < count; got++) {
		client_do(&operation, self, take_run, false);
		event = baton_future_value(&operation.future);
		if (event == NULL)
			return got;
		events[got] = (uint32_t)(event - topic.events);
	}
	return count;
}

/* Acknowledges the event. Cancels one acknowledgement in ten, if possible, and submits another. */
static void client_acknowledge(struct subscription *self, uint32_t event)
{
	struct operation operation = {.event = event};

	client_do(&operation, self, acknowledge_run, rand_r(&self->seed) % 10 == 0);
	if (baton_future_state(&operation.future) == BATON_CANCELLED)
		client_do(&operation, self, acknowledge_run, false);
}

static void *client_thread(void *arg)
{
	struct subscription *self = arg;
	const bool stays_away = (self - subscriptions) % 4 == 3;
	uint32_t events[WINDOW];
	size_t got;

	check(baton_call(&self->resource, reconnect, self, NULL), "reconnect");
	do {
		const bool last = atomic_load(&publishers_left) == 0;
		const int dice = rand_r(&self->seed) % 100;

		got = client_take(self, events, 1 + (size_t)rand_r(&self->seed) % WINDOW);
		if (dice < 5) {
			check(baton_call(&self->resource, disconnect, self, NULL), "disconnect");
			check(baton_call(&self->resource, reconnect, self, NULL), "reconnect");
		} else if (dice == 5) {
			check(baton_call(&topic.resource, leave, self, NULL), "leave");
			check(baton_call(&topic.resource, join, self, NULL), "join");
		} else {
			for (size_t i = 0; i < got; i++)
				client_acknowledge(self, events[i]);
		}
		if (got == 0 && last)
			break;
	} while (!stays_away || self->acknowledged < EVENTS / 4);
	check(baton_call(&self->resource, disconnect, self, NULL), "disconnect");
	atomic_fetch_sub(&clients_left, 1);
	return NULL;
}

static void *remover_thread(void *arg)
{
	void *removed = NULL;

	while (removed != NULL || atomic_load(&clients_left) > 0) {
		check(baton_call(&topic.resource, remove_oldest, NULL, &removed), "remove");
		if (removed == NULL)
			nanosleep(&pause_time, NULL);
	}
	return arg;
}

/* Deliveries that wait for a subscription, or are in flight. */
static uint64_t undelivered(const struct subscription *subscription)
{
	rule(subscription->first == subscription->acknowledged + subscription->given_up +
	                                    subscription->inflight_count,
	     "what was taken is acknowledged, given up or in flight");
	return subscription->end - subscription->first + subscription->inflight_count;
}

/* How many of these deliveries are there, and how many events does the topic take to be wanted? */
static void count_interest(uint64_t *waiting, uint64_t *interested)
{
	*waiting = 0;
	*interested = 0;
	for (size_t i = 0; i < CLIENTS; i++)
		*waiting += undelivered(&subscriptions[i]);
	for (size_t i = topic.removed; i < topic.published; i++)
		*interested += topic.events[i].interested;
}

/* The topic and all subscriptions stand still for a moment. Offers, and news of what was
 * acknowledged, are under way: so the topic may take more to be wanted than waits. */
static void audit(void)
{
	struct baton_resource *all[CLIENTS + 1] = {&topic.resource};
	struct baton_hold holds[CLIENTS + 1] = {BATON_HOLD_INIT};
	uint64_t waiting, interested;

	for (size_t i = 0; i < CLIENTS; i++) {
		all[i + 1] = &subscriptions[i].resource;
		holds[i + 1] = (struct baton_hold)BATON_HOLD_INIT;
	}
	check(baton_hold_many(all, CLIENTS + 1, holds), "hold");
	count_interest(&waiting, &interested);
	for (size_t i = 0; i <= CLIENTS; i++)
		check(baton_release(&holds[i]), "release");
	rule(interested >= waiting, "nothing waits that the topic does not know to be wanted");
}

static unsigned audits;

static void *auditor_thread(void *arg)
{
	for (; atomic_load(&clients_left) > 0; audits++) {
		audit();
		nanosleep(&pause_time, NULL);
	}
	return arg;
}

/* Prints what happened and checks that it adds up. */
static void verify(void)
{
	uint64_t waiting, interested, acknowledged = 0, rolled_back = 0, given_up = 0;
	struct baton_resource_stats sum, counts;

	baton_resource_stats_read(&topic.stats, &sum);
	for (size_t i = 0; i < CLIENTS; i++) {
		const struct subscription *self = &subscriptions[i];

		acknowledged += self->acknowledged;
		rolled_back += self->rolled_back;
		given_up += self->given_up;
		baton_resource_stats_read(&self->stats, &counts);
		sum.executed += counts.executed;
		sum.captures += counts.captures;
		sum.handoffs += counts.handoffs;
		sum.helped += counts.helped;
	}
	count_interest(&waiting, &interested);
	printf("%d publishers published %zu events for %d subscribers, which come and go.\n",
	       PUBLISHERS, topic.published, CLIENTS);
	printf("Acknowledged: %" PRIu64 " deliveries. Given up, as the subscriber left: %" PRIu64
	       ".\n",
	       acknowledged, given_up);
	printf("Offered again, as the client went away: %" PRIu64 ". Still waiting: %" PRIu64 ".\n",
	       rolled_back, waiting);
	printf("Events removed from the topic, as nobody wants them any more: %zu.\n",
	       topic.removed);
	printf("Tasks: %" PRIu64 "; captures %" PRIu64 ", hand-offs %" PRIu64 ", helped %" PRIu64
	       ".\n",
	       sum.executed, sum.captures, sum.handoffs, sum.helped);
	printf("Audits meanwhile: %u.\n", audits);
	rule(topic.published == EVENTS, "every event was published");
	rule(interested == waiting, "topic and subscriptions agree on who is interested");
}

/* Only tasks submit now: the topic's tasks to subscriptions, and subscriptions' to the topic. */
static void await_all(void)
{
	check(baton_resource_await(&topic.resource), "await");
	for (size_t i = 0; i < CLIENTS; i++)
		check(baton_resource_await(&subscriptions[i].resource), "await");
	check(baton_resource_await(&topic.resource), "await");
}

int main(void)
{
	pthread_t threads[PUBLISHERS + CLIENTS + 2];
	size_t count = 0;

	baton_resource_set_stats(&topic.resource, &topic.stats);
	for (size_t i = 0; i < CLIENTS; i++) {
		struct subscription *self = &subscriptions[i];

		baton_resource_init(&self->resource, NULL);
		baton_resource_set_stats(&self->resource, &self->stats);
		self->seed = (unsigned int)i;
		check(baton_call(&topic.resource, join, self, NULL), "join");
		check(pthread_create(&threads[count++], NULL, client_thread, self), "thread");
	}
	check(pthread_create(&threads[count++], NULL, remover_thread, NULL), "thread");
	check(pthread_create(&threads[count++], NULL, auditor_thread, NULL), "thread");
	for (int i = 0; i < PUBLISHERS; i++)
		check(pthread_create(&threads[count++], NULL, publisher_thread, NULL), "thread");
	while (count > 0)
		pthread_join(threads[--count], NULL);
	await_all();
	verify();
	return 0;
}
