/* SPDX-License-Identifier: MIT */
/* Calls libbaton-redis without a server, and links what uses libbaton-admission. C11, C++17. */
#include <baton/redis.h>
#include <baton/remote.h>

int main(void)
{
	static struct baton_remote_options options;
	struct baton_remote *remote = NULL;
	void (*volatile used)(struct baton_redis_scheduler *) = baton_redis_scheduler_destroy;
	char token[BATON_REDIS_TOKEN_SIZE];

	options.node = "no name";
	if (!used || baton_remote_create(&options, &remote) == 0)
		return 1;
	return baton_redis_token(token);
}
