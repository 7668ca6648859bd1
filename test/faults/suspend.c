/* SPDX-License-Identifier: MIT */
/* Failing calls in: suspending, resuming, quiescing. */
#include "scenario.h"

#include <baton/lane.h>
#include <baton/suspend.h>

struct still {
	struct baton_resource resource;
	struct baton_suspension suspension;
	struct probe probe;
};

static void still_init(struct still *still)
{
	USE(baton_resource_init(&still->resource, NULL));
	still->suspension = (struct baton_suspension)BATON_SUSPENSION_INIT;
	probe_init(&still->probe);
}

static void *suspend(void *arg)
{
	struct still *still = arg;

	INSIST(baton_resource_suspend(&still->resource, &still->suspension),
	       !USE(baton_suspension_is_effective(&still->suspension)) &&
	               TRY(baton_resource_resume(&still->suspension)) != 0);
	return NULL;
}

static void *resume(void *arg)
{
	struct still *still = arg;

	INSIST(baton_resource_resume(&still->suspension), !probe_done(&still->probe));
	return NULL;
}

static void *resume_later(void *arg)
{
	struct still *still = arg;

	INSIST(baton_resource_resume_later(&still->suspension), !probe_done(&still->probe));
	return NULL;
}

static void until_done(struct still *still)
{
	INSIST(baton_future_wait(&still->probe.future), true);
	EXPECT(probe_done(&still->probe));
	resource_end(&still->resource);
}

/* One that is idle, suspended and resumed by threads that are new. */
static void idle_with(void *(*go_on)(void *still))
{
	struct still still;

	still_init(&still);
	elsewhere(suspend, &still);
	EXPECT(USE(baton_suspension_is_effective(&still.suspension)));
	EXPECT(TRY(baton_suspension_wait(&still.suspension)) == 0);
	EXPECT(TRY(baton_resource_suspend(&still.resource, &still.suspension)) == -EALREADY ||
	       fault_planned());
	INSIST(baton_submit(&still.resource, &still.probe.task), probe_untouched(&still.probe));
	EXPECT(probe_untouched(&still.probe) || still.probe.task._future);
	EXPECT(!atomic_load(&still.probe.runs));
	elsewhere(go_on, &still);
	until_done(&still);
}

SCENARIO(suspend, idle)
{
	idle_with(resume);
}

SCENARIO(suspend, idle_and_resumed_later)
{
	idle_with(resume_later);
}

/* Lane 0 stays open: what is in it runs, and what is in lane 1 waits. */
SCENARIO(suspend, lower_lanes)
{
	struct baton_lane array[2];
	struct baton_lanes lanes;
	struct still still;

	still_init(&still);
	USE(baton_lanes_init(&lanes, array, 2, NULL));
	USE(baton_resource_set_lanes(&still.resource, &lanes));
	INSIST(baton_resource_suspend_lower(&still.resource, &still.suspension),
	       !USE(baton_suspension_is_effective(&still.suspension)));
	EXPECT(USE(baton_suspension_is_effective(&still.suspension)));
	INSIST(baton_submit(&still.resource, &still.probe.task), probe_untouched(&still.probe));
	INSIST(baton_future_wait(&still.probe.future), true);
	EXPECT(probe_done(&still.probe));
	INSIST(baton_resource_resume(&still.suspension), true);
	resource_end(&still.resource);
}

static void *await_effect(void *arg)
{
	struct still *still = arg;

	INSIST(baton_suspension_wait_until(&still->suspension, in_ms(LONG_MS)), true);
	EXPECT(USE(baton_suspension_is_effective(&still->suspension)));
	return NULL;
}

SCENARIO(suspend, busy)
{
	struct occupant occupant;
	struct still still;
	pthread_t waiter;
	uint32_t waits;
	int status;

	still_init(&still);
	occupy(&occupant, &still.resource);
	(void)suspend(&still);
	EXPECT(!USE(baton_suspension_is_effective(&still.suspension)));
	INSIST(baton_submit(&still.resource, &still.probe.task), probe_untouched(&still.probe));
	status = TRY(baton_suspension_wait_until(&still.suspension, in_ms(SHORT_MS)));
	EXPECT(status == -ETIMEDOUT || (status == -ENOMEM && fault_planned()));
	waits = fault_waits();
	waiter = thread_start(await_effect, &still);
	until_waiting(waits);
	leave(&occupant);
	thread_join(waiter);
	EXPECT(!atomic_load(&still.probe.runs));
	elsewhere(resume, &still);
	until_done(&still);
}

