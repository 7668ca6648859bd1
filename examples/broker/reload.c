/* SPDX-License-Identifier: MIT */
/* The start and reloads; see reload.h. */
#include "reload.h"

#include <errno.h>
#include <sys/stat.h>

#include "broker.h"
#include "common/log.h"
#include "common/log_target.h"

/* What the files hold: read, and not in use yet. */
struct contents {
	struct password_list *passwords;
	struct access *access;
	struct ssl_ctx_st *tls;
	struct log_target *log;
};

/* The words of `log_type`, as bits: behind the levels. */
#define TYPE_NONE (LOG_LEVELS_ALL + 1)
#define TYPE_ALL (2 * TYPE_NONE)

static unsigned int levels_of(const struct broker_options *options)
{
	if (options->log_types == 0)
		return log_levels_to(options->log_level);
	return (options->log_types & TYPE_ALL) != 0 ? LOG_LEVELS_ALL
	                                            : options->log_types & LOG_LEVELS_ALL;
}

static void contents_drop(struct contents *contents)
{
	password_list_destroy(contents->passwords);
	access_destroy(contents->access);
	tls_release(contents->tls);
	log_target_close(contents->log);
}

/* The file that will hold: no reload begins or ends what needs a file (options_take()). */
static const char *file_of(const char *now, const char *fresh)
{
	return now != NULL && fresh != NULL ? fresh : now;
}

/* The file that is read, also where a reload does not begin it: to say what is wrong with it. */
static const char *file_read(const char *now, const char *fresh)
{
	return fresh != NULL ? fresh : now;
}

/*
 * Reads all files, also behind an error, so that all errors are logged. `now`: the options in
 * force; at the start they are the same.
 */
static int contents_read(struct contents *contents, const struct broker_options *now,
                         const struct broker_options *options)
{
	const char *passwords = file_read(now->password_file, options->password_file);
	const char *access = file_read(now->access_file, options->access_file);
	const struct tls_files tls = {.cert = file_read(now->tls_cert, options->tls_cert),
	                              .key = file_read(now->tls_key, options->tls_key),
	                              .ca = file_of(now->tls_ca, options->tls_ca),
	                              .crl = file_of(now->tls_crl, options->tls_crl),
	                              .required = now->certificate_required};
	int status = 0, next;

	*contents = (struct contents){0};
	if (passwords != NULL)
		status = passwords_read(passwords, &contents->passwords);
	if (access != NULL) {
		next = rights_read(access, &contents->access);
		status = status != 0 ? status : next;
	}
	if (tls.cert != NULL) {
		next = tls_load(&tls, &contents->tls);
		status = status != 0 ? status : next;
	}
	next = log_target_open(options->log_places, options->log_file, &contents->log);
	status = status != 0 ? status : next;
	if (status != 0)
		contents_drop(contents);
	return status;
}

static void use_passwords(struct broker *broker, struct password_list *list)
{
	struct vouchers *vouchers =
		passwords_use(&broker->passwords, broker->env.options.password_file, list);

	for (unsigned int i = 0; i < broker->net.loops_running; i++)
		loop_use_vouchers(&broker->net.loops[i], vouchers);
	vouchers_release(vouchers);
}

/* Is the user name of each client, on all listeners, more than its word? */
static bool names_proved(const struct broker_options *options)
{
	bool proved = options->identity && options->certificate_required;

	for (size_t i = 0; i < options->listeners_count; i++)
		proved = proved && options->listeners[i].tls;
	return proved || options->password_file != NULL;
}

/* New rules come first: an audience found anew, and a table filled anew, are by these. */
static void use_access(struct broker *broker, struct access *access)
{
	rights_use(&broker->env.rights, broker->env.options.access_file, access);
	if (!names_proved(&broker->env.options))
		log_event(LOG_LEVEL_WARNING, "names_unproved",
		          log_text("file", broker->env.options.access_file),
		          log_text("reason", "no password file and no certificates: a user name "
		                             "is the client's word"));
	matcher_renew(&broker->table.matcher);
	for (unsigned int i = 0; i < broker->net.loops_running; i++)
		loop_use_rules(&broker->net.loops[i]);
}

static void use_tls(struct broker *broker, struct ssl_ctx_st *tls)
{
	for (unsigned int i = 0; i < broker->net.loops_running; i++)
		loop_use_tls(&broker->net.loops[i], tls);
	tls_release(tls);
}

/* Takes the contents. Cannot fail. What no reload begins is dropped. */
static void contents_use(struct contents *contents, struct broker *broker)
{
	const struct broker_options *options = &broker->env.options;

	log_levels_set(levels_of(options));
	log_use(contents->log);
	contents->log = NULL;
	if (options->password_file != NULL) {
		use_passwords(broker, contents->passwords);
		contents->passwords = NULL;
	}
	if (options->access_file != NULL) {
		use_access(broker, contents->access);
		contents->access = NULL;
	}
	if (options->tls_cert != NULL) {
		use_tls(broker, contents->tls);
		contents->tls = NULL;
	}
	contents_drop(contents);
}

int broker_load(struct broker *broker)
{
	struct contents contents;
	const int status = contents_read(&contents, &broker->env.options, &broker->env.options);

	if (status == 0)
		contents_use(&contents, broker);
	return status;
}

int broker_check(const struct broker_options *options)
{
	struct contents contents;
	const int status = contents_read(&contents, options, options);

	if (status == 0)
		contents_drop(&contents);
	return status;
}

/* A named pipe may be read at the start. Later its open would stop the broker until a writer
 * comes. */
static bool regular(const char *path)
{
	struct stat found;

	if (path == NULL || stat(path, &found) != 0 || S_ISREG(found.st_mode))
		return true;
	log_event(LOG_LEVEL_ERROR, "reload_failed", log_text("file", path),
	          log_text("reason", "not a regular file, and not read again"));
	return false;
}

static bool all_regular(const struct broker_options *options)
{
	const char *const paths[] = {options->password_file, options->access_file,
	                             options->tls_cert,      options->tls_key,
	                             options->tls_ca,        options->tls_crl};
	bool all = true;

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		all = regular(paths[i]) && all;
	return all;
}

static void say_error(const char *line)
{
	log_event(LOG_LEVEL_ERROR, "option_wrong", log_text("reason", line));
}

static void say_changed(const char *key)
{
	log_event(LOG_LEVEL_NOTICE, "option_changed", log_text("option", key));
}

static void say_fixed(const char *key)
{
	log_event(LOG_LEVEL_WARNING, "option_kept", log_text("option", key),
	          log_text("reason", "its change needs a restart"));
}

void broker_reload(struct broker *broker)
{
	struct broker_options *options = &broker->env.options, fresh = {0};
	struct contents contents;

	if (regular(options->config) &&
	    options_parse(&fresh, broker->argc, broker->argv, say_error) < 0 &&
	    all_regular(&fresh) && contents_read(&contents, options, &fresh) == 0) {
		options_take(options, &fresh, say_changed, say_fixed);
		contents_use(&contents, broker);
		log_event(LOG_LEVEL_NOTICE, "reloaded", log_text("file", options->config));
	} else {
		log_event(LOG_LEVEL_ERROR, "reload_failed",
		          log_text("reason", "errors: all stays as it was"));
	}
	options_free(&fresh);
}
