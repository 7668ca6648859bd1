/* SPDX-License-Identifier: MIT */
/* Groups: who waits is woken at zero, and not before; notifications; statuses; reuse. */
#include "fixture.h"

#include <signal.h>

#include <baton/group.h>

Test(group, an_empty_one_keeps_nobody, .timeout = 10)
{
	struct baton_group group = BATON_GROUP_INIT;

	cr_assert_eq(baton_group_wait(&group), 0);
	baton_group_enter(&group);
	baton_group_leave(&group);
	cr_assert_eq(baton_group_wait(&group), 0);
	cr_assert_eq(baton_group_status(&group), 0);
}

Test(group, a_wait_may_time_out_and_the_next_one_end, .timeout = 10)
{
	uint64_t deadline = deadline_in_ms(10);
	struct baton_group group;

	baton_group_init(&group);
	baton_group_enter_many(&group, 2);
	baton_group_leave(&group);
	cr_assert_eq(baton_group_wait_until(&group, deadline), -ETIMEDOUT);
	baton_group_leave(&group);
	cr_assert_eq(baton_group_wait_until(&group, deadline), 0);
}

struct waiter {
	struct baton_group *group;
	pthread_t thread;
	atomic_int tid;
	int status;
};

static void *waiter_main(void *arg)
{
	struct waiter *waiter = arg;

	atomic_store(&waiter->tid, thread_id());
	waiter->status = baton_group_wait(waiter->group);
	return NULL;
}

static void waiter_start(struct waiter *waiter, struct baton_group *group)
{
	waiter->group = group;
	waiter->status = -1;
	atomic_init(&waiter->tid, 0);
	waiter->thread = thread_start(waiter_main, waiter);
	until_at_least(&waiter->tid, 1);
}

Test(group, the_last_leave_wakes_all_who_sleep, .timeout = 20)
{
	struct baton_group group = BATON_GROUP_INIT;
	struct waiter waiters[3];

	baton_group_enter_many(&group, 3);
	for (int i = 0; i < 3; i++)
		waiter_start(&waiters[i], &group);
	for (int i = 0; i < 3; i++)
		until_asleep(atomic_load(&waiters[i].tid));
	baton_group_leave(&group);
	baton_group_leave(&group);
	for (int i = 0; i < 3; i++)
		cr_assert_eq(waiters[i].status, -1, "one is left");
	baton_group_leave(&group);
	for (int i = 0; i < 3; i++) {
		thread_join(waiters[i].thread);
		cr_assert_eq(waiters[i].status, 0);
	}
}

Test(group, it_keeps_the_first_status_that_is_not_0, .timeout = 10)
{
	struct baton_group group = BATON_GROUP_INIT;

	baton_group_enter_many(&group, 4);
	baton_group_leave_with(&group, 0);
	baton_group_leave_with(&group, -EIO);
	baton_group_leave_with(&group, -EBADF);
	baton_group_leave(&group);
	cr_assert_eq(baton_group_wait(&group), 0);
	cr_assert_eq(baton_group_status(&group), -EIO);
	cr_assert_eq(baton_group_take_status(&group), -EIO);
	cr_assert_eq(baton_group_status(&group), 0);
}

/* ---- Notifications ---- */

struct relay {
	struct baton_continuation continuation;
	struct step step;
};

static void relays_init(struct relay *relays, int count, struct baton_resource *resource,
                        struct journal *journal)
{
	for (int i = 0; i < count; i++) {
		step_init(&relays[i].step, journal, i, NULL);
		baton_continuation_task(&relays[i].continuation, resource, &relays[i].step.task);
	}
}

Test(group, several_are_notified_in_order_and_at_zero_at_once, .timeout = 10)
{
	struct baton_group group = BATON_GROUP_INIT;
	struct relay relays[4];

	relays_init(relays, 4, &fix.resource, &fix.journal);
	baton_group_enter(&group);
	for (int i = 0; i < 3; i++)
		baton_group_then(&group, &relays[i].continuation);
	cr_assert_eq(fix.journal.count, 0);
	baton_group_leave(&group);
	cr_assert(journal_counts_up(&fix.journal, 0, 3));
	baton_group_then(&group, &relays[3].continuation);
	cr_assert(journal_counts_up(&fix.journal, 0, 4));
	fixture_end();
}

Test(group, a_round_notifies_only_its_own, .timeout = 10)
{
	struct baton_group group = BATON_GROUP_INIT;
	struct relay relays[5];

	relays_init(relays, 5, &fix.resource, &fix.journal);
	for (int i = 0; i < 5; i++) {
		baton_group_enter(&group);
		baton_group_then(&group, &relays[i].continuation);
		cr_assert_eq(fix.journal.count, (size_t)i);
		baton_group_leave(&group);
		cr_assert_eq(fix.journal.count, (size_t)i + 1);
	}
	cr_assert(journal_counts_up(&fix.journal, 0, 5));
	fixture_end();
}

