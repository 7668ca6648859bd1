/* SPDX-License-Identifier: MIT */
/*
 * Counts which objects the code under test touches. Each object has a page of its own. All pages
 * are unreadable until an access to one of them faults: the fault is counted, and the page can be
 * used until the next touched_hide(). So touched_total() is the sum, over all operations, of the
 * objects that the operation has touched: a number that depends on no clock and no machine.
 *
 * One set of objects at a time, and one thread. No system call may get the address of an object.
 */
#ifndef BATON_TEST_UNIT_TOUCHED_H
#define BATON_TEST_UNIT_TOUCHED_H

#include "support.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

static struct {
	char *pages;
	size_t page_size;
	size_t count;
	size_t *seen; /* the objects that can be used */
	size_t seen_count;
	size_t total;
	struct sigaction old;
} touched;

static inline void *touched_at(size_t index)
{
	return touched.pages + index * touched.page_size;
}

static inline void touched_fault(int number, siginfo_t *info, void *context)
{
	size_t index = (size_t)((char *)info->si_addr - touched.pages) / touched.page_size;

	if ((char *)info->si_addr < touched.pages || index >= touched.count ||
	    mprotect(touched_at(index), touched.page_size, PROT_READ | PROT_WRITE) != 0) {
		(void)sigaction(number, &touched.old, NULL); /* the access is repeated, and fatal */
		return;
	}
	touched.seen[touched.seen_count++] = index;
	touched.total++;
}

/* An operation begins: what the operations before it have touched counts again. */
static inline void touched_hide(void)
{
	while (touched.seen_count)
		MUST(mprotect(touched_at(touched.seen[--touched.seen_count]), touched.page_size,
		              PROT_NONE) == 0);
}

/* `count` objects of `size` zeroed bytes, which can be used until touched_begin(). */
static inline void touched_create(size_t count, size_t size)
{
	touched.page_size = (size_t)sysconf(_SC_PAGESIZE);
	touched.count = count;
	touched.seen_count = touched.total = 0;
	MUST(size <= touched.page_size);
	touched.seen = calloc(count, sizeof(*touched.seen));
	MUST(touched.seen);
	touched.pages = mmap(NULL, count * touched.page_size, PROT_READ | PROT_WRITE,
	                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	MUST(touched.pages != MAP_FAILED);
}

static inline void touched_begin(void)
{
	struct sigaction action = {.sa_sigaction = touched_fault, .sa_flags = SA_SIGINFO};

	MUST(sigaction(SIGSEGV, &action, &touched.old) == 0);
	MUST(mprotect(touched.pages, touched.count * touched.page_size, PROT_NONE) == 0);
}

/* The end of the count: all objects can be used. */
static inline size_t touched_end(void)
{
	MUST(mprotect(touched.pages, touched.count * touched.page_size, PROT_READ | PROT_WRITE) ==
	     0);
	MUST(sigaction(SIGSEGV, &touched.old, NULL) == 0);
	return touched.total;
}

static inline void touched_destroy(void)
{
	MUST(munmap(touched.pages, touched.count * touched.page_size) == 0);
	free(touched.seen);
}

#endif
