/* SPDX-License-Identifier: MIT */
/* Admits one task. C11, and C++17. */
#include <baton/admission.h>

static int run(struct baton_task *task)
{
	return task ? 0 : -1;
}

int main(void)
{
	static struct baton_admission_config config;
	static struct baton_admission admission;
	static struct baton_admitted admitted;
	struct baton_future outcome = BATON_PROMISE_INIT;

	for (int i = 0; i < 3; i++)
		config.rules.limit[i] = 1;
	if (baton_admission_init(&admission, &config))
		return 1;
	baton_admitted_init(&admitted, 0, run);
	admitted.outcome = &outcome;
	return baton_admission_arrive(&admission, &admitted) ||
	       baton_admission_close(&admission, BATON_ADMISSION_RUN) ||
	       baton_admission_await(&admission) || baton_future_status(&outcome);
}
