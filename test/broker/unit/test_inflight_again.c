/* SPDX-License-Identifier: MIT */
/*
 * The example broker's messages on their way to a client (examples/broker/inflight.h): in which
 * order they are said again, which of them as duplicates, and that each is given back once.
 */
#include "flights.h"

/* Are they sorted as these packet ids, up to 0? */
static bool sorted_as(const struct inflight *inflight, const unsigned *ids)
{
	struct inflight_entry **sorted = inflight_sorted(inflight);
	size_t count = 0;
	bool same = true;

	for (; same && ids[count] != 0; count++)
		same = count < inflight->count && sorted[count]->packet_id == ids[count] &&
		       sorted[count] == inflight_find(inflight, (uint16_t)ids[count]);
	free(sorted);
	return same && count == inflight->count;
}

#define SORTED_AS(inflight, ...) sorted_as(inflight, (const unsigned[]){__VA_ARGS__, 0})

static unsigned attempted(const struct inflight *inflight, uint16_t packet_id)
{
	return inflight_find(inflight, packet_id)->attempted;
}

/* 4.6-1, 4.6-6 */
Test(inflight_again, publishes_are_sorted_as_they_were_added, .timeout = 5)
{
	struct inflight inflight = {0};

	for (unsigned i = 0; i < 5; i++)
		add(&inflight, i, 1 + i % 2);
	cr_assert(SORTED_AS(&inflight, 1, 2, 3, 4, 5));
	acknowledge(&inflight, CODEC_PUBACK, 3);
	cr_assert(SORTED_AS(&inflight, 1, 2, 4, 5));
	inflight_clear(&inflight);
}

/* 4.6-4: PUBREL in the order of the PUBREC. */
Test(inflight_again, those_that_await_a_pubcomp_come_first_as_their_pubrecs_came, .timeout = 5)
{
	struct inflight inflight = {0};

	for (unsigned i = 0; i < 6; i++)
		add(&inflight, i, 2);
	acknowledge(&inflight, CODEC_PUBREC, 5);
	acknowledge(&inflight, CODEC_PUBREC, 2);
	acknowledge(&inflight, CODEC_PUBREC, 6);
	cr_assert(SORTED_AS(&inflight, 5, 2, 6, 1, 3, 4));
	acknowledge(&inflight, CODEC_PUBREC, 5);
	cr_assert(SORTED_AS(&inflight, 5, 2, 6, 1, 3, 4));
	acknowledge(&inflight, CODEC_PUBCOMP, 2);
	acknowledge(&inflight, CODEC_PUBREC, 1);
	cr_assert(SORTED_AS(&inflight, 5, 6, 1, 3, 4));
	inflight_clear(&inflight);
}

Test(inflight_again, order_outlives_the_end_of_the_packet_ids, .timeout = 5)
{
	struct inflight inflight = {0};

	for (unsigned i = 1; i < 65534; i++)
		acknowledge(&inflight, CODEC_PUBACK, (uint16_t)add(&inflight, 0, 1));
	for (unsigned i = 0; i < 5; i++)
		add(&inflight, i, 1);
	cr_assert(SORTED_AS(&inflight, 65534, 65535, 1, 2, 3));
	inflight_clear(&inflight);
}

Test(inflight_again, up_to_the_last_packet_begun_they_are_duplicates, .timeout = 5)
{
	for (uint16_t last = 0; last <= 5; last++) {
		struct inflight inflight = {0};

		for (unsigned i = 0; i < 5; i++)
			add(&inflight, i, 1 + i % 2);
		inflight_settle(&inflight, last ? inflight_find(&inflight, last)->order : 0);
		for (uint16_t id = 1; id <= 5; id++)
			cr_assert_eq(attempted(&inflight, id), id <= last, "%u %u", id, last);
		cr_assert(SORTED_AS(&inflight, 1, 2, 3, 4, 5));
		inflight_clear(&inflight);
	}
}

