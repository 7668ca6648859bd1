/* SPDX-License-Identifier: MIT */
/*
 * The rules of admission need no memory and no system call: they go on as before in a thread whose
 * other calls fail.
 */
#include "job.h"

#include <baton/mainloop.h>
#include <baton/rules.h>

static unsigned started;

static void start(struct baton_rules *rules, struct baton_rules_entry *entry, uint64_t may_run_ns)
{
	started++;
}

static const struct baton_rules_events events = {.start = start};
static const struct baton_rules_config config = {.limit = {1, 1, 1}};
static const uint32_t wider[] = {2, 1, 1};

SCENARIO(rules, all)
{
	struct baton_mainloop loop = BATON_MAINLOOP_INIT;
	struct baton_rules_run run = {.number = 7};
	struct baton_rules_entry entries[4];
	struct baton_rules rules;

	started = 0;
	INSIST(baton_mainloop_init(&loop, NULL), !loop._loop);
	for (int i = 0; i < 4; i++)
		USE(baton_rules_entry_init(&entries[i], 0));
	EXPECT(TRY(baton_rules_init(&rules, &config, &events)) == 0);
	EXPECT(TRY(baton_rules_restore(&rules, &entries[0], &run, 1)) == 0);
	EXPECT(TRY(baton_rules_arrive_at(&rules, &entries[1], 8, 2)) == 0);
	EXPECT(TRY(baton_rules_arrive(&rules, &entries[2], 3)) == 0);
	EXPECT(USE(baton_rules_waiting(&rules)) == 2);
	EXPECT(USE(baton_rules_running(&rules, 0)) == 1);
	EXPECT(USE(baton_rules_estimate(&rules, &entries[0])) == 0);
	EXPECT(TRY(baton_rules_withdraw(&rules, &entries[0], 4)) == -EINPROGRESS);
	EXPECT(TRY(baton_rules_withdraw(&rules, &entries[2], 4)) == 0);
	EXPECT(TRY(baton_rules_set_limits(&rules, wider, 0, 5)) == 0);
	EXPECT(started == 1);
	EXPECT(TRY(baton_rules_finish(&rules, &entries[0], 6)) == 0);
	EXPECT(USE(baton_rules_tick(&rules, 7)) == USE(baton_rules_next(&rules)));
	EXPECT(TRY(baton_rules_finish(&rules, &entries[1], 8)) == 0);
	EXPECT(TRY(baton_rules_finish(&rules, &entries[3], 9)) == -EINVAL);
	EXPECT(COUNT(baton_mainloop_deinit(&loop)) == 0);
}
