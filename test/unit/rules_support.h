/* SPDX-License-Identifier: MIT */
/* What the tests of the rules of admission share: a machine, and jobs that note what they hear. */
#ifndef BATON_TEST_UNIT_RULES_SUPPORT_H
#define BATON_TEST_UNIT_RULES_SUPPORT_H

#include <baton/rules.h>

#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define S BATON_SECOND
#define MS (BATON_SECOND / 1000)
#define NONE ((uint64_t)-2)

struct job {
	struct baton_rules_entry entry;
	uint64_t may_run; /* NONE: not started */
	uint64_t estimate;
	uint32_t shortened;
	uint32_t told;
	bool halted;
	bool overran;
};

static struct job jobs[16];
static struct baton_rules rules;

static inline struct job *job_of(struct baton_rules_entry *entry)
{
	return (struct job *)entry; /* the first member */
}

static inline void on_start(struct baton_rules *machine, struct baton_rules_entry *entry,
                            uint64_t ns)
{
	job_of(entry)->may_run = ns;
}

static inline void on_shorten(struct baton_rules *machine, struct baton_rules_entry *entry,
                              uint64_t ns)
{
	job_of(entry)->may_run = ns;
	job_of(entry)->shortened++;
}

static inline void on_halt(struct baton_rules *machine, struct baton_rules_entry *entry)
{
	job_of(entry)->halted = true;
}

static inline void on_estimate(struct baton_rules *machine, struct baton_rules_entry *entry,
                               uint64_t ns)
{
	job_of(entry)->estimate = ns;
	job_of(entry)->told++;
}

static inline void on_overrun(struct baton_rules *machine, struct baton_rules_entry *entry)
{
	job_of(entry)->overran = true;
}

static const struct baton_rules_events events = {
	.start = on_start,
	.shorten = on_shorten,
	.halt = on_halt,
	.estimate = on_estimate,
	.overrun = on_overrun,
};
static inline void begin(const struct baton_rules_config *config)
{
	cr_assert_eq(baton_rules_init(&rules, config, &events), 0);
}

static inline struct baton_rules_entry *arrive(uint32_t job, uint32_t kind, uint64_t now)
{
	baton_rules_entry_init(&jobs[job].entry, kind);
	jobs[job].may_run = NONE;
	cr_assert_eq(baton_rules_arrive(&rules, &jobs[job].entry, now), 0);
	return &jobs[job].entry;
}

#endif