Test(inflight_again, nothing_is_a_duplicate_before_its_connection_is_gone, .timeout = 5)
{
	struct inflight inflight = {0};

	add(&inflight, 0, 1);
	add(&inflight, 1, 2);
	cr_assert_eq(attempted(&inflight, 1) + attempted(&inflight, 2), 0);
	inflight_settle(&inflight, inflight.order);
	cr_assert_eq(attempted(&inflight, 1) + attempted(&inflight, 2), 2);
	cr_assert_eq(add(&inflight, 2, 1), 3);
	cr_assert_eq(attempted(&inflight, 3), 0);
	inflight_clear(&inflight);
}

Test(inflight_again, once_a_duplicate_it_remains_one, .timeout = 5)
{
	struct inflight inflight = {0};

	add(&inflight, 0, 1);
	add(&inflight, 1, 1);
	inflight_settle(&inflight, inflight_find(&inflight, 1)->order);
	inflight_settle(&inflight, 0);
	cr_assert_eq(attempted(&inflight, 1), 1);
	cr_assert_eq(attempted(&inflight, 2), 0);
	inflight_clear(&inflight);
}

/* It may not have reached the client: a PUBACK for it would be nonsense, but it is held. */
Test(inflight_again, settling_keeps_states_messages_and_packet_ids, .timeout = 5)
{
	struct inflight inflight = {0};

	add(&inflight, 0, 1);
	add(&inflight, 1, 2);
	add(&inflight, 2, 2);
	acknowledge(&inflight, CODEC_PUBREC, 3);
	inflight_settle(&inflight, inflight_find(&inflight, 1)->order);
	cr_assert_eq(inflight.count, 3);
	cr_assert_eq(state(&inflight, 1), INFLIGHT_AWAITS_PUBACK);
	cr_assert_eq(state(&inflight, 2), INFLIGHT_AWAITS_PUBREC);
	cr_assert_eq(state(&inflight, 3), INFLIGHT_AWAITS_PUBCOMP);
	cr_assert(inflight_find(&inflight, 1)->message == message(0));
	cr_assert(released[0] == 0 && released[1] == 0 && released[2] == 1);
	cr_assert(SORTED_AS(&inflight, 3, 1, 2));
	inflight_clear(&inflight);
}

Test(inflight_again, a_duplicate_is_acknowledged_as_any_other, .timeout = 5)
{
	struct inflight inflight = {0};

	add(&inflight, 0, 1);
	add(&inflight, 1, 2);
	inflight_settle(&inflight, inflight.order);
	acknowledge(&inflight, CODEC_PUBACK, 1);
	acknowledge(&inflight, CODEC_PUBREC, 2);
	acknowledge(&inflight, CODEC_PUBCOMP, 2);
	cr_assert_eq(inflight.count, 0);
	cr_assert_eq(released_once(2), 2);
	/* What comes next at the same place is new. */
	for (unsigned i = 0; i < 100; i++)
		cr_assert_eq(inflight_add(&inflight, message(2), 1, false)->attempted, 0);
	inflight_clear(&inflight);
}

Test(inflight_again, to_clear_gives_back_each_message_once, .timeout = 5)
{
	struct inflight inflight = {0};

	for (unsigned i = 0; i < 1000; i++)
		add(&inflight, i, 1 + i % 2);
	for (uint16_t id = 1; id <= 500; id++)
		acknowledge(&inflight, id % 2 ? CODEC_PUBACK : CODEC_PUBREC, id);
	inflight_settle(&inflight, 700);
	inflight_clear(&inflight);
	cr_assert_eq(inflight.count, 0);
	for (unsigned id = 0; id < 65536; id++)
		cr_assert_null(inflight_find(&inflight, (uint16_t)id));
	cr_assert_eq(released_once(1000), 1000);
	inflight_clear(&inflight);
	cr_assert_eq(released_once(1000), 1000);
}

