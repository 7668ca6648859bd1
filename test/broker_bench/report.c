/* SPDX-License-Identifier: MIT */
/* What came of a run; see report.h. */
#include "report.h"

#include <stdio.h>

#include "load.h"

struct figures {
	double seconds, sent_rate, delivered_rate;
	double p50_us, p99_us, p999_us, most_us, late_us;
	double cpu_us, cpu_percent, own_percent; /* negative: not known */
	double connection_bytes, connection_rate;
	uint64_t lost;
	int status;
};

static double per(double amount, double count)
{
	return count > 0 ? amount / count : 0;
}

static void compute(const struct load *load, struct figures *figures)
{
	const struct load_snapshot *begin = &load->begin, *end = &load->end;
	const double delivered = (double)(end->counts.delivered - begin->counts.delivered);
	const double seconds = (double)(end->at_ns - begin->at_ns) / 1e9;
	const double cpu = end->broker_cpu - begin->broker_cpu;
	const bool whole = load->phase >= LOAD_DRAIN;

	*figures = (struct figures){.cpu_us = -1, .cpu_percent = -1, .own_percent = -1};
	figures->lost = load_lost(load);
	figures->connection_rate = per(load->client_count, load->connect_seconds);
	if (load->rss_connected > 0 && load->rss_start > 0)
		figures->connection_bytes =
			per((double)(load->rss_connected - load->rss_start), load->client_count);
	figures->status = (int)load->status;
	if (load->status == LOAD_GOOD && (figures->lost > 0 || load->counts.duplicates > 0 ||
	                                  load->counts.disordered > 0 || load->counts.corrupt > 0))
		figures->status = LOAD_VIOLATIONS;
	if (!whole)
		return;
	figures->seconds = seconds;
	figures->sent_rate = per((double)(end->counts.sent - begin->counts.sent), seconds);
	figures->delivered_rate = per(delivered, seconds);
	figures->p50_us = latency_quantile(&load->latency, 0.5) / 1e3;
	figures->p99_us = latency_quantile(&load->latency, 0.99) / 1e3;
	figures->p999_us = latency_quantile(&load->latency, 0.999) / 1e3;
	figures->most_us = (double)load->latency.most / 1e3;
	figures->late_us = latency_quantile(&load->late, 0.99) / 1e3;
	figures->own_percent = per(end->own_cpu - begin->own_cpu, seconds) * 100;
	if (begin->broker_cpu < 0 || end->broker_cpu < 0)
		return;
	figures->cpu_percent = per(cpu, seconds) * 100;
	figures->cpu_us = delivered > 0 ? cpu * 1e6 / delivered : -1;
}

static void print_text(const struct load *load, const struct figures *figures)
{
	const struct load_counts *counts = &load->counts;

	printf("%u publishers, %u subscribers, %u idle, %u topics, QoS %u to %u, %u bytes, ",
	       load->options.publishers, load->options.subscribers, load->options.idle,
	       load->options.topics, load->options.publish_qos, load->options.subscribe_qos,
	       load->options.payload);
	if (load->options.rate > 0)
		printf("%u messages/s\n", load->options.rate);
	else
		printf("flat out, window %u\n", load->options.window);
	printf("connections   %u, %.0f/s\n", load->ready_count, figures->connection_rate);
	if (load->rss_start > 0)
		printf("memory        %ld KiB before, %ld KiB with them, %.0f bytes each\n",
		       load->rss_start / 1024, load->rss_connected / 1024,
		       figures->connection_bytes);
	printf("published     %.0f/s\n", figures->sent_rate);
	printf("delivered     %.0f/s in %.2f s\n", figures->delivered_rate, figures->seconds);
	printf("latency       p50 %.1f, p99 %.1f, p99.9 %.1f, at most %.1f us\n", figures->p50_us,
	       figures->p99_us, figures->p999_us, figures->most_us);
	if (load->options.rate > 0)
		printf("late          p99 %.1f us: how late the generator itself was\n",
		       figures->late_us);
	if (figures->cpu_percent >= 0)
		printf("broker's CPU  %.1f %%, %.2f us per delivery\n", figures->cpu_percent,
		       figures->cpu_us > 0 ? figures->cpu_us : 0);
	printf("own CPU       %.1f %%\n", figures->own_percent > 0 ? figures->own_percent : 0);
	printf("lost %llu, duplicates %llu, out of order %llu, altered %llu of %llu\n",
	       (unsigned long long)figures->lost, (unsigned long long)counts->duplicates,
	       (unsigned long long)counts->disordered, (unsigned long long)counts->corrupt,
	       (unsigned long long)counts->expected);
}

static void print_string(const char *name, const char *text)
{
	printf("\"%s\": \"", name);
	for (; *text != '\0'; text++) {
		if (*text == '"' || *text == '\\')
			putchar('\\');
		putchar((unsigned char)*text < ' ' ? ' ' : *text);
	}
	printf("\", ");
}

static void print_known(const char *name, double value)
{
	if (value >= 0)
		printf("\"%s\": %.3f, ", name, value);
}

static void print_json(const struct load *load, const struct figures *figures)
{
	const struct options *options = &load->options;
	const struct load_counts *counts = &load->counts;

	printf("{");
	print_string("label", options->label);
	printf("\"status\": %d, ", figures->status);
	print_string("failure", load->failure);
	printf("\"publishers\": %u, \"subscribers\": %u, \"topics\": %u, \"idle\": %u, ",
	       options->publishers, options->subscribers, options->topics, options->idle);
	printf("\"publish_qos\": %u, \"subscribe_qos\": %u, \"payload\": %u, \"rate\": %u, ",
	       options->publish_qos, options->subscribe_qos, options->payload, options->rate);
	printf("\"window\": %u, \"connections\": %u, \"connections_per_s\": %.0f, ",
	       options->window, load->ready_count, figures->connection_rate);
	printf("\"rss_start\": %ld, \"rss_connected\": %ld, \"bytes_per_connection\": %.0f, ",
	       load->rss_start, load->rss_connected, figures->connection_bytes);
	printf("\"seconds\": %.3f, \"sent_per_s\": %.1f, \"delivered_per_s\": %.1f, ",
	       figures->seconds, figures->sent_rate, figures->delivered_rate);
	printf("\"p50_us\": %.2f, \"p99_us\": %.2f, \"p999_us\": %.2f, \"max_us\": %.2f, ",
	       figures->p50_us, figures->p99_us, figures->p999_us, figures->most_us);
	if (options->rate > 0)
		printf("\"late_p99_us\": %.2f, ", figures->late_us);
	print_known("cpu_us_per_delivery", figures->cpu_us);
	print_known("cpu_percent", figures->cpu_percent);
	print_known("load_cpu_percent", figures->own_percent);
	printf("\"expected\": %llu, \"lost\": %llu, \"duplicates\": %llu, \"disordered\": %llu, "
	       "\"corrupt\": %llu}\n",
	       (unsigned long long)counts->expected, (unsigned long long)figures->lost,
	       (unsigned long long)counts->duplicates, (unsigned long long)counts->disordered,
	       (unsigned long long)counts->corrupt);
}

int report(const struct load *load)
{
	struct figures figures;

	compute(load, &figures);
	if (load->options.json)
		print_json(load, &figures);
	else if (load->phase > LOAD_SETTLE)
		print_text(load, &figures);
	if (load->status != LOAD_GOOD)
		fprintf(stderr, "load: %s\n", load->failure);
	return figures.status;
}
