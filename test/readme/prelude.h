/* SPDX-License-Identifier: MIT */
/* What the pieces of code that test/readme/check.sh compiles take for granted. */
#ifndef BATON_TEST_README_PRELUDE_H
#define BATON_TEST_README_PRELUDE_H

/* The pieces show calls, not what a program does about a refusal. */
#define BATON_OPTIONAL_RESULTS

#include <baton/all.h>
#include <baton/admission.h>
#include <baton/mainloop.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct session {
	struct baton_resource resource;
	struct baton_lanes lanes;
	struct baton_bound bound;
	struct baton_bound_config bound_config;
	struct baton_timer keep_alive;
	struct baton_window window;
	struct baton_trigger changed;
	struct baton_io readable;
	struct baton_source_fd input;
};

struct publish {
	struct baton_task task;
	struct baton_stamp stamp;
	struct baton_window_part part;
	struct baton_detached token;
	struct baton_deadline deadline;
	struct baton_undo undo;
};

struct resend {
	struct baton_timer timer;
};

struct topic {
	struct baton_resource resource;
	struct baton_trigger flush;
	long messages;
};

struct service {
	struct baton_admission admission;
};

struct render {
	struct baton_admitted admitted;
	struct baton_future outcome;
	struct baton_future gone;
};

struct request {
	struct baton_future answer;
	struct baton_continuation when_answered;
};

struct account {
	struct baton_resource resource;
	long balance;
};

struct client {
	struct baton_tag tag;
};

struct search {
	struct baton_task task;
	struct baton_reader reader;
};

struct table {
	struct baton_retired retired;
};

extern struct session *session, *store;
extern struct publish *publish;
extern struct request *request;
void on_answer(void *request);
extern struct resend *resend;
extern struct topic *topic, *other;
extern struct client *client;
extern struct account *from, *to;
extern long amount;
extern struct service *service;
extern struct render *render;
extern struct request *request;
extern struct baton_resource **resources;
extern struct baton_suspension *suspensions, suspension;
extern struct baton_fan_out *fan_out;
extern struct baton_deadlock_link *links;

extern struct baton_mainloop loop;
extern struct baton_loop *events;
extern struct baton_resource_config config;
extern struct baton_future future;
extern size_t count, which, length;
extern double *samples;
extern int scale(void *arg, size_t begin, size_t end);
extern int status;
extern long total;
extern int fd;
extern void *message;
extern const struct baton_task_type publish_type, search_type;
extern struct search *search;
extern struct baton_readers readers;
extern struct baton_published published;
extern struct table *first, *next, *table;
void free_table(struct baton_retired *retired);

void *handle(void *session);
void on_answer(void *request);
int publish_run(struct baton_task *task);
int render_run(struct baton_task *task);
void publish_free(struct baton_task *task);
int keep_alive_expired(struct baton_timer *timer);
int session_readable(struct baton_io *io);
int input_ready(struct baton_source *source);
int transaction_begin(struct baton_resource *resource);
int transaction_commit(struct baton_resource *resource);
void keep_session(struct baton_resource *resource);
void leave_session(struct baton_resource *resource);
int send_again(struct baton_timer *timer);
int flush(struct baton_trigger *trigger, uint64_t fires);
int deliver(struct baton_resource *resource, void *arg, size_t index);
int remove_again(struct baton_undo *undo);
int release_quota(void *session);

#endif
