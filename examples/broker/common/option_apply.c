/* SPDX-License-Identifier: MIT */
/* Which settings hold, what they mean together, and what a reload takes over. */
#include <errno.h>
#include <string.h>

#include "common/must.h"
#include "common/option_read.h"

static bool names_place(const struct option_row *row)
{
	return row->offset == offsetof(struct broker_options, host) ||
	       row->offset == offsetof(struct broker_options, port) ||
	       row->offset == offsetof(struct broker_options, tls_port);
}

/* Does the command line say something else? */
static bool overridden(const struct reading *reading, const struct setting *setting)
{
	const struct option_row *row = setting->row;

	for (size_t i = 0; i < reading->count && setting->line > 0; i++) {
		const struct option_row *other = reading->settings[i].row;

		if (reading->settings[i].line > 0)
			return false; /* the command line's come first */
		if (other == row || (row->kind == OPTION_LISTENER && names_place(other)) ||
		    (names_place(row) && other->kind == OPTION_LISTENER))
			return true;
	}
	return false;
}

/* All listeners have the same options. */
static bool differs(struct reading *reading, const struct setting *setting)
{
	for (const struct setting *other = reading->settings; other < setting; other++) {
		if (other->row != setting->row || other->line == 0 ||
		    strcmp(other->value, setting->value) == 0)
			continue;
		option_complain(reading, setting->line,
		                "%s %s: expected %s as in line %u: it is the same for "
		                "all listeners",
		                setting->row->key, setting->value, other->value, other->line);
		return true;
	}
	return false;
}

void option_apply(struct reading *reading, struct broker_options *options)
{
	for (size_t i = 0; i < reading->count; i++) {
		const struct setting *setting = &reading->settings[i];

		if (overridden(reading, setting) ||
		    (setting->row->of_listener && setting->line > 0 && differs(reading, setting)))
			continue;
		(void)option_set(options, setting->row, setting->value); /* tried before */
	}
}

/* The setting that holds, of the row with this name; NULL: none. */
const struct setting *option_given(const struct reading *reading, const char *name)
{
	const struct option_row *row = option_named(name);
	const struct setting *found = NULL;

	for (size_t i = 0; i < reading->count; i++)
		if (reading->settings[i].row == row && !overridden(reading, &reading->settings[i]))
			found = &reading->settings[i];
	return found;
}

/* Is such an option given for the listener of this number (0: that of --port)? */
static bool given_for(const struct reading *reading, const struct option_row *row, size_t section)
{
	for (size_t i = 0; i < reading->count; i++)
		if (reading->settings[i].row == row && reading->settings[i].section == section)
			return true;
	return false;
}

/* A certificate makes a listener one for TLS; all of these have the same options. */
static bool check_section(struct reading *reading, const struct broker_options *options,
                          size_t section)
{
	const bool tls = given_for(reading, option_named("tls-cert"), section);

	for (size_t i = 0; i < option_rows; i++) {
		const struct option_row *row = &option_table[i];

		if (row->of_listener && option_given(reading, row->name) != NULL &&
		    given_for(reading, row, section) != tls)
			option_complain(reading, 0,
			                "listener %u: needs both, certfile and %s, or none",
			                options->listeners[section - 1].port, row->key);
	}
	return tls;
}

static void add_listener(struct broker_options *options, unsigned int port, bool tls)
{
	struct broker_listener *listener = &options->listeners[options->listeners_count++];

	*listener = (struct broker_listener){strdup(options->host), port, tls};
	must(listener->host == NULL ? -ENOMEM : 0, "options");
}

/* The listeners of --host, --port and --tls-port. */
static void add_listeners(struct reading *reading, struct broker_options *options, bool tls)
{
	const bool both = options->tls_port != BROKER_NO_PORT;

	if (options->port == BROKER_NO_PORT)
		options->port = tls && !both ? 8883 : 1883;
	if (both && !tls)
		option_complain(reading, 0, "--tls-port (tls_port) needs --tls-cert (certfile)");
	add_listener(options, options->port, tls && !both);
	if (both)
		add_listener(options, options->tls_port, true);
}

