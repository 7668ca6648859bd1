/* SPDX-License-Identifier: MIT */
/*
 * A retained message is looked up: which of the topic filters of all subscriptions match its topic?
 * The filters are compared in parallel; one that is malformed stops the search.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include <baton/parallel.h>

#define FILTERS 20000

struct search {
	const char *topic;
	char filters[FILTERS][24];
	atomic_size_t matches;
};

static int match(void *arg, size_t begin, size_t end)
{
	struct search *search = arg;
	size_t found = 0;

	for (size_t i = begin; i < end; i++) {
		const char *filter = search->filters[i];
		const char *wildcard = strchr(filter, '#');

		if (wildcard && wildcard[1])
			return -EINVAL; /* malformed: ends the loop */
		if (wildcard)
			found += strncmp(filter, search->topic, (size_t)(wildcard - filter)) == 0;
		else
			found += strcmp(filter, search->topic) == 0;
	}
	atomic_fetch_add(&search->matches, found); /* once a chunk: chunks run at the same time */
	return 0;
}

static struct search search = {.topic = "home/42/temperature"};

int main(void)
{
	size_t found;
	int good;
	int bad;

	for (int i = 0; i < FILTERS; i++)
		snprintf(search.filters[i], sizeof(search.filters[i]), "home/%d/#", i % 1000);
	good = baton_parallel_for(NULL, FILTERS, 0, match, &search);
	found = atomic_load(&search.matches);
	strcpy(search.filters[FILTERS / 2], "home/#/temperature");
	bad = baton_parallel_for(NULL, FILTERS, 0, match, &search);

	printf("parallel: %zu of %d filters match; with a malformed one: %d\n", found, FILTERS,
	       bad);
	return good != 0 || bad != -EINVAL || found != 20;
}
