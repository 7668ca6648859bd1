/* SPDX-License-Identifier: MIT */
/*
 * Watched descriptors. Entries are level-triggered: a source that leaves data unread is ready again
 * in the next round.
 */
#include "companion/mainloop/descriptor.h"
#include "companion/mainloop/places.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

/* In an entry of the kernel, this number stands for the loop's eventfd. */
#define SIGNAL (-1)
#define EVENTS_MAX 64
#define RECORDS_MIN 64
/* The descriptor of a record that stands for closed descriptors: the kernel refuses it. */
#define CLOSED (-1)

static unsigned source_side(const struct baton_source *source)
{
	return source->_config->kind == BATON_SOURCE_WRITABLE;
}

static struct baton_source_fd *fd_source(struct baton_source *source)
{
	return baton_container_of(source, struct baton_source_fd, source);
}

int baton__descriptors_init(struct baton__mainloop *loop)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = SIGNAL};
	int error = 0;

	loop->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (loop->epoll < 0)
		return -errno;
	if (epoll_ctl(loop->epoll, EPOLL_CTL_ADD, baton_loop_fd(loop->executor), &event)) {
		error = -errno;
		(void)close(loop->epoll);
	}
	return error;
}

void baton__descriptors_deinit(struct baton__mainloop *loop)
{
	(void)close(loop->epoll);
	for (size_t i = 0; i < loop->descriptor_count; i++)
		free(loop->descriptors[i]);
	free(loop->descriptors);
}

/* ---- Records ---- */

/* The place of a descriptor's record in the table. The first place is that of CLOSED. */
static size_t descriptor_place(int fd)
{
	return (size_t)fd - (size_t)CLOSED;
}

/* Makes room in the table for this place. */
static bool grow_table(struct baton__mainloop *loop, size_t place)
{
	size_t count = loop->descriptor_count ? loop->descriptor_count : RECORDS_MIN;
	struct baton__descriptor **grown;

	if (place < loop->descriptor_count)
		return true;
	/* Bounded: doubles. */
	while (count <= place)
		count *= 2;
	grown = calloc(count, sizeof(struct baton__descriptor *));
	if (!grown)
		return false;
	for (size_t i = 0; i < loop->descriptor_count; i++)
		grown[i] = loop->descriptors[i];
	free(loop->descriptors);
	loop->descriptors = grown;
	loop->descriptor_count = count;
	return true;
}

/* Has the number neither a record nor a file? The table does not grow for such a number. */
static bool is_closed(const struct baton__mainloop *loop, int fd)
{
	const size_t place = descriptor_place(fd);

	if (place < loop->descriptor_count && loop->descriptors[place])
		return false;
	return fcntl(fd, F_GETFD) < 0;
}

/* The record of a number, or of CLOSED; NULL: there is no memory. A record stays until the loop's
 * end. */
static struct baton__descriptor *descriptor_record(struct baton__mainloop *loop, int number)
{
	const int fd = is_closed(loop, number) ? CLOSED : number;
	const size_t place = descriptor_place(fd);
	struct baton__descriptor *record;

	if (!grow_table(loop, place))
		return NULL;
	record = loop->descriptors[place];
	if (record)
		return record;
	record = calloc(1, sizeof(*record));
	if (!record)
		return NULL;
	record->fd = fd;
	record->watching._next = record->watching._prev = &record->watching;
	loop->descriptors[place] = record;
	return record;
}

static void changed(struct baton__mainloop *loop, struct baton__descriptor *record)
{
	if (record->changed)
		return;
	record->changed = true;
	record->next_changed = loop->changed;
	loop->changed = record;
}

struct baton__descriptor *baton__descriptor_watch(struct baton__mainloop *loop,
                                                  struct baton_source *source)
{
	struct baton_source_fd *watch = fd_source(source);
	struct baton__descriptor *record = descriptor_record(loop, watch->fd);

	if (!record)
		return NULL;
	watch->_fd = record->fd;
	source->_watched = true;
	record->wanted[source_side(source)]++;
	record->again += source->_config->again;
	loop->watched++;
	changed(loop, record);
	return record;
}

void baton__descriptor_leave(struct baton__mainloop *loop, struct baton_source *source)
{
	struct baton__descriptor *record =
		loop->descriptors[descriptor_place(fd_source(source)->_fd)];

	source->_watched = false;
	record->wanted[source_side(source)]--;
	record->again -= source->_config->again;
	loop->watched--;
	changed(loop, record);
}

bool baton__descriptor_same(const struct baton_source *source)
{
	const struct baton_source_fd *watch =
		baton_container_of(source, struct baton_source_fd, source);

	return watch->_fd == watch->fd;
}

void baton__descriptor_verify(struct baton__mainloop *loop, const struct baton_source *source)
{
	const struct baton_source_fd *watch =
		baton_container_of(source, struct baton_source_fd, source);
	struct baton__descriptor *record = loop->descriptors[descriptor_place(watch->_fd)];

	record->verify = true;
	changed(loop, record);
}

/* ---- The kernel ---- */

