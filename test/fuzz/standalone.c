/* SPDX-License-Identifier: MIT */
/*
 * Runs a fuzz target without libFuzzer: each file of a corpus, then mutations of them, always the
 * same ones for the same seed. Each file and each round of mutations is a test of its own, in a
 * child process; what a child was at when it failed goes to a file.
 *
 *	corpus_NAME [DIRECTORY...]	from the top; without a directory: test/fuzz/corpus/NAME
 *
 * FUZZ_ROUNDS: rounds of FUZZ_ROUND_INPUTS mutations, 10; FUZZ_SEED; FUZZ_FAILED: the file for an
 * input that fails, build/fuzz/failed.
 */
#include "fuzz.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define FUZZ_ROUND_INPUTS 1000
#define TEXT_MAX 512
#define INPUT_MAX 65536
#define FILES_MAX 1024
#define CHILD_SECONDS 60

struct input {
	size_t size;
	uint8_t bytes[INPUT_MAX];
};

struct file {
	char path[TEXT_MAX];
	struct input *input;
};

static struct file files[FILES_MAX];
static size_t file_count;
static struct input *current; /* shared with the child */

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct file *)a)->path, ((const struct file *)b)->path);
}

static void file_read(struct file *file)
{
	FILE *stream = fopen(file->path, "rb");

	file->input = malloc(sizeof(*file->input));
	FUZZ_CHECK(stream != NULL && file->input != NULL);
	file->input->size = fread(file->input->bytes, 1, INPUT_MAX, stream);
	FUZZ_CHECK(!ferror(stream) && fclose(stream) == 0);
}

static void corpus_read(const char *directory)
{
	DIR *entries = opendir(directory);
	const struct dirent *entry;

	if (entries == NULL) {
		fprintf(stderr, "%s: %s\n", directory, strerror(errno));
		exit(EXIT_FAILURE);
	}
	while ((entry = readdir(entries)) != NULL) {
		struct file *file = &files[file_count];

		if (entry->d_name[0] == '.')
			continue;
		FUZZ_CHECK(file_count < FILES_MAX);
		FUZZ_CHECK(snprintf(file->path, TEXT_MAX, "%s/%s", directory, entry->d_name) <
		           TEXT_MAX);
		file_read(file);
		file_count++;
	}
	closedir(entries);
	qsort(files, file_count, sizeof(files[0]), by_path);
}

/* Takes the bytes at `at` away and puts others there, as far as there is room. */
static void splice(struct input *input, size_t at, size_t taken, const uint8_t *bytes, size_t size)
{
	const size_t behind = input->size - at - taken;

	if (at + size + behind > INPUT_MAX)
		return;
	memmove(input->bytes + at + size, input->bytes + at + taken, behind);
	if (size > 0)
		memmove(input->bytes + at, bytes, size);
	input->size = at + size + behind;
}

static void mutate(struct input *input, uint64_t *random)
{
	static const uint8_t edges[] = {0, 1, 2, 0x7e, 0x7f, 0x80, 0x81, 0xfe, 0xff};
	const struct input *other = files[fuzz_random(random, (uint32_t)file_count)].input;
	const size_t at = fuzz_random(random, (uint32_t)input->size + 1);
	const size_t left = input->size - at, from = fuzz_random(random, (uint32_t)other->size + 1);
	const size_t size = fuzz_random(random, (uint32_t)(other->size - from) + 1);
	const uint8_t byte = (uint8_t)fuzz_random(random, 256);
	const uint8_t edge = edges[fuzz_random(random, sizeof(edges))];

	switch (fuzz_random(random, 8)) {
	case 0:
		splice(input, at, 0, &byte, 1);
		break;
	case 1:
		splice(input, at, fuzz_random(random, (uint32_t)left + 1), NULL, 0);
		break;
	case 2:
		splice(input, at, 0, other->bytes + from, size);
		break;
	case 3:
		splice(input, at, left < size ? left : size, other->bytes + from, size);
		break;
	case 4:
		splice(input, at, left > 0 ? 1 : 0, &byte, 1);
		break;
	case 5:
		splice(input, at, left > 0 ? 1 : 0, &edge, 1);
		break;
	default:
		if (left > 0)
			input->bytes[at] ^= (uint8_t)(1U << (byte % 8));
		break;
	}
}

