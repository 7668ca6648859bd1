/* SPDX-License-Identifier: MIT */
/*
 * Writes the files. Each is written beside its place and then put there, so that whoever reads
 * finds a whole one. README.md describes the schema; a member that changes its meaning gets a new
 * name, and SCHEMA a new number.
 */
#include "record.h"

#include "figures.h"
#include "goals.h"
#include "harness.h"
#include "machine.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SCHEMA 1
#define PATH_SIZE 4096

static FILE *begin(const char *path, char *beside, size_t size)
{
	FILE *file;

	(void)snprintf(beside, size, "%s.new", path);
	file = fopen(beside, "w");
	if (!file) {
		perror(beside);
		exit(2);
	}
	return file;
}

static void end_file(FILE *file, const char *beside, const char *path)
{
	if (fclose(file) || rename(beside, path)) {
		perror(path);
		exit(2);
	}
}

/* A string with its quotes; NULL becomes null. Bytes above ASCII go through: they are UTF-8. */
static void json_string(FILE *file, const char *text)
{
	if (!text) {
		fputs("null", file);
		return;
	}
	fputc('"', file);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			fprintf(file, "\\%c", *text);
		else if ((unsigned char)*text < 0x20)
			fprintf(file, "\\u%04x", (unsigned)*text);
		else
			fputc(*text, file);
	}
	fputc('"', file);
}

/* JSON has neither infinities nor NAN. */
static void json_number(FILE *file, double value)
{
	if (isfinite(value))
		fprintf(file, "%.8g", value);
	else
		fputs("null", file);
}

static void member_string(FILE *file, const char *before, const char *name, const char *value)
{
	fprintf(file, "%s\"%s\": ", before, name);
	json_string(file, value);
}

static void member_number(FILE *file, const char *before, const char *name, double value)
{
	fprintf(file, "%s\"%s\": ", before, name);
	json_number(file, value);
}

static void json_machine(FILE *file, const struct machine *machine)
{
	fprintf(file, "  \"schema\": %d,\n", SCHEMA);
	member_string(file, "  ", "commit", machine->commit);
	member_string(file, ",\n  ", "date", machine->date);
	fputs(",\n  \"machine\": {", file);
	member_string(file, "", "cpu", machine->cpu);
	member_number(file, ", ", "cpus", machine->cpus);
	member_number(file, ", ", "memory_mib", machine->memory_mib);
	member_string(file, ", ", "kernel", machine->kernel);
	member_string(file, ", ", "compiler", machine->compiler);
	fputs("}", file);
	member_string(file, ",\n  ", "only", bench_options.only);
	fprintf(file, ",\n  \"quick\": %s,\n  \"deep\": %s", bench_options.quick ? "true" : "false",
	        bench_options.deep ? "true" : "false");
}

static void json_figures(FILE *file)
{
	const struct figure *figure;

	fputs(",\n  \"figures\": [", file);
	for (size_t i = 0; (figure = figures_at(i)); i++) {
		member_string(file, i ? ",\n    {" : "\n    {", "group", figure->group);
		member_string(file, ", ", "contender", figure->contender);
		member_string(file, ", ", "metric", figure->metric);
		member_string(file, ", ", "unit", figures_unit(figure->metric));
		if (figure->axis) {
			member_string(file, ", ", "axis", figure->axis);
			member_number(file, ", ", "x", figure->x);
		}
		member_number(file, ", ", "median", figure->summary.median);
		member_number(file, ", ", "min", figure->summary.least);
		member_number(file, ", ", "q1", figure->summary.lower);
		member_number(file, ", ", "q3", figure->summary.upper);
		member_number(file, ", ", "max", figure->summary.most);
		member_number(file, ", ", "runs", figure->runs);
		fputs("}", file);
	}
	fputs("\n  ]", file);
}

static void json_goals(FILE *file)
{
	struct goal_result result;

	fputs(",\n  \"goals\": [", file);
	for (size_t i = 0; goals_at(i, &result); i++) {
		member_string(file, i ? ",\n    {" : "\n    {", "goal", result.text);
		member_string(file, ", ", "against", result.against);
		member_string(file, ", ", "bound", result.at_most ? "at most" : "at least");
		member_number(file, ", ", "target", result.target);
		member_number(file, ", ", "measured", result.measured);
		fprintf(file, ", \"stretch\": %s", result.stretch ? "true" : "false");
		member_string(file, ", ", "verdict", goals_verdict(&result));
		fputs("}", file);
	}
	fputs("\n  ]", file);
}

static void write_json(const char *path, const struct machine *machine,
                       const struct record_end *end)
{
	char beside[PATH_SIZE + 8];
	FILE *file = begin(path, beside, sizeof(beside));

	fputs("{\n", file);
	json_machine(file, machine);
	json_figures(file);
	json_goals(file);
	member_number(file, ",\n  ", "others_percent", end->others_percent);
	fprintf(file, ",\n  \"complete\": %s", end->complete ? "true" : "false");
	fprintf(file, ",\n  \"budget\": %s\n}\n", end->budget ? end->budget : "[]");
	end_file(file, beside, path);
}

/* Fields are separated by tabs; no name has one. */
static void write_figures(const char *path)
{
	char beside[PATH_SIZE + 8];
	FILE *file = begin(path, beside, sizeof(beside));
	const struct figure *figure;

	fputs("#group\tcontender\tmetric\tx\tmedian\tmin\tq1\tq3\tmax\truns\n", file);
	for (size_t i = 0; (figure = figures_at(i)); i++) {
		fprintf(file, "%s\t%s\t%s\t", figure->group, figure->contender, figure->metric);
		if (figure->axis)
			fprintf(file, "%.10g", figure->x);
		fprintf(file, "\t%.8g\t%.8g\t%.8g\t%.8g\t%.8g\t%u\n", figure->summary.median,
		        figure->summary.least, figure->summary.lower, figure->summary.upper,
		        figure->summary.most, figure->runs);
	}
	end_file(file, beside, path);
}

static void write_machine(const char *path, const struct machine *machine,
                          const struct record_end *end)
{
	char beside[PATH_SIZE + 8];
	FILE *file = begin(path, beside, sizeof(beside));

	fprintf(file, "%s, %u CPUs, %s; commit %s, %.10s%s%s\n", machine->cpu, machine->cpus,
	        machine->kernel, machine->commit, machine->date,
	        bench_options.quick ? ", short samples" : "",
	        end->complete ? "" : ", not complete");
	end_file(file, beside, path);
}

void record_write(const struct machine *machine, const struct record_end *end)
{
	char path[PATH_SIZE];

	if (bench_options.json)
		write_json(bench_options.json, machine, end);
	if (!bench_options.data)
		return;
	if (mkdir(bench_options.data, 0777) && errno != EEXIST) {
		perror(bench_options.data);
		exit(2);
	}
	(void)snprintf(path, sizeof(path), "%s/figures.tsv", bench_options.data);
	write_figures(path);
	(void)snprintf(path, sizeof(path), "%s/machine.txt", bench_options.data);
	write_machine(path, machine, end);
}