/* In whichever round, and beside whichever others, it was notified before. */
Test(group, a_continuation_can_be_registered_again, .timeout = 10)
{
	struct baton_group group = BATON_GROUP_INIT;
	struct relay relays[2];

	relays_init(relays, 2, &fix.resource, &fix.journal);
	baton_group_enter(&group);
	for (int i = 0; i < 2; i++)
		baton_group_then(&group, &relays[i].continuation);
	baton_group_leave(&group);
	cr_assert(journal_counts_up(&fix.journal, 0, 2));
	for (int i = 0; i < 2; i++) {
		fix.journal.count = 0;
		baton_group_then(&group, &relays[i].continuation);
		cr_assert(journal_counts_up(&fix.journal, i, 1));
	}
	fixture_end();
}

struct owner {
	struct baton_group group;
	struct baton_continuation continuation;
	struct baton_task task;
	sem_t *freed;
};

static int free_owner(struct baton_task *task)
{
	struct owner *owner = baton_container_of(task, struct owner, task);
	sem_t *freed = owner->freed;

	free(owner);
	gate_open(freed);
	return 0;
}

static void *leave_group(void *arg)
{
	baton_group_leave(arg);
	return NULL;
}

Test(group, who_is_notified_may_free_it, .timeout = 30)
{
	const int rounds = scaled(2000);
	sem_t freed;

	gate_init(&freed);
	for (int i = 0; i < rounds; i++) {
		struct owner *owner = malloc(sizeof(*owner));
		pthread_t thread;

		MUST(owner);
		baton_group_init(&owner->group);
		owner->freed = &freed;
		baton_task_init(&owner->task, free_owner, NULL);
		baton_continuation_task(&owner->continuation, &fix.resource, &owner->task);
		baton_group_enter_many(&owner->group, 2);
		baton_group_then(&owner->group, &owner->continuation);
		thread = thread_start(leave_group, &owner->group);
		baton_group_leave(&owner->group);
		gate_pass(&freed);
		thread_join(thread);
	}
	fixture_end();
}

/* ---- With tasks ---- */

struct member {
	struct baton_task task;
	struct baton_group *group;
	struct baton_resource *next; /* as it goes it adds one more there */
	struct member *other;
	int *value; /* plain */
};

static int member_run(struct baton_task *task)
{
	struct member *member = baton_container_of(task, struct member, task);

	++*member->value;
	if (member->other) {
		baton_group_enter(member->group);
		MUST(baton_submit_later(member->next, &member->other->task) == 0);
	}
	baton_group_leave(member->group);
	return 0;
}

Test(group, members_may_add_members_and_all_they_did_is_seen, .timeout = 30)
{
	struct baton_resource resources[2] = {BATON_RESOURCE_INIT(NULL), BATON_RESOURCE_INIT(NULL)};
	struct member members[64];
	int values[64] = {0};

	for (int round = 0; round < 20; round++) {
		struct baton_group group = BATON_GROUP_INIT;

		for (int i = 0; i < 64; i++) {
			members[i] = (struct member){
				.group = &group,
				.next = &resources[(i + 1) % 2],
				.other = i < 63 ? &members[i + 1] : NULL,
				.value = &values[i],
			};
			baton_task_init(&members[i].task, member_run, NULL);
		}
		baton_group_enter(&group);
		cr_assert_eq(baton_submit_later(&resources[0], &members[0].task), 0);
		cr_assert_eq(baton_group_wait(&group), 0);
		for (int i = 0; i < 64; i++)
			cr_assert_eq(values[i], round + 1);
	}
	resource_end(&resources[0]);
	resource_end(&resources[1]);
}

/* ---- Many threads, many rounds: each waiter has its round's effects ---- */

#define LEAVERS 3

struct round {
	struct baton_group group;
	int done[LEAVERS]; /* plain */
	pthread_barrier_t begin;
};

struct leaver {
	struct round *round;
	int index;
	int rounds;
};

static void *leave_every_round(void *arg)
{
	struct leaver *leaver = arg;

	for (int i = 1; i <= leaver->rounds; i++) {
		(void)pthread_barrier_wait(&leaver->round->begin);
		leaver->round->done[leaver->index] = i;
		baton_group_leave(&leaver->round->group);
	}
	return NULL;
}

Test(group, it_serves_round_after_round, .timeout = 60)
{
	const int rounds = scaled(20000);
	struct leaver leavers[LEAVERS];
	pthread_t threads[LEAVERS];
	struct round round;
	int wrong = 0;

	baton_group_init(&round.group);
	MUST(pthread_barrier_init(&round.begin, NULL, LEAVERS + 1) == 0);
	for (int i = 0; i < LEAVERS; i++) {
		leavers[i] = (struct leaver){&round, i, rounds};
		threads[i] = thread_start(leave_every_round, &leavers[i]);
	}
	for (int i = 1; i <= rounds; i++) {
		baton_group_enter_many(&round.group, LEAVERS);
		(void)pthread_barrier_wait(&round.begin);
		MUST(baton_group_wait(&round.group) == 0);
		for (int k = 0; k < LEAVERS; k++)
			wrong += round.done[k] != i;
	}
	for (int i = 0; i < LEAVERS; i++)
		thread_join(threads[i]);
	cr_assert_eq(wrong, 0);
	MUST(pthread_barrier_destroy(&round.begin) == 0);
}

Test(group, a_leave_without_an_enter_is_an_assertion, .timeout = 10, .signal = SIGABRT)
{
	struct baton_group group = BATON_GROUP_INIT;

	baton_group_leave(&group);
}
