/* SPDX-License-Identifier: MIT */
/* Where a function is. See function_place.h. */
#include "inspect/function_place.h"

#include <inttypes.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Which file a function belongs to, and its address there, as addr2line wants it. */
struct place {
	uintptr_t function;
	uintptr_t inside;
	char name[96]; /* of the file; empty: the program itself */
	bool found;
};

/* Called for each file that is loaded; 1: the search ends. */
static int look_inside(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct place *place = arg;
	const char *slash = strrchr(info->dlpi_name, '/');

	(void)size;
	place->inside = place->function - info->dlpi_addr;
	for (size_t i = 0; i < info->dlpi_phnum && !place->found; i++)
		place->found =
			info->dlpi_phdr[i].p_type == PT_LOAD &&
			place->inside - info->dlpi_phdr[i].p_vaddr < info->dlpi_phdr[i].p_memsz;
	(void)snprintf(place->name, sizeof(place->name), "%s", slash ? slash + 1 : info->dlpi_name);
	return place->found;
}

const char *baton__place_text(char text[BATON__PLACE_TEXT], const char *program, uintptr_t function)
{
	struct place place = {.function = function};
	const char *slash = strrchr(program, '/');
	const char *own = slash ? slash + 1 : program;

	(void)dl_iterate_phdr(look_inside, &place);
	if (place.found)
		(void)snprintf(text, BATON__PLACE_TEXT, "%.95s+%#" PRIxPTR,
		               place.name[0] ? place.name : own, place.inside);
	else
		(void)snprintf(text, BATON__PLACE_TEXT, "%#" PRIxPTR, function);
	return text;
}
