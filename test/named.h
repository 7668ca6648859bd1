/* SPDX-License-Identifier: MIT */
/* Configs with a name, for tests that need no other config: &FILE_NAMED("a") outside functions,
 * NAMED("a") inside one. Both live as long as the program. */
#ifndef BATON_TEST_NAMED_H
#define BATON_TEST_NAMED_H

#include <baton/resource.h>

#define FILE_NAMED(name) ((const struct baton_resource_config)BATON_RESOURCE_CONFIG_NAMED(name))

#define NAMED(name)                                                                                \
	(__extension__({                                                                           \
		static const struct baton_resource_config config_ =                                \
			BATON_RESOURCE_CONFIG_NAMED(name);                                         \
		&config_;                                                                          \
	}))

#endif