Test(inflight_again, after_clearing_packet_ids_and_orders_go_on, .timeout = 5)
{
	struct inflight inflight = {0};
	uint64_t order;

	for (unsigned i = 0; i < 10; i++)
		add(&inflight, i, 1);
	order = inflight.order;
	inflight_clear(&inflight);
	cr_assert_eq(add(&inflight, 10, 1), 11);
	cr_assert_gt(inflight_find(&inflight, 11)->order, order);
	cr_assert_eq(inflight.count, 1);
	inflight_clear(&inflight);
}

/* Beside a list that is searched from its front. */
struct listed {
	uint64_t changed;
	unsigned id, state;
};

static struct listed list[400];
static size_t list_size;

static int by_order(const void *a, const void *b)
{
	const struct listed *x = a, *y = b;
	bool x_first = x->state == INFLIGHT_AWAITS_PUBCOMP;
	bool y_first = y->state == INFLIGHT_AWAITS_PUBCOMP;

	return x_first != y_first ? y_first - x_first : x->changed < y->changed ? -1 : 1;
}

static void list_acknowledge(unsigned type, unsigned id, uint64_t now)
{
	for (size_t i = 0; i < list_size; i++) {
		struct listed *item = &list[i];

		if (item->id != id)
			continue;
		if (type == CODEC_PUBREC && item->state == INFLIGHT_AWAITS_PUBREC) {
			item->state = INFLIGHT_AWAITS_PUBCOMP;
			item->changed = now;
		} else if ((type == CODEC_PUBACK && item->state == INFLIGHT_AWAITS_PUBACK) ||
		           (type == CODEC_PUBCOMP && item->state == INFLIGHT_AWAITS_PUBCOMP)) {
			*item = list[--list_size];
		}
		return;
	}
}

Test(inflight_again, anything_at_random_is_sorted_as_in_a_list, .timeout = 60)
{
	static const uint8_t types[] = {CODEC_PUBACK, CODEC_PUBREC, CODEC_PUBCOMP};
	uint64_t rng = test_seed();
	struct inflight inflight = {0};

	for (uint64_t now = 0; now < (uint64_t)scaled(200000); now++) {
		uint32_t what = rng_below(&rng, 1000);

		if (what < 300 && list_size < 400) {
			unsigned qos = 1 + rng_below(&rng, 2);

			list[list_size].id = add(&inflight, 0, qos);
			list[list_size].state = qos;
			list[list_size++].changed = now;
		} else if (what < 999) {
			unsigned id = list_size ? list[rng_below(&rng, (uint32_t)list_size)].id : 9;
			uint8_t type = types[rng_below(&rng, 3)];

			(void)inflight_acknowledge(&inflight, type, (uint16_t)id);
			list_acknowledge(type, id, now);
		} else {
			struct inflight_entry **sorted = inflight_sorted(&inflight);

			cr_assert_eq(inflight.count, list_size);
			qsort(list, list_size, sizeof(list[0]), by_order);
			for (size_t i = 0; i < list_size; i++)
				cr_assert(sorted[i]->packet_id == list[i].id &&
				          sorted[i]->state == list[i].state);
			free(sorted);
		}
	}
	inflight_clear(&inflight);
}

/* A client of an earlier run may have any packet ids. */
Test(inflight_again, entries_are_restored_with_their_packet_ids, .timeout = 5)
{
	static const uint16_t ids[] = {40000, 1, 17, 33, 65535, 32769};
	struct inflight inflight = {0};

	for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++)
		inflight_restore(&inflight, &(const struct inflight_entry){
						    .message = message(i),
						    .packet_id = ids[i],
						    .state = INFLIGHT_AWAITS_PUBREC,
						    .row = 100 + i,
						    .attempted = true,
					    });
	cr_assert(SORTED_AS(&inflight, 40000, 1, 17, 33, 65535, 32769));
	cr_assert_eq(inflight_find(&inflight, 33)->row, 103);
	cr_assert_eq(attempted(&inflight, 33), 1);
	cr_assert_eq(add(&inflight, 6, 1), 32770);
	acknowledge(&inflight, CODEC_PUBREC, 17);
	cr_assert(SORTED_AS(&inflight, 17, 40000, 1, 33, 65535, 32769, 32770));
	inflight_clear(&inflight);
	cr_assert_eq(released_once(7), 7);
}

