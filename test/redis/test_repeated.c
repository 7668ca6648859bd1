/* SPDX-License-Identifier: MIT */
/* A function whose answer was lost is called again. */
#include "server.h"

#include <criterion/criterion.h>
#include <hiredis/hiredis.h>

#include <stdio.h>

static struct server server;

static void start(void)
{
	server_start(&server, NULL);
	baton_redis_destroy(server_connect(&server)); /* it brings the functions */
}

static void stop(void)
{
	server_stop(&server);
}

TestSuite(repeated, .timeout = 30, .init = start, .fini = stop);

static void make(const char *command)
{
	freeReplyObject(server_ask(&server, command));
}

/* All that the server has, but what tells of the time: leases, and the last epoch. */
static const char *digest(void)
{
	static char text[48];

	snprintf(text, sizeof(text), "%s",
	         server_text(&server, "EVAL %s 0",
	                     "local all = '' "
	                     "local keys = redis.call('KEYS', '*') "
	                     "table.sort(keys) "
	                     "for _, key in ipairs(keys) do "
	                     "if not string.find(key, ':backends') and "
	                     "not string.find(key, ':leases') and "
	                     "not string.find(key, ':keeps') and "
	                     "not string.find(key, ':numbers') then "
	                     "all = all .. key .. redis.call('DUMP', key) end end "
	                     "return redis.sha1hex(all)"));
	return text;
}

static const struct {
	const char *before[5];
	const char *call;
} rows[] = {
	{{0}, "FCALL baton_submit 1 {test} id token 1 60000 2 command file content"},
	{{"FCALL baton_submit 1 {test} id token 1 60000 2 command"},
         "FCALL baton_keep 1 {test} id token 60000"},
	{{"FCALL baton_submit 1 {test} id token 1 60000 2 command"},
         "FCALL baton_withdraw 1 {test} id token"},
	{{"FCALL baton_submit 1 {test} id token 1 60000 2 command",
          "FCALL baton_withdraw 1 {test} id token"},
         "FCALL baton_forget 1 {test} id token"},
	{{"FCALL baton_submit 1 {test} id token 1 60000 2 command"},
         "FCALL baton_admit 1 {test} 7 0-0 0-0 start id 1 100 50 estimate id 100 0 0"},
	{{"FCALL baton_submit 1 {test} id token 9 60000 2 command"},
         "FCALL baton_admit 1 {test} 7 0-0 0-0 deny id full 0 0"},
	{{"FCALL baton_submit 1 {test} id token 9 60000 2 command",
          "HSET {test}:run id 9:0:5:50:1:", "ZREM {test}:queue id"},
         "FCALL baton_admit 1 {test} 7 0-0 0-0 halt id 0 0 0"},
	{{"FCALL baton_submit 1 {test} id token 8 60000 2 command",
          "HSET {test}:run id 8:0:5:50:1:", "ZREM {test}:queue id"},
         "FCALL baton_admit 1 {test} 7 0-0 0-0 shorten id 0 0 0"},
	{{"SET {test}:lease:scheduler leader"}, "FCALL baton_resign 1 {test} 7 leader"},
	{{"FCALL baton_renew 1 {test} one address 60000"},
         "FCALL baton_renew 1 {test} one address 60000"},
	{{"FCALL baton_submit 1 {test} id token 1 60000 2 command",
          "HSET {test}:run id 1:1:5:50:1:one", "ZREM {test}:queue id", "SADD {test}:held:one id"},
         "FCALL baton_effect 1 {test} id 5 data"},
	{{"FCALL baton_submit 1 {test} id token 1 60000 2 command",
          "HSET {test}:run id 1:1:5:50:1:one", "ZREM {test}:queue id", "SADD {test}:held:one id"},
         "FCALL baton_finish 1 {test} id 5 0 reason 1 data"},
	{{"FCALL baton_submit 1 {test} id token 1 60000 2 command",
          "HSET {test}:run id 1:1:5:50:1:one", "ZREM {test}:queue id", "SADD {test}:held:one id"},
         "FCALL baton_leave 1 {test} one"},
	{{"FCALL baton_remote_balance 1 {test} node0 60000 60000 4 1 0 0 0-0 0"},
         "FCALL baton_remote_balance 1 {test} node0 60000 60000 4 1 0 0 0-0 0"},
	{{"FCALL baton_remote_balance 1 {test} node0 60000 60000 4 1 0 0 0-0 0"},
         "FCALL baton_remote_submit 1 {test} node0 0-0 0 1 1 name data 2 2 name data"},
	{{"FCALL baton_remote_balance 1 {test} node0 60000 60000 4 1 0 0 0-0 0",
          "FCALL baton_remote_balance 1 {test} node1 60000 60000 4 1 0 0 0-0 0",
          "HSET {test}:remote:owners 2 5:node0"},
         "FCALL baton_remote_release 1 {test} node0 2 5"},
	{{"FCALL baton_remote_balance 1 {test} node0 60000 60000 4 1 0 0 0-0 0",
          "XADD {test}:remote:in:2 1-1 node node0 number 1 name name data data",
          "HSET {test}:remote:owners 2 5:node0"},
         "FCALL baton_remote_commit 1 {test} node0 0-0 100 1 "
         "2 5 1-1 name set state node0 1 0 answer 1 1 effect node0 hello"},
	{{"FCALL baton_remote_balance 1 {test} node0 60000 60000 4 1 0 0 0-0 0",
          "FCALL baton_remote_balance 1 {test} node1 60000 60000 4 1 0 0 0-0 0"},
         "FCALL baton_remote_leave 1 {test} node0"},
};

/* The answer of each call is lost, and the call is repeated. */
Test(repeated, a_call_that_is_repeated_does_its_work_no_second_time)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char once[48];

		make("FLUSHDB");
		make("SET {test}:epoch 7");
		for (size_t j = 0; j < 5 && rows[i].before[j]; j++)
			make(rows[i].before[j]);
		for (int time = 0; time < 2; time++) {
			struct redisReply *reply = server_ask(&server, rows[i].call);

			cr_assert_neq(reply->type, REDIS_REPLY_ERROR, "%s: %s", rows[i].call,
			              reply->str);
			freeReplyObject(reply);
			if (time == 0)
				snprintf(once, sizeof(once), "%s", digest());
		}
		cr_assert_str_eq(digest(), once, "%s", rows[i].call);
	}
}