/* Resumed before it has taken effect. */
SCENARIO(suspend, withdrawn)
{
	struct occupant occupant;
	struct still still;

	still_init(&still);
	occupy(&occupant, &still.resource);
	(void)suspend(&still);
	elsewhere(resume, &still);
	EXPECT(TRY(baton_resource_resume(&still.suspension)) == -EINVAL);
	INSIST(baton_submit(&still.resource, &still.probe.task), probe_untouched(&still.probe));
	leave(&occupant);
	until_done(&still);
}

/* Each takes effect when the one before has been resumed. */
SCENARIO(suspend, twice)
{
	struct baton_suspension second = BATON_SUSPENSION_INIT;
	struct still still;

	still_init(&still);
	(void)suspend(&still);
	INSIST(baton_resource_suspend(&still.resource, &second),
	       !USE(baton_suspension_is_effective(&second)));
	EXPECT(!USE(baton_suspension_is_effective(&second)));
	INSIST(baton_submit(&still.resource, &still.probe.task), probe_untouched(&still.probe));
	elsewhere(resume_later, &still);
	INSIST(baton_suspension_wait_until(&second, in_ms(LONG_MS)), true);
	EXPECT(!atomic_load(&still.probe.runs));
	INSIST(baton_resource_resume_later(&second), true);
	until_done(&still);
}

SCENARIO(suspend, closed)
{
	struct baton_suspension suspension = BATON_SUSPENSION_INIT;
	struct still still;
	int status;

	still_init(&still);
	(void)suspend(&still);
	EXPECT(TRY(baton_resource_close(&still.resource)) == 0);
	status = TRY(baton_resource_suspend(&still.resource, &suspension));
	EXPECT(status == -EPIPE);
	status = TRY(baton_resource_await_until(&still.resource, in_ms(SHORT_MS)));
	EXPECT(status == -ETIMEDOUT || (status == -ENOMEM && fault_planned()));
	INSIST(baton_resource_resume(&still.suspension), true);
	resource_end(&still.resource);
}

/* ---- Quiescing ---- */

struct quiet {
	struct baton_resource resources[3];
	struct baton_resource *pointers[3];
	struct baton_suspension suspensions[3];
};

/* One of them twice. */
static void quiet_init(struct quiet *quiet)
{
	for (int i = 0; i < 3; i++) {
		USE(baton_resource_init(&quiet->resources[i], NULL));
		quiet->pointers[i] = &quiet->resources[2 - i];
		quiet->suspensions[i] = (struct baton_suspension)BATON_SUSPENSION_INIT;
	}
	quiet->pointers[1] = quiet->pointers[0];
}

static bool none_suspended(const struct quiet *quiet)
{
	for (int i = 0; i < 3; i++)
		if (USE(baton_suspension_is_effective(&quiet->suspensions[i])))
			return false;
	return true;
}

static void *quiesce(void *arg)
{
	struct quiet *quiet = arg;

	INSIST(baton_quiesce(quiet->pointers, 3, quiet->suspensions), none_suspended(quiet));
	return NULL;
}

static void *quiesce_end(void *arg)
{
	struct quiet *quiet = arg;

	INSIST(baton_quiesce_end(quiet->suspensions, 3), !none_suspended(quiet));
	EXPECT(none_suspended(quiet));
	return NULL;
}

static void *quiesce_shortly(void *arg)
{
	struct quiet *quiet = arg;
	int status =
		TRY(baton_quiesce_until(quiet->pointers, 3, quiet->suspensions, in_ms(SHORT_MS)));

	EXPECT(status == -ETIMEDOUT || (status == -ENOMEM && fault_planned()));
	EXPECT(none_suspended(quiet));
	return NULL;
}

SCENARIO(suspend, quiesce)
{
	struct occupant occupant;
	struct probe probes[3];
	struct quiet quiet;
	pthread_t other;
	uint32_t waits;

	quiet_init(&quiet);
	occupy(&occupant, &quiet.resources[2]);
	elsewhere(quiesce_shortly, &quiet);
	waits = fault_waits();
	other = thread_start(quiesce, &quiet);
	until_waiting(waits);
	leave(&occupant);
	thread_join(other);
	for (int i = 0; i < 3; i++) {
		probe_init(&probes[i]);
		INSIST(baton_submit(&quiet.resources[i], &probes[i].task),
		       probe_untouched(&probes[i]));
	}
	EXPECT(!atomic_load(&probes[0].runs) && probe_done(&probes[1]) &&
	       !atomic_load(&probes[2].runs)); /* not one of them */
	elsewhere(quiesce_end, &quiet);
	for (int i = 0; i < 3; i++) {
		INSIST(baton_future_wait(&probes[i].future), true);
		EXPECT(probe_done(&probes[i]));
		resource_end(&quiet.resources[i]);
	}
}
