/* SPDX-License-Identifier: MIT */
/* Options: the command line and `--help`; see options.h. */
#include "common/options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/must.h"
#include "common/option_read.h"

#define HELP_COLUMN 28
#define HELP_WIDTH 90

void options_say_stderr(const char *line)
{
	fprintf(stderr, "broker: %s\n", line);
}

/* ---- Help ---- */

static const char help_first[] =
	"broker: an MQTT 3.1.1 and MQTT 5 broker, the example of the baton library\n"
	"\n"
	"  R: SIGHUP takes a change of the file over. In brackets: the key in a file, where it is\n"
	"  not the name with _ in the place of -. In parentheses: the default.\n";

static const char help_last[] =
	"\n"
	"BYTES may end in K, M or G. SIGINT and SIGTERM end the broker; a second one, half a\n"
	"second later or more, kills it, whatever waits. SIGHUP makes it read again FILE of\n"
	"--config, the password file, the access file and the files of TLS.\n"
	"\n"
	"  broker --stats &\n"
	"  mosquitto_sub -v -t 'news/#' &\n"
	"  mosquitto_pub -t news/today -m 'hello'\n"
	"  mosquitto_sub -v -t '$SYS/broker/#'\n"
	"\n"
	"  echo \"ann:$(openssl passwd -6)\" >users     # asks for the password\n"
	"  broker --host 0.0.0.0 --password-file users --tls-cert chain.pem --tls-key key.pem\n"
	"  mosquitto_sub -p 8883 --cafile ca.pem -u ann -P ... -t '#'\n";

/* Prints words from this column on; `column`: where the line is. Returns where it is then. */
static int print_words(const char *text, int column)
{
	while (*text != '\0') {
		const int size = (int)strcspn(text, " ");

		if (column + size >= HELP_WIDTH) {
			printf("\n%*s", HELP_COLUMN - 1, "");
			column = HELP_COLUMN - 1;
		}
		column += printf(" %.*s", size, text);
		text += size;
		text += strspn(text, " ");
	}
	return column;
}

/* Is the key the name, with _ in the place of -? */
static bool key_follows(const struct option_row *row)
{
	size_t i = 0;

	while (row->key[i] != '\0' && row->key[i] == (row->name[i] == '-' ? '_' : row->name[i]))
		i++;
	return row->key[i] == '\0' && row->name[i] == '\0';
}

static void print_row(const struct option_row *row)
{
	char note[80] = "";
	int column = printf("  --%s%s%s", row->name, row->value != NULL ? " " : "",
	                    row->value != NULL ? row->value : "");

	if (column > HELP_COLUMN - 4)
		column = printf("\n") - 1;
	printf("%*s%c", HELP_COLUMN - 2 - column, "", row->when == OPTION_RELOAD ? 'R' : ' ');
	column = HELP_COLUMN - 1;
	if (row->key != NULL && !key_follows(row)) {
		snprintf(note, sizeof(note), "[%s]", row->key);
		column = print_words(note, column);
	}
	column = print_words(row->help != NULL ? row->help : "", column);
	if (row->initial != NULL) {
		snprintf(note, sizeof(note), "(%s)", row->initial);
		print_words(note, column);
	}
	printf("\n");
}

static void print_help(void)
{
	fputs(help_first, stdout);
	for (size_t i = 0; i < option_rows; i++) {
		if (option_table[i].kind == OPTION_HEADING)
			printf("\n%s\n", option_table[i].name);
		else
			print_row(&option_table[i]);
	}
	fputs(help_last, stdout);
}

/* ---- The command line ---- */

static int argument_of(enum option_kind kind)
{
	if (kind == OPTION_FLAG)
		return optional_argument;
	return kind == OPTION_HELP ? no_argument : required_argument;
}

static void complain_argument(struct reading *reading, int option, const char *argument)
{
	const char *near =
		strncmp(argument, "--", 2) == 0 ? option_nearest(argument + 2, true) : NULL;

	if (option == ':')
		option_complain(reading, 0, "%s needs a value; see --help", argument);
	else if (near != NULL && strcmp(near, argument + 2) != 0)
		option_complain(reading, 0, "%s is no option; is --%s meant? See --help", argument,
		                near);
	else
		option_complain(reading, 0, "%s is no option, or takes no value; see --help",
		                argument);
}

/* False: it asks for help. */
static bool read_arguments(struct reading *reading, int argc, char **argv)
{
	struct option *options = must_alloc((option_rows + 1) * sizeof(*options));
	size_t count = 0;
	bool help = false;
	int option, index = 0;

	for (size_t i = 0; i < option_rows; i++) {
		const struct option_row *row = &option_table[i];

		if (row->kind == OPTION_HEADING)
			continue;
		options[count++] = (struct option){row->name, argument_of(row->kind), NULL, 'x'};
	}
	opterr = 0;
	optind = 0; /* a reload reads the command line again */
	while (!help && (option = getopt_long(argc, argv, ":c:", options, &index)) != -1) {
		const struct option_row *row =
			option_named(option == 'c' ? "config" : options[index].name);

		if (option != 'x' && option != 'c')
			complain_argument(reading, option, argv[optind - 1]);
		else if (row->kind == OPTION_HELP)
			help = true;
		else
			option_add(reading, row, optarg != NULL ? optarg : "true", 0);
	}
	free(options);
	for (int i = optind; i < argc && !help && reading->errors == 0; i++)
		option_complain(reading, 0, "unexpected '%s'; see --help", argv[i]);
	return !help;
}

static void options_default(struct broker_options *options)
{
	*options = (struct broker_options){.port = BROKER_NO_PORT, .tls_port = BROKER_NO_PORT};
	for (size_t i = 0; i < option_rows; i++)
		if (option_table[i].initial != NULL)
			(void)option_set(options, &option_table[i], option_table[i].initial);
}

int options_parse(struct broker_options *options, int argc, char **argv, options_say_fn *say)
{
	struct reading reading = {.say = say};
	const struct setting *config;
	int status = -1;

	options_default(options);
	if (!read_arguments(&reading, argc, argv)) {
		print_help();
		status = 0;
	} else {
		config = option_given(&reading, "config");
		reading.file = config != NULL ? config->value : NULL;
		if (reading.file != NULL)
			option_read_file(&reading);
		option_apply(&reading, options);
		if (reading.errors == 0)
			option_check(&reading, options);
		status = reading.errors > 0 ? 2 : -1;
	}
	for (size_t i = 0; i < reading.count; i++)
		free(reading.settings[i].value);
	options_free(&reading.trial);
	free(reading.settings);
	return status;
}

void options_free(struct broker_options *options)
{
	for (size_t i = 0; i < option_rows; i++)
		if (option_table[i].kind == OPTION_TEXT || option_table[i].kind == OPTION_WORD)
			free(*(char **)(void *)((char *)options + option_table[i].offset));
	for (size_t i = 0; i < options->listeners_count; i++)
		free(options->listeners[i].host);
	for (size_t i = 0; i < options->denied_count; i++)
		free((char *)options->denied[i].bytes);
	free(options->denied);
	free(options->log_file);
	*options = (struct broker_options){0};
}
