/* SPDX-License-Identifier: MIT */
/* Calls libbaton-redis without a server. C11, and C++17. */
#include <baton/redis.h>
#include <baton/remote.h>

int main(void)
{
	static struct baton_remote_options options;
	struct baton_remote *remote = NULL;
	char token[BATON_REDIS_TOKEN_SIZE];

	options.node = "no name";
	if (baton_remote_create(&options, &remote) == 0)
		return 1;
	return baton_redis_token(token);
}