static int control_epoll(const struct baton__mainloop *loop, const struct baton__descriptor *record,
                         uint32_t events)
{
	struct epoll_event event = {.events = events, .data.fd = record->fd};
	const bool entered = record->armed || record->disabled;
	const int first = !events ? EPOLL_CTL_DEL : entered ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
	int result;

	/* A fork's child shares the instance with its parent; the entries are the parent's. */
	if (baton__mainloop_forked())
		return 0;
	result = epoll_ctl(loop->epoll, first, record->fd, &event);
	/* The kernel removes the entry of a descriptor that is closed. So a DEL may fail, and a new
	 * file with this number needs an ADD where a MOD fails. */
	if (!result || !events)
		return 0;
	if (first == EPOLL_CTL_MOD && errno == ENOENT)
		result = epoll_ctl(loop->epoll, EPOLL_CTL_ADD, record->fd, &event);
	return result ? -errno : 0;
}

static void tell_kernel(struct baton__mainloop *loop, struct baton__descriptor *record)
{
	uint32_t events = (record->wanted[0] ? EPOLLIN : 0U) | (record->wanted[1] ? EPOLLOUT : 0U);
	int error;

	if (events && !record->again)
		events |= EPOLLONESHOT;
	if (events == record->armed && !(record->verify && events))
		return;
	error = control_epoll(loop, record, events);
	record->verify = false;
	record->disabled = error && record->disabled;
	record->armed = error ? 0 : events;
	/* Ends: each source leaves the list. */
	while (error && !baton__links_empty(&record->watching)) {
		struct baton_source *source = baton__source_of(record->watching._next);

		/* Without memory the source tries again later. Otherwise the descriptor is closed,
		 * or a regular file: it is ready, as for poll(). */
		if (error == -ENOMEM || error == -ENOSPC)
			baton__places_retry(loop, source);
		else
			baton__places_ready(loop, source);
	}
}

void baton__descriptor_left(struct baton__mainloop *loop, struct baton_source *source)
{
	const enum baton_source_kind kind = source->_config->kind;
	size_t place;

	if (kind != BATON_SOURCE_READABLE && kind != BATON_SOURCE_WRITABLE)
		return;
	place = descriptor_place(fd_source(source)->_fd);
	/* A record in `changed` stays there: to tell the kernel twice costs nothing. */
	if (place < loop->descriptor_count && loop->descriptors[place])
		tell_kernel(loop, loop->descriptors[place]);
}

void baton__descriptors_tell(struct baton__mainloop *loop)
{
	/* Ends: a descriptor comes back at most once, with no source left in `watching`. */
	while (loop->changed) {
		struct baton__descriptor *record = loop->changed;

		loop->changed = record->next_changed;
		record->changed = false;
		tell_kernel(loop, record);
	}
}

static void descriptor_event(struct baton__mainloop *loop, const struct epoll_event *event)
{
	struct baton__descriptor *record = loop->descriptors[descriptor_place(event->data.fd)];
	const bool both = event->events & (EPOLLHUP | EPOLLERR);
	const bool ready[2] = {both || event->events & EPOLLIN, both || event->events & EPOLLOUT};
	struct baton_source_link *next;

	/* Bounded by the sources of the descriptor. */
	for (struct baton_source_link *link = record->watching._next; link != &record->watching;
	     link = next) {
		next = link->_next;
		if (ready[source_side(baton__source_of(link))])
			baton__places_ready(loop, baton__source_of(link));
	}
	if (!(record->armed & EPOLLONESHOT))
		return;
	record->armed = 0;
	record->disabled = true;
	if (!baton__links_empty(&record->watching))
		changed(loop, record); /* a source of the other side still waits */
}

void baton__descriptors_poll(struct baton__mainloop *loop)
{
	struct epoll_event events[EVENTS_MAX];
	/* As many calls as the watched descriptors, and the eventfd, may need. */
	size_t calls = loop->watched / EVENTS_MAX + 1;
	int count;

	/* The child of a fork would take an event from its parent (descriptor.once). */
	if (!loop->watched || baton__mainloop_forked())
		return;
	baton__descriptors_tell(loop);
	loop->polled = loop->now;
	/* Takes all that are ready: the last one may be the most important. The kernel rotates its
	 * list: descriptors beyond EVENTS_MAX are the first of the next call. */
	do {
		count = epoll_wait(loop->epoll, events, EVENTS_MAX, 0);
		for (int i = 0; i < count; i++)
			if (events[i].data.fd != SIGNAL)
				descriptor_event(loop, &events[i]);
	} while (--calls && count == EVENTS_MAX);
}

struct baton_source *baton__descriptors_any(struct baton__mainloop *loop)
{
	/* Bounded by the table; each record is left behind once. */
	for (; loop->descriptor_end < loop->descriptor_count; loop->descriptor_end++) {
		struct baton__descriptor *record = loop->descriptors[loop->descriptor_end];

		if (record && !baton__links_empty(&record->watching))
			return baton__source_of(record->watching._next);
	}
	return NULL;
}
