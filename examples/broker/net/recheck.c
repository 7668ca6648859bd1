/* SPDX-License-Identifier: MIT */
/* Certificates that are checked again; see recheck.h. */
#include "net/recheck.h"

#include <stdlib.h>

#include <baton/pool.h>

#include "common/env.h"
#include "common/must.h"
#include "common/why.h"
#include "net/connection.h"
#include "net/loop.h"

struct recheck_client {
	struct connection *connection; /* charged */
	struct tls_proof *proof;
};

struct recheck {
	struct baton_plain_job job;
	struct ssl_ctx_st *tls; /* counted */
	size_t count;
	struct recheck_client clients[];
};

/* In the pool for slow things. */
static void recheck_run(struct baton_plain_job *job)
{
	struct recheck *recheck = baton_container_of(job, struct recheck, job);

	for (size_t i = 0; i < recheck->count; i++) {
		const struct recheck_client *client = &recheck->clients[i];

		if (!tls_proof_holds(client->proof, recheck->tls))
			connection_kick(client->connection, WHY_CERTIFICATE);
		tls_proof_free(client->proof);
		connection_release(client->connection, CONNECTION_REFERENCE);
	}
	tls_release(recheck->tls);
	free(recheck);
}

void recheck_clients(struct loop *loop)
{
	struct recheck *recheck;
	size_t most = 0;

	for (const struct connection *connection = loop->connections; connection != NULL;
	     connection = connection->next)
		most++;
	recheck = must_alloc(sizeof(*recheck) + most * sizeof(struct recheck_client));
	/* Connections leave the list in a later turn. */
	for (struct connection *connection = loop->connections; connection != NULL;
	     connection = connection->next) {
		struct tls_proof *proof = NULL;

		if (connection->tls == NULL || connection->closing)
			continue;
		if (tls_ready(connection->tls))
			proof = tls_prove(connection->tls);
		else
			connection_fail(connection, WHY_CERTIFICATE);
		if (proof == NULL)
			continue;
		connection_charge_more(connection, CONNECTION_REFERENCE);
		recheck->clients[recheck->count++] = (struct recheck_client){connection, proof};
	}
	recheck->tls = loop->tls;
	tls_reference(recheck->tls);
	baton_plain_job_init(&recheck->job, recheck_run, NULL);
	must(baton_pool_submit(loop->env->slow_pool, &recheck->job), "check certificates");
}
