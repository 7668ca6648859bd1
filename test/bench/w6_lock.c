/* SPDX-License-Identifier: MIT */
/*
 * W6: a lock per topic: the publisher applies the message itself, the body is inlined.
 */
#include "locks.h"
#include "w6_ring.h"

BROKER_INLINE void mutex_publish(struct publisher *publisher, struct topic *topic,
                                 uint32_t sleep_us, uint64_t sent)
{
	write_message(publisher, &publisher->message, sleep_us);
	(void)pthread_mutex_lock(&topic->mutex);
	topic_apply(topic, &publisher->message);
	(void)pthread_mutex_unlock(&topic->mutex);
	sample(publisher, sent);
}

static void mutex_loop(struct team_member *member)
{
	loop(member, mutex_publish);
}

static void mutex_open(struct broker *broker)
{
	for (unsigned i = 0; i < BROKER_TOPICS + BROKER_SLOW; i++)
		(void)pthread_mutex_init(&broker->topics[i].mutex, NULL);
}

static void mutex_close(struct broker *broker)
{
	for (unsigned i = 0; i < BROKER_TOPICS + BROKER_SLOW; i++)
		(void)pthread_mutex_destroy(&broker->topics[i].mutex);
}

/* The same with the body behind a pointer that the compiler does not see through, as baton's. */
static void (*volatile apply)(struct topic *topic, const struct message *message);

static void apply_message(struct topic *topic, const struct message *message)
{
	topic_apply(topic, message);
}

BROKER_INLINE void pointer_publish(struct publisher *publisher, struct topic *topic,
                                   uint32_t sleep_us, uint64_t sent)
{
	write_message(publisher, &publisher->message, sleep_us);
	(void)pthread_mutex_lock(&topic->mutex);
	apply(topic, &publisher->message);
	(void)pthread_mutex_unlock(&topic->mutex);
	sample(publisher, sent);
}

static void pointer_loop(struct team_member *member)
{
	loop(member, pointer_publish);
}

static void pointer_open(struct broker *broker)
{
	apply = apply_message;
	mutex_open(broker);
}

BROKER_INLINE void ticket_publish(struct publisher *publisher, struct topic *topic,
                                  uint32_t sleep_us, uint64_t sent)
{
	write_message(publisher, &publisher->message, sleep_us);
	ck_spinlock_ticket_lock(&topic->ticket);
	topic_apply(topic, &publisher->message);
	ck_spinlock_ticket_unlock(&topic->ticket);
	sample(publisher, sent);
}

static void ticket_loop(struct team_member *member)
{
	loop(member, ticket_publish);
}

static void ticket_open(struct broker *broker)
{
	for (unsigned i = 0; i < BROKER_TOPICS + BROKER_SLOW; i++)
		ck_spinlock_ticket_init(&broker->topics[i].ticket);
}

/* The floor (locks.h). */
BROKER_INLINE void two_cases_publish(struct publisher *publisher, struct topic *topic,
                                     uint32_t sleep_us, uint64_t sent)
{
	write_message(publisher, &publisher->message, sleep_us);
	two_cases_acquire(&topic->word);
	topic_apply(topic, &publisher->message);
	two_cases_release(&topic->word);
	sample(publisher, sent);
}

static void two_cases_loop(struct team_member *member)
{
	loop(member, two_cases_publish);
}

/* A topic that is all zero is ready. */
static void nothing_to_do(struct broker *broker)
{
}

const struct broker_way broker_mutex = {"pthread_mutex", mutex_publish, mutex_loop, mutex_open,
                                        mutex_close};

const struct broker_way broker_pointer = {"pthread_mutex, body by pointer", pointer_publish,
                                          pointer_loop, pointer_open, mutex_close};

const struct broker_way broker_ticket = {"CK ticket lock", ticket_publish, ticket_loop, ticket_open,
                                         nothing_to_do};

const struct broker_way broker_two_cases = {"two CASes alone", two_cases_publish, two_cases_loop,
                                            nothing_to_do, nothing_to_do};
