/* SPDX-License-Identifier: MIT */
/* A disk that fails; see disk.h. */
#include "disk.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "store_file.h"
#include "story.h"

#define LIBRARY "build/broker/disk.so"
#define SECTOR 512
#define FILES 3

static struct disk_plan *plan;

static const char *beside(const char *end)
{
	static char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s%s", store_path(), end);
	return path;
}

struct disk_plan *disk_use(void)
{
	char folder[PATH_MAX / 2], library[PATH_MAX];
	int fd;

	if (getenv("E2E_SCALE") != NULL)
		story_skip("the library between broker and disk is not for sanitizers");
	if (getcwd(folder, sizeof(folder)) == NULL)
		story_fail("getcwd: %s", strerror(errno));
	(void)store_path();
	fd = open(beside(".plan"), O_RDWR | O_CREAT | O_TRUNC, 0666);
	if (fd < 0 || ftruncate(fd, sizeof(*plan)) != 0)
		story_fail("%s: %s", beside(".plan"), strerror(errno));
	plan = mmap(NULL, sizeof(*plan), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (plan == MAP_FAILED)
		story_fail("mmap: %s", strerror(errno));
	snprintf(plan->file, sizeof(plan->file), "%s/%s", folder, store_path());
	snprintf(library, sizeof(library), "%s/" LIBRARY, folder);
	setenv("DISK_PLAN", beside(".plan"), 1);
	setenv("LD_PRELOAD", library, 1);
	return plan;
}

void disk_at(uint64_t call, enum disk_action action)
{
	plan->action = action;
	__atomic_store_n(&plan->at,
	                 call > 0 ? __atomic_load_n(&plan->calls, __ATOMIC_RELAXED) + call : 0,
	                 __ATOMIC_RELAXED);
}

bool disk_struck(void)
{
	return plan->at <= __atomic_load_n(&plan->calls, __ATOMIC_RELAXED);
}

void disk_always(enum disk_action action)
{
	__atomic_store_n(&plan->always, action, __ATOMIC_RELAXED);
}

/* ---- Power loss ---- */

struct image {
	const char *end; /* of the file's name */
	unsigned char *bytes;
	size_t size;
	bool exists;
};

static struct image images[FILES] = {
	{"", NULL, 0, false}, {"-wal", NULL, 0, false}, {"-journal", NULL, 0, false}};

static unsigned char *file_read(const char *path, size_t *size)
{
	FILE *file = fopen(path, "r");
	unsigned char *bytes = NULL;
	long end;

	*size = 0;
	if (file == NULL)
		return NULL;
	(void)fseek(file, 0, SEEK_END);
	end = ftell(file);
	rewind(file);
	bytes = calloc(1, (size_t)end + 1);
	*size = fread(bytes, 1, (size_t)end, file);
	(void)fclose(file);
	return bytes;
}

void disk_watch(void)
{
	for (int i = 0; i < FILES; i++) {
		free(images[i].bytes);
		images[i].bytes = file_read(beside(images[i].end), &images[i].size);
		images[i].exists = images[i].bytes != NULL;
	}
	(void)unlink(beside(".trace"));
	snprintf(plan->trace, sizeof(plan->trace), "%s", beside(".trace"));
}

static void image_write(struct image *image, const void *bytes, size_t size, uint64_t offset)
{
	if (offset + size > image->size) {
		image->bytes = realloc(image->bytes, offset + size);
		memset(image->bytes + image->size, 0, offset + size - image->size);
		image->size = offset + size;
	}
	memcpy(image->bytes + offset, bytes, size);
	image->exists = true;
}

/* Some of the sectors of a write. */
static void image_tear(struct image *image, const unsigned char *bytes,
                       const struct disk_record *record, unsigned int *seed)
{
	for (size_t at = 0; at < record->size; at += SECTOR) {
		const size_t rest = record->size - at;

		if (rand_r(seed) % 2 == 0)
			image_write(image, bytes + at, rest < SECTOR ? rest : SECTOR,
			            record->offset + at);
	}
}

static void image_apply(struct image *image, const struct disk_record *record, bool synced,
                        unsigned int *seed)
{
	const int luck = synced ? 0 : rand_r(seed) % 3;
	const unsigned char *bytes = (const unsigned char *)(record + 1);

	if (record->kind == DISK_UNLINK) { /* SQLite syncs the folder */
		image->exists = false;
		image->size = 0;
	} else if (record->kind == DISK_TRUNCATE && luck == 0) {
		if (record->offset < image->size)
			image->size = record->offset;
	} else if (record->kind == DISK_WRITE && luck == 0) {
		image_write(image, bytes, record->size, record->offset);
	} else if (record->kind == DISK_WRITE && luck == 1) {
		image_tear(image, bytes, record, seed);
	}
}

/* What is in the trace for one file, up to the last sync and behind it. */
static void image_make(struct image *image, const unsigned char *trace, size_t size,
                       unsigned int *seed)
{
	const struct disk_record *record;
	size_t synced = 0;

	for (size_t at = 0; at < size; at += sizeof(*record) + record->size) {
		record = (const struct disk_record *)(const void *)(trace + at);
		if (strcmp(record->end, image->end) == 0 && record->kind == DISK_SYNC)
			synced = at;
	}
	for (size_t at = 0; at < size; at += sizeof(*record) + record->size) {
		record = (const struct disk_record *)(const void *)(trace + at);
		if (strcmp(record->end, image->end) == 0)
			image_apply(image, record, at < synced, seed);
	}
}

static void image_save(const struct image *image)
{
	const char *path = beside(image->end);
	FILE *file;

	(void)unlink(path);
	if (!image->exists)
		return;
	file = fopen(path, "w");
	if (file == NULL || fwrite(image->bytes, 1, image->size, file) != image->size ||
	    fclose(file) != 0)
		story_fail("%s: %s", path, strerror(errno));
}

void disk_lose(uint64_t seed)
{
	unsigned int random = (unsigned int)seed;
	size_t size;
	unsigned char *trace = file_read(beside(".trace"), &size);

	for (int i = 0; i < FILES; i++) {
		image_make(&images[i], trace, size, &random);
		image_save(&images[i]);
	}
	free(trace);
	plan->trace[0] = '\0';
}