/* The member of an id, in the test below. */
static struct member *member_by(unsigned id)
{
	return id % 3 == 0 ? NULL : (struct member *)(void *)&released[id % 3];
}

/* Slots are used again, and the table grows: each message stays with its own member. */
Test(inflight_again, a_message_that_is_lent_has_its_member, .timeout = 10)
{
	struct inflight inflight = {0};
	struct inflight_entry *entry;

	for (unsigned id = 1; id <= 60000; id++) {
		cr_assert_eq(add(&inflight, 7, 1), id);
		entry = inflight_find(&inflight, (uint16_t)id);
		cr_assert(inflight_member(&inflight, entry) == NULL);
		if (member_by(id) != NULL)
			inflight_lend(&inflight, entry, member_by(id));
		for (size_t k = 0; k < inflight.capacity && id % 97 == 0; k++) {
			entry = &inflight.entries[k];
			MUST(entry->state == INFLIGHT_FREE ||
			     inflight_member(&inflight, entry) == member_by(entry->packet_id));
		}
		for (unsigned k = id - 199; id % 200 == 0 && k <= id; k++)
			inflight_take_back(&inflight, inflight_find(&inflight, (uint16_t)k));
	}
	cr_assert_eq(inflight.count, 0);
	inflight_clear(&inflight);
	cr_assert(inflight.beside == NULL);
}

/* The identifiers of an id, in the test below: none, or so many bytes of that kind. */
static struct slice identifiers_by(unsigned id)
{
	static const char bytes[] = "\x0b\x01\x0b\x02\x0b\x03";

	return (struct slice){bytes + id % 2, id % 3};
}

/* Slots are used again, and the table grows: each message stays with its own identifiers. */
Test(inflight_again, a_message_has_its_identifiers, .timeout = 10)
{
	struct inflight inflight = {0};
	struct inflight_entry *entry;

	for (unsigned id = 1; id <= 60000; id++) {
		cr_assert_eq(add(&inflight, 7, 2), id);
		entry = inflight_find(&inflight, (uint16_t)id);
		cr_assert_eq(inflight_identifiers(&inflight, entry).size, 0);
		inflight_identify(&inflight, entry, identifiers_by(id));
		for (size_t k = 0; k < inflight.capacity && id % 97 == 0; k++) {
			entry = &inflight.entries[k];
			MUST(entry->state == INFLIGHT_FREE ||
			     names_equal(inflight_identifiers(&inflight, entry),
			                 identifiers_by(entry->packet_id)));
		}
		for (unsigned k = id - 199; id % 200 == 0 && k <= id; k++)
			inflight_drop(&inflight, inflight_find(&inflight, (uint16_t)k));
	}
	cr_assert_eq(inflight.count, 0);
	inflight_clear(&inflight);
	cr_assert(inflight.beside == NULL);
}

/* Whoever has received a message gets a PUBREL, which has no identifiers. */
Test(inflight_again, identifiers_go_with_their_message, .timeout = 5)
{
	struct inflight inflight = {0};
	struct inflight_entry *entry;

	add(&inflight, 0, 2);
	entry = inflight_find(&inflight, 1);
	inflight_identify(&inflight, entry, identifiers_by(2));
	acknowledge(&inflight, CODEC_PUBREC, 1);
	cr_assert_eq(inflight_identifiers(&inflight, entry).size, 0);
	inflight_clear(&inflight);
}