static void run_current(void)
{
	uint8_t *exact = malloc(current->size > 0 ? current->size : 1);

	FUZZ_CHECK(exact != NULL);
	memcpy(exact, current->bytes, current->size);
	LLVMFuzzerTestOneInput(exact, current->size);
	free(exact);
}

static void run_round(uint64_t seed)
{
	uint64_t random = seed * 0x9E3779B97F4A7C15U | 1;

	for (int i = 0; i < FUZZ_ROUND_INPUTS; i++) {
		*current = *files[fuzz_random(&random, (uint32_t)file_count)].input;
		for (uint32_t j = 1 + fuzz_random(&random, 6); j > 0; j--)
			mutate(current, &random);
		run_current();
	}
}

static void keep_current(const char *what)
{
	const char *path = getenv("FUZZ_FAILED");
	FILE *stream;

	fprintf(stderr, "[FAIL] %s\n", what);
	path = path ? path : "build/fuzz/failed";
	stream = fopen(path, "wb");
	if (stream == NULL)
		return;
	if (fwrite(current->bytes, 1, current->size, stream) == current->size)
		fprintf(stderr, "The input is in %s\n", path);
	fclose(stream);
}

/* In a child; `file` or, if that is NULL, a round of mutations. */
static bool run(const char *what, const struct file *file, uint64_t seed)
{
	pid_t child;
	int status;

	fflush(NULL);
	child = fork();
	FUZZ_CHECK(child >= 0);
	if (child == 0) {
		alarm(CHILD_SECONDS);
		if (file == NULL) {
			run_round(seed);
		} else {
			*current = *file->input;
			run_current();
		}
		exit(EXIT_SUCCESS); /* and so through the check for leaks */
	}
	while (waitpid(child, &status, 0) < 0) /* ends with the child, its alarm at the latest */
		FUZZ_CHECK(errno == EINTR);
	if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS)
		return true;
	keep_current(what);
	return false;
}

static uint64_t setting(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text && *text ? strtoull(text, NULL, 0) : otherwise;
}

static void corpora_read(int argument_count, char **arguments)
{
	const char *name = strrchr(arguments[0], '_');
	char directory[TEXT_MAX];

	for (int i = 1; i < argument_count; i++)
		corpus_read(arguments[i]);
	if (argument_count > 1 || name == NULL)
		return;
	snprintf(directory, sizeof(directory), "test/fuzz/corpus/%s", name + 1);
	corpus_read(directory);
}

int main(int argument_count, char **arguments)
{
	const uint64_t rounds = setting("FUZZ_ROUNDS", 10), seed = setting("FUZZ_SEED", 1);
	unsigned int passed = 0, failed = 0;
	char what[TEXT_MAX];

	current = mmap(NULL, sizeof(*current), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
	               -1, 0);
	FUZZ_CHECK(current != MAP_FAILED);
	corpora_read(argument_count, arguments);
	for (size_t i = 0; i < file_count; i++)
		*(run(files[i].path, &files[i], 0) ? &passed : &failed) += 1;
	for (uint64_t i = 0; i < rounds && file_count > 0; i++) {
		snprintf(what, sizeof(what), "mutations, FUZZ_SEED=%llu FUZZ_ROUNDS=1",
		         (unsigned long long)(seed + i));
		*(run(what, NULL, seed + i) ? &passed : &failed) += 1;
	}
	for (size_t i = 0; i < file_count; i++)
		free(files[i].input);
	fprintf(stderr, "[====] Synthesis: Tested: %u | Passing: %u | Failing: %u | Crashing: 0 \n",
	        passed + failed, passed, failed);
	return failed > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
