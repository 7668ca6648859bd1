/* SPDX-License-Identifier: MIT */
/* Failing calls in: closing a resource, awaits, finalisers. */
#include "scenario.h"

#include <baton/error.h>
#include <baton/version.h>

struct end {
	struct baton_resource *resource;
	struct probe finaliser;
	sem_t over;
};

static int finaliser_run(struct baton_task *task)
{
	struct end *end = baton_container_of(task, struct end, finaliser.task);

	atomic_fetch_add(&end->finaliser.runs, 1);
	gate_open(&end->over);
	return 0;
}

static void end_init(struct end *end, struct baton_resource *resource)
{
	probe_init_plain(&end->finaliser);
	end->finaliser.task._run = finaliser_run;
	end->resource = resource;
	gate_init(&end->over);
}

static void *close_then(void *arg)
{
	struct end *end = arg;

	INSIST(baton_resource_close_then(end->resource, &end->finaliser.task),
	       !atomic_load(&end->finaliser.runs) && !end->finaliser.task._future);
	return NULL;
}

SCENARIO(close, then_idle)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
	struct end end;

	end_init(&end, &resource);
	elsewhere(close_then, &end);
	gate_pass(&end.over);
	EXPECT(atomic_load(&end.finaliser.runs) == 1);
	USE(baton_resource_deinit(&resource));
}

SCENARIO(close, then_busy)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);
	struct occupant occupant;
	struct probe probe;
	struct end end;

	end_init(&end, &resource);
	probe_init(&probe);
	occupy(&occupant, &resource);
	INSIST(baton_submit(&resource, &probe.task), probe_untouched(&probe));
	elsewhere(close_then, &end);
	EXPECT(atomic_load(&end.finaliser.runs) == 0);
	leave(&occupant);
	gate_pass(&end.over);
	EXPECT(probe_done(&probe));
	EXPECT(atomic_load(&end.finaliser.runs) == 1);
}

/* With limit 0 the finaliser belongs on the executor's thread, if there is one. */
SCENARIO(close, then_with_limit_0)
{
	const struct baton_resource_config config = {.capture_max = BATON_CAPTURE_NONE,
	                                             .quantum = 1};
	struct baton_resource resource = BATON_RESOURCE_INIT(&config);
	struct end end;

	end_init(&end, &resource);
	elsewhere(close_then, &end);
	gate_pass(&end.over);
	EXPECT(atomic_load(&end.finaliser.runs) == 1);
}

SCENARIO(close, twice)
{
	struct baton_resource resource = BATON_RESOURCE_INIT(NULL);

	EXPECT(*USE(baton_version()) && USE(baton_version_number()) == BATON_VERSION);
	EXPECT(*USE(baton_error_text(-EPIPE)));
	(void)USE(baton_refused());
	EXPECT(USE(baton_resource_is_idle(&resource)) && !USE(baton_resource_is_closed(&resource)));
	EXPECT(TRY(baton_resource_close(&resource)) == 0);
	EXPECT(USE(baton_resource_is_closed(&resource)));
	EXPECT(TRY(baton_resource_close(&resource)) == -EALREADY);
	resource_end(&resource);
}
