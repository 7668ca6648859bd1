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

/* Reads all files, also behind an error, so that all errors are logged. */
static int contents_read(struct contents *contents, const struct broker_options *options)
{
	int status = 0, next;

	*contents = (struct contents){0};
	if (options->password_file != NULL)
		status = passwords_read(options->password_file, &contents->passwords);
	if (options->access_file != NULL) {
		next = rights_read(options->access_file, &contents->access);
		status = status != 0 ? status : next;
	}
	if (options->tls_cert != NULL) {
		const struct tls_files files = {.cert = options->tls_cert,
		                                .key = options->tls_key,
		                                .ca = options->tls_ca,
		                                .crl = options->tls_crl,
		                                .required = options->certificate_required};

		next = tls_load(&files, &contents->tls);
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
	struct vouchers *vouchers = passwords_use(&broker->passwords, list);

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
	rights_use(&broker->env.rights, access);
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

/* Takes the contents. Cannot fail. */
static void contents_use(struct contents *contents, struct broker *broker)
{
	log_levels_set(levels_of(&broker->env.options));
	log_use(contents->log);
	if (contents->passwords != NULL)
		use_passwords(broker, contents->passwords);
	if (contents->access != NULL)
		use_access(broker, contents->access);
	if (contents->tls != NULL)
		use_tls(broker, contents->tls);
}

int broker_load(struct broker *broker)
{
	struct contents contents;
	const int status = contents_read(&contents, &broker->env.options);

	if (status == 0)
		contents_use(&contents, broker);
	return status;
}

int broker_check(const struct broker_options *options)
{
	struct contents contents;
	const int status = contents_read(&contents, options);

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
	    all_regular(&fresh) && contents_read(&contents, &fresh) == 0) {
		options_take(options, &fresh, say_changed, say_fixed);
		contents_use(&contents, broker);
		log_event(LOG_LEVEL_NOTICE, "reloaded", log_text("file", options->config));
	} else {
		log_event(LOG_LEVEL_ERROR, "reload_failed",
		          log_text("reason", "errors: all stays as it was"));
	}
	options_free(&fresh);
}
