/* SPDX-License-Identifier: MIT */
/* --store: wills of clients that are connected, or whose delay runs, when the broker is killed. */
#include "client.h"

#include <stdio.h>

#include "server.h"
#include "store_file.h"

#define OURS .mosquitto = "is started without its persistence"

/* A session that is there after kill -9, with what is sent to it meanwhile. */
static void make_heir(void)
{
	struct client *heir = join_new("heir");

	subscribe(heir, "w:1");
	leave(heir);
}

/* What was said and acknowledged before is committed, once its tasks have run. */
static void settle(void)
{
	struct client *client = join("settler");

	story_sleep(story_scaled(200));
	subscribe(client, "s:1"); /* SUBACK comes behind a commit */
	leave(client);
}

STORY(will_of_a_client_at_a_crash_is_published_once, OURS)
{
	struct client *heir;

	store_start("");
	make_heir();
	join("a clean will=w message=clean wq=1");
	join_new("b will=w message=kept wq=1");
	store_check(1, ""); /* in use */
	store_kill();
	store_check(0, "2 wills");
	store_start("");
	heir = resume("heir");
	expect_received(heir, "w clean");
	expect_received(heir, "w kept");
	expect_silence(heir, 100);
	settle();
	store_kill();
	store_check(0, "0 wills");
	store_start("");
	heir = resume("heir");
	expect_silence(heir, 300);
}

STORY(will_of_a_crash_can_be_retained, OURS)
{
	struct client *late;

	store_start("");
	join("a clean will=state message=offline wq=1 wr");
	store_kill();
	store_start("");
	late = join("late clean");
	subscribe(late, "state:1");
	expect(late, "PUBLISH retain q1 id1 state offline");
	say(late, "PUBACK 1");
}

/* Published, or void: the store has forgotten it. */
STORY(will_that_has_ended_is_not_there_after_a_crash, OURS)
{
	struct client *heir;

	store_start("");
	make_heir();
	heir = resume("heir");
	client_vanish(join("a clean will=w message=bye wq=1"));
	expect_received(heir, "w bye");
	leave(join("b clean will=w message=no wq=1"));
	leave(join("c will=w message=no wq=1"));
	settle();
	store_kill();
	store_check(0, "0 wills");
	store_start("");
	expect_silence(resume("heir"), 300);
}

STORY(will_of_a_start_that_fails_stays, OURS)
{
	struct client *heir;

	store_start("");
	make_heir();
	join("a clean will=w message=bye wq=1");
	store_kill();
	store_run(store_path(), "--port 0 --tls-cert none --tls-key none", 1, "");
	store_start("");
	heir = resume("heir");
	expect_received(heir, "w bye");
}

/* Who may not publish it, may not have a crash publish it. */
STORY(will_of_a_crash_is_published_by_the_access_rules, OURS)
{
	char options[128];
	struct client *heir;

	snprintf(options, sizeof(options), "--access-file %s",
	         file_write("topic read #\ntopic write good/#\n"));
	store_start(options);
	heir = join_new("heir");
	subscribe(heir, "^good/w:1 ^bad/w:1");
	leave(heir);
	join("a clean will=^bad/w message=no wq=1");
	join("b clean will=^good/w message=yes wq=1");
	store_kill();
	store_start(options);
	heir = resume("heir");
	expect_received(heir, "good/w yes");
	expect_silence(heir, 200);
}