static bool texts_equal(const char *a, const char *b)
{
	return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static void check_ports(struct reading *reading, const struct broker_options *options)
{
	for (size_t i = 0; i < options->listeners_count; i++)
		for (size_t j = 0; j < i; j++)
			if (options->listeners[i].port != 0 &&
			    options->listeners[i].port == options->listeners[j].port &&
			    texts_equal(options->listeners[i].host, options->listeners[j].host))
				option_complain(reading, 0, "port %u: two listeners have the same",
				                options->listeners[i].port);
}

static void check_listeners(struct reading *reading, struct broker_options *options)
{
	const struct option_row *cert = option_named("tls-cert");
	const bool tls = options->tls_cert != NULL;
	const bool several = option_given(reading, "listener") != NULL;
	bool used = false;

	if (tls != (options->tls_key != NULL))
		option_complain(reading, 0,
		                "--tls-cert (certfile) and --tls-key (keyfile) need each other");
	if (options->tls_ca != NULL && !tls)
		option_complain(reading, 0, "--tls-ca (cafile) needs --tls-cert (certfile)");
	if (options->tls_ca == NULL &&
	    (options->tls_crl != NULL || options->certificate_required || options->identity))
		option_complain(reading, 0,
		                "--tls-crl (crlfile), --require-certificate and "
		                "--use-identity-as-username need --tls-ca (cafile)");
	for (size_t i = 0; i < options->listeners_count; i++)
		options->listeners[i].tls = check_section(reading, options, i + 1);
	if (!several || option_given(reading, "port") != NULL ||
	    option_given(reading, "host") != NULL || option_given(reading, "tls-port") != NULL)
		add_listeners(reading, options, tls && (!several || given_for(reading, cert, 0)));
	for (size_t i = 0; i < options->listeners_count; i++)
		used = used || options->listeners[i].tls;
	if (tls && !used)
		option_complain(reading, 0,
		                "certfile: belongs behind its listener, and stands before all");
	check_ports(reading, options);
}

/* Checks options against each other. */
void option_check(struct reading *reading, struct broker_options *options)
{
	check_listeners(reading, options);
	if (options->check_store && options->store == NULL)
		option_complain(reading, 0, "--check-store needs --store (store)");
	if (option_given(reading, "log-level") != NULL && option_given(reading, "log-type") != NULL)
		option_complain(reading, 0,
		                "--log-level (log_level) and --log-type (log_type) say the same: "
		                "only one of them may be given");
	options->local =
		options->password_file == NULL && option_given(reading, "allow-anonymous") == NULL;
	if (options->local)
		options->limits.anonymous = true;
}

/* A reload cannot begin or end what needs a file, nor say anew who may come if nobody had said. */
static bool takes(const struct option_row *row, const struct broker_options *to,
                  const struct broker_options *from)
{
	const size_t at = row->offset;

	if (row->when != OPTION_RELOAD)
		return false;
	if (row->kind == OPTION_TEXT)
		return (*(char *const *)(const void *)((const char *)to + at) == NULL) ==
		       (*(char *const *)(const void *)((const char *)from + at) == NULL);
	return at != offsetof(struct broker_options, limits.anonymous) ||
	       to->local == from->local ||
	       (!from->local && (to->password_file == NULL) == (from->password_file == NULL));
}

void options_take(struct broker_options *to, struct broker_options *from, options_say_fn *changed,
                  options_say_fn *fixed)
{
	bool place = false;

	for (size_t i = 0; i < option_rows; i++) {
		const struct option_row *row = &option_table[i];

		if (row->kind == OPTION_HEADING || option_equal(row, to, from) ||
		    (row->kind == OPTION_LISTENER && place))
			continue;
		place = place || names_place(row);
		if (takes(row, to, from)) {
			option_move(row, to, from);
			changed(row->key);
		} else {
			fixed(row->key);
		}
	}
}
