/* SPDX-License-Identifier: MIT */
/* Runs a source of a main loop once. C11, and C++17. */
#include <baton/mainloop.h>

static int run(struct baton_source *source)
{
	return *baton_source_name(source) == 'o' ? 0 : -1;
}

int main(void)
{
	static struct baton_source_config config;
	static struct baton_mainloop loop;
	static struct baton_source once = BATON_SOURCE_INIT(&loop, &config, "once");

	config.fn = run;
	return baton_mainloop_init(&loop, NULL) || baton_source_start(&once) ||
	       baton_mainloop_run(&loop, 1) != 1 || baton_mainloop_deinit(&loop);
}
