/* SPDX-License-Identifier: MIT */
/*
 * Admission: on a virtual clock, by threads that are new; and on the default wheel and pool, which
 * the admission is the first to use.
 */
#include "job.h"

#include <baton/admission.h>
#include <baton/manual.h>
#include <baton/thread.h>
#include <baton/timers.h>

static struct baton_admission admission;
static const uint32_t wider[] = {2, 1, 1};

struct entry {
	struct baton_admitted admitted;
	struct baton_future outcome;
	struct baton_future gone;
	atomic_int runs;
};

static int entry_run(struct baton_task *task)
{
	struct entry *entry = baton_container_of(task, struct entry, admitted.task);

	EXPECT(USE(baton_admitted_time_left(&entry->admitted)) <= 3 * BATON_SECOND);
	return atomic_fetch_add(&entry->runs, 1);
}

static void entry_init(struct entry *entry)
{
	atomic_init(&entry->runs, 0);
	USE(baton_admitted_init(&entry->admitted, 0, entry_run));
	USE(baton_promise_init(&entry->outcome));
	baton_promise_init(&entry->gone);
	entry->admitted.outcome = &entry->outcome;
	entry->admitted.gone = &entry->gone;
}

static bool untouched(const struct entry *entry)
{
	return entry->admitted._progress == 0 && !baton_future_is_complete(&entry->gone);
}

static void *arrive(void *arg)
{
	struct entry *entry = arg;

	INSIST(baton_admission_arrive(&admission, &entry->admitted), untouched(entry));
	return NULL;
}

static void *withdraw(void *arg)
{
	struct entry *entry = arg;

	INSIST(baton_admitted_withdraw(&entry->admitted), !baton_future_is_complete(&entry->gone));
	return NULL;
}

static void *widen(void *arg)
{
	INSIST(baton_admission_set_limits(&admission, wider, 0),
	       USE(baton_admitted_estimate(&((struct entry *)arg)->admitted)) > 0);
	return NULL;
}

static void *close_all(void *arg)
{
	const struct entry *entry = arg;

	INSIST(baton_admission_close(&admission, BATON_ADMISSION_DROP),
	       !baton_future_is_complete(&entry->gone));
	return NULL;
}

SCENARIO(admission, virtual)
{
	const struct baton_timers_options options = {.source = BATON_TIMERS_VIRTUAL};
	struct baton_admission_config config = {.rules.limit = {1, 1, 1}};
	struct baton_admission_stats stats;
	struct baton_manual *manual = NULL;
	struct entry entries[5];

	INSIST(baton_thread_attach(), true);
	INSIST(baton_manual_create(&manual), !manual);
	INSIST(baton_timers_create(&options, &config.timers), !config.timers);
	config.executor = USE(baton_manual_executor(manual));
	EXPECT(TRY(baton_admission_init(&admission, &config)) == 0);
	for (int i = 0; i < 5; i++)
		entry_init(&entries[i]);
	for (int i = 0; i < 4; i++)
		elsewhere(arrive, &entries[i]);
	elsewhere(withdraw, &entries[1]);
	EXPECT(USE(baton_future_status(&entries[1].outcome)) == -ECANCELED);
	elsewhere(widen, &entries[3]);
	EXPECT(USE(baton_manual_run(manual, 0)) > 0);
	EXPECT(USE(baton_future_status(&entries[0].outcome)) == 0);
	EXPECT(COUNT(baton_timers_advance(config.timers, BATON_SECOND)) >= 0);
	elsewhere(arrive, &entries[4]);
	elsewhere(close_all, &entries[4]);
	(void)USE(baton_manual_run(manual, 0));
	EXPECT(TRY(baton_admission_arrive(&admission, &entries[0].admitted)) == -EINVAL);
	INSIST(baton_admission_await_until(&admission, in_ms(LONG_MS)), true);
	USE(baton_admission_stats_read(&admission, &stats));
	EXPECT(stats.arrived == 5 && stats.finished == stats.started);
	for (int i = 0; i < 5; i++)
		EXPECT(baton_future_is_complete(&entries[i].gone));
	USE(baton_admission_deinit(&admission));
	EXPECT(TRY(baton_timers_destroy(config.timers)) == 0);
	USE(baton_manual_destroy(manual));
}

SCENARIO(admission, defaults)
{
	const struct baton_admission_config config = {.rules.limit = {1, 1, 1}};
	struct entry entry;
	int status;

	INSIST(baton_admission_init(&admission, &config), true);
	entry_init(&entry);
	arrive(&entry);
	INSIST(baton_future_wait(&entry.gone), true);
	status = USE(baton_future_status(&entry.outcome));
	/* The pool could not be had; or the clock has jumped. */
	EXPECT(status == 0 || (fault_planned() && (status == -ESHUTDOWN || status == -ETIMEDOUT)));
	EXPECT(status == -ESHUTDOWN || status == -ETIMEDOUT || atomic_load(&entry.runs) == 1);
	EXPECT(TRY(baton_admission_close(&admission, BATON_ADMISSION_RUN)) == 0);
	INSIST(baton_admission_await(&admission), true);
	baton_admission_deinit(&admission);
	INSIST(baton_timers_default_destroy(), true);
	INSIST(baton_pool_default_destroy(), true);
}
