/* SPDX-License-Identifier: MIT */
/*
 * The example broker's messages on their way to a client (examples/broker/inflight.h): packet ids
 * and acknowledgements. What is said again to a client that comes back: test_inflight_again.c.
 */
#include "flights.h"

/* Those found, over all packet ids. */
static size_t found_in(const struct inflight *inflight)
{
	size_t found = 0;

	for (unsigned id = 0; id < 65536; id++) {
		const struct inflight_entry *entry = inflight_find(inflight, (uint16_t)id);

		MUST(entry == NULL || (entry->packet_id == id && entry->state != INFLIGHT_FREE));
		found += entry != NULL;
	}
	return found;
}

Test(inflight, at_first_there_is_nothing, .timeout = 5)
{
	struct inflight inflight = {0};

	cr_assert_eq(found_in(&inflight), 0);
	acknowledge(&inflight, CODEC_PUBACK, 1);
	inflight_settle(&inflight, 0);
	free(inflight_sorted(&inflight));
	inflight_clear(&inflight);
	cr_assert_eq(inflight.count, 0);
}

Test(inflight, packet_ids_count_up_from_one, .timeout = 5)
{
	struct inflight inflight = {0};

	for (unsigned id = 1; id <= 1000; id++)
		cr_assert_eq(add(&inflight, id, 1 + id % 2), id);
	cr_assert_eq(inflight.count, 1000);
	cr_assert_eq(inflight.packet_id, 1000);
	inflight_clear(&inflight);
}

Test(inflight, an_entry_is_what_was_added, .timeout = 5)
{
	for (unsigned retain = 0; retain < 2; retain++)
		for (uint8_t qos = 1; qos < 3; qos++) {
			struct inflight inflight = {0};
			struct inflight_entry *entry =
				inflight_add(&inflight, message(7), qos, retain != 0);

			cr_assert(entry == inflight_find(&inflight, 1));
			cr_assert(entry->message == message(7));
			cr_assert_eq(entry->packet_id, 1);
			cr_assert_eq(entry->state,
			             qos == 1 ? INFLIGHT_AWAITS_PUBACK : INFLIGHT_AWAITS_PUBREC);
			cr_assert_eq(entry->retain, retain);
			cr_assert_eq(entry->attempted, 0);
			inflight_clear(&inflight);
		}
}

Test(inflight, only_what_was_added_is_found, .timeout = 5)
{
	struct inflight inflight = {0};

	for (unsigned i = 0; i < 20; i++)
		add(&inflight, i, 1);
	cr_assert_null(inflight_find(&inflight, 0));
	for (unsigned id = 1; id <= 20; id++)
		cr_assert(inflight_find(&inflight, (uint16_t)id)->message == message(id - 1));
	for (unsigned id = 21; id < 65536; id++)
		cr_assert_null(inflight_find(&inflight, (uint16_t)id), "%u", id);
	inflight_clear(&inflight);
}

Test(inflight, each_addition_has_the_highest_order, .timeout = 5)
{
	struct inflight inflight = {0};
	uint64_t last = 0;

	for (unsigned i = 0; i < 100; i++) {
		uint64_t order = inflight_add(&inflight, message(i), 1, false)->order;

		cr_assert_gt(order, last);
		last = order;
	}
	inflight_clear(&inflight);
}

Test(inflight, a_packet_id_is_not_given_again_at_once, .timeout = 5)
{
	struct inflight inflight = {0};

	for (unsigned id = 1; id <= 100; id++) {
		cr_assert_eq(add(&inflight, id, 1), id);
		acknowledge(&inflight, CODEC_PUBACK, (uint16_t)id);
	}
	inflight_clear(&inflight);
}

Test(inflight, after_65535_packet_ids_begin_again_with_one, .timeout = 10)
{
	struct inflight inflight = {0};

	for (unsigned i = 0; i < 3 * 65535; i++) {
		unsigned id = add(&inflight, i % MESSAGES, 1);

		cr_assert_eq(id, 1 + i % 65535);
		acknowledge(&inflight, CODEC_PUBACK, (uint16_t)id);
	}
	cr_assert_eq(inflight.count, 0);
	inflight_clear(&inflight);
}

/*
 * Adds one. Is its packet id a free one, the first behind the last whose slot is free? A slot: the
 * packet ids that are the same modulo the capacity.
 */
static bool added_in_turn(struct inflight *inflight, uint8_t qos)
{
	static bool taken[65536];
	unsigned last = inflight->packet_id;
	unsigned id = add(inflight, 0, qos);

	memset(taken, 0, sizeof(taken));
	for (size_t i = 0; i < inflight->capacity; i++)
		if (inflight->entries[i].state != INFLIGHT_FREE &&
		    inflight->entries[i].packet_id != id)
			taken[inflight->entries[i].packet_id % inflight->capacity] = true;
	if (id == 0 || taken[id % inflight->capacity])
		return false;
	do {
		last = last == 65535 ? 1 : last + 1;
	} while (taken[last % inflight->capacity]);
	return last == id;
}

/* 1, 2, 5, 65535 and some that lie between are never acknowledged; they are in the way twice. */
Test(inflight, packet_ids_in_use_are_skipped, .timeout = 30)
{
	struct inflight inflight = {0};
	unsigned kept = 0;

	for (unsigned i = 0; i < 3 * 65535; i++) {
		uint16_t id;

		cr_assert(added_in_turn(&inflight, 2), "%u", i);
		id = inflight.packet_id;
		if (kept < 6 && (id == 1 || id == 2 || id == 5 || id % 9999 == 0)) {
			kept++;
			continue;
		}
		acknowledge(&inflight, CODEC_PUBREC, id);
		acknowledge(&inflight, CODEC_PUBCOMP, id);
	}
	cr_assert_eq(inflight.count, 6);
	cr_assert_eq(found_in(&inflight), 6);
	for (uint16_t id = 1; id < 6; id = (uint16_t)(id + (id == 2 ? 3 : 1)))
		cr_assert_not_null(inflight_find(&inflight, id));
	inflight_clear(&inflight);
}

Test(inflight, at_random_packet_ids_are_given_in_turn, .timeout = 30)
{
	uint64_t rng = test_seed();
	struct inflight inflight = {.packet_id = 65000};

	for (int i = 0; i < scaled(20000); i++) {
		if (inflight.count < 300) {
			uint8_t qos = (uint8_t)(1 + rng_below(&rng, 2));

			cr_assert(added_in_turn(&inflight, qos), "%d", i);
		}
		for (int j = 0; j < 8 && rng_below(&rng, 3) > 0; j++) {
			uint16_t id = (uint16_t)(inflight.packet_id - rng_below(&rng, 1000));

			(void)inflight_acknowledge(&inflight, CODEC_PUBREC, id);
			(void)inflight_acknowledge(&inflight, j % 2 ? CODEC_PUBACK : CODEC_PUBCOMP,
			                           id);
		}
	}
	cr_assert_eq(found_in(&inflight), inflight.count);
	inflight_clear(&inflight);
}

/* A packet id is in use until its PUBCOMP. */
Test(inflight, a_packet_id_that_awaits_its_pubcomp_is_skipped, .timeout = 10)
{
	struct inflight inflight = {0};

	add(&inflight, 0, 2);
	acknowledge(&inflight, CODEC_PUBREC, 1);
	for (unsigned i = 0; i < 2 * 65535; i++) {
		unsigned id = add(&inflight, 1, 1);

		cr_assert_neq(id, 1);
		acknowledge(&inflight, CODEC_PUBACK, (uint16_t)id);
	}
	cr_assert_eq(state(&inflight, 1), INFLIGHT_AWAITS_PUBCOMP);
	inflight_clear(&inflight);
}

Test(inflight, it_grows_to_its_greatest_number_and_finds_all, .timeout = 10)
{
	struct inflight inflight = {0};

	for (unsigned i = 0; i < INFLIGHT_MAX; i++)
		cr_assert_eq(add(&inflight, i, 1), 1 + i);
	cr_assert_eq(inflight.count, INFLIGHT_MAX);
	cr_assert_eq(found_in(&inflight), INFLIGHT_MAX);
	for (unsigned i = 0; i < INFLIGHT_MAX; i++)
		cr_assert(inflight_find(&inflight, (uint16_t)(i + 1))->message == message(i));
	inflight_clear(&inflight);
	cr_assert_eq(released_once(INFLIGHT_MAX), INFLIGHT_MAX);
}

/* The oldest goes, a new one comes: the window moves over all packet ids. */
Test(inflight, a_full_window_moves_on_over_all_packet_ids, .timeout = 30)
{
	struct inflight inflight = {0};

	for (unsigned i = 0; i < INFLIGHT_MAX; i++)
		add(&inflight, i, 1);
	for (unsigned i = 0; i < 100000; i++) {
		acknowledge(&inflight, CODEC_PUBACK, (uint16_t)(1 + i % 65535));
		cr_assert_eq(inflight.count, INFLIGHT_MAX - 1);
		cr_assert_eq(add(&inflight, 0, 1), 1 + (i + INFLIGHT_MAX) % 65535);
	}
	cr_assert_eq(found_in(&inflight), INFLIGHT_MAX);
	inflight_clear(&inflight);
}

Test(inflight, whatever_its_packet_id_the_last_message_is_released_at_the_end, .timeout = 5)
{
	for (unsigned last = 1; last <= 32; last++) {
		struct inflight inflight = {0};
		const uint64_t before = released[0];

		for (unsigned i = 1; i < last; i++)
			acknowledge(&inflight, CODEC_PUBACK, (uint16_t)add(&inflight, 0, 1));
		cr_assert_eq(add(&inflight, 0, 1), last);
		inflight_clear(&inflight);
		cr_assert_eq(released[0] - before, last);
	}
}

Test(inflight, growth_keeps_states_messages_and_orders, .timeout = 10)
{
	struct inflight inflight = {0};
	uint64_t orders[4];

	add(&inflight, 0, 1);
	add(&inflight, 1, 2);
	inflight_find(&inflight, 2)->retain = 1;
	add(&inflight, 2, 2);
	acknowledge(&inflight, CODEC_PUBREC, 3);
	inflight_settle(&inflight, inflight_find(&inflight, 1)->order);
	for (uint16_t id = 1; id < 4; id++)
		orders[id] = inflight_find(&inflight, id)->order;
	for (unsigned i = 0; i < 5000; i++)
		add(&inflight, 3, 1);
	for (uint16_t id = 1; id < 4; id++)
		cr_assert_eq(inflight_find(&inflight, id)->order, orders[id]);
	cr_assert_eq(state(&inflight, 1), INFLIGHT_AWAITS_PUBACK);
	cr_assert_eq(state(&inflight, 2), INFLIGHT_AWAITS_PUBREC);
	cr_assert_eq(state(&inflight, 3), INFLIGHT_AWAITS_PUBCOMP);
	cr_assert_eq(inflight_find(&inflight, 1)->attempted, 1);
	cr_assert_eq(inflight_find(&inflight, 2)->attempted, 0);
	cr_assert_eq(inflight_find(&inflight, 2)->retain, 1);
	cr_assert(inflight_find(&inflight, 2)->message == message(1));
	inflight_clear(&inflight);
}

Test(inflight, a_puback_ends_qos_1, .timeout = 5)
{
	struct inflight inflight = {0};

	add(&inflight, 0, 1);
	add(&inflight, 1, 1);
	acknowledge(&inflight, CODEC_PUBACK, 1);
	cr_assert_eq(released[0], 1);
	cr_assert_eq(released[1], 0);
	cr_assert_null(inflight_find(&inflight, 1));
	cr_assert_not_null(inflight_find(&inflight, 2));
	cr_assert_eq(inflight.count, 1);
	inflight_clear(&inflight);
}

Test(inflight, a_pubrec_then_a_pubcomp_end_qos_2, .timeout = 5)
{
	struct inflight inflight = {0};
	uint64_t order;

	add(&inflight, 0, 2);
	add(&inflight, 1, 1);
	order = inflight_find(&inflight, 2)->order;
	acknowledge(&inflight, CODEC_PUBREC, 1);
	cr_assert_eq(state(&inflight, 1), INFLIGHT_AWAITS_PUBCOMP);
	cr_assert_eq(released[0], 1);
	cr_assert_null(inflight_find(&inflight, 1)->message);
	cr_assert_gt(inflight_find(&inflight, 1)->order, order);
	cr_assert_eq(inflight.count, 2);
	acknowledge(&inflight, CODEC_PUBCOMP, 1);
	cr_assert_null(inflight_find(&inflight, 1));
	cr_assert_eq(released[0], 1);
	cr_assert_eq(inflight.count, 1);
	inflight_clear(&inflight);
	cr_assert_eq(released[0], 1);
}

/* Each type in each state: one answer is awaited; all other answers change nothing, and all but a
 * PUBREC that is said again are wrong. */
Test(inflight, an_acknowledgement_that_answers_nothing_changes_nothing, .timeout = 5)
{
	static const uint8_t awaited[] = {CODEC_PUBACK, CODEC_PUBREC, CODEC_PUBCOMP};

	for (unsigned step = 0; step < 3; step++)
		for (uint8_t type = 0; type < 16; type++) {
			struct inflight inflight = {0};
			struct inflight_entry before;
			struct inflight_entry *entry;
			uint64_t count_before, order_before;

			if (type == awaited[step])
				continue;
			add(&inflight, 0, step == 0 ? 1 : 2);
			if (step == 2)
				acknowledge(&inflight, CODEC_PUBREC, 1);
			count_before = released[0];
			entry = inflight_find(&inflight, 1);
			before = *entry;
			order_before = inflight.order;
			cr_assert_eq(inflight_acknowledge(&inflight, type, 1),
			             step == 2 && type == CODEC_PUBREC ? 0 : -EPROTO);
			cr_assert(inflight_find(&inflight, 1) == entry);
			cr_assert_eq(memcmp(entry, &before, sizeof(before)), 0, "%u %u", step,
			             type);
			cr_assert_eq(inflight.order, order_before);
			cr_assert_eq(inflight.count, 1);
			cr_assert_eq(released[0], count_before);
			inflight_clear(&inflight);
		}
}

/* Among them those at the same place of the table, and 0, which nobody has. */
Test(inflight, an_acknowledgement_of_an_unknown_packet_id_changes_nothing, .timeout = 10)
{
	static const uint8_t types[] = {CODEC_PUBACK, CODEC_PUBREC, CODEC_PUBCOMP};
	struct inflight inflight = {0};

	add(&inflight, 0, 1);
	add(&inflight, 1, 2);
	add(&inflight, 2, 2);
	acknowledge(&inflight, CODEC_PUBREC, 3);
	for (size_t i = 0; i < 3; i++)
		for (unsigned id = 0; id < 65536; id++)
			if (id == 0 || id > 3)
				acknowledge(&inflight, types[i], (uint16_t)id);
	cr_assert_eq(inflight.count, 3);
	cr_assert_eq(state(&inflight, 1), INFLIGHT_AWAITS_PUBACK);
	cr_assert_eq(state(&inflight, 2), INFLIGHT_AWAITS_PUBREC);
	cr_assert_eq(state(&inflight, 3), INFLIGHT_AWAITS_PUBCOMP);
	cr_assert(released[0] == 0 && released[1] == 0 && released[2] == 1);
	inflight_clear(&inflight);
}

Test(inflight, a_second_acknowledgement_changes_nothing, .timeout = 5)
{
	struct inflight inflight = {0};

	add(&inflight, 0, 1);
	add(&inflight, 1, 2);
	for (int i = 0; i < 2; i++) {
		acknowledge(&inflight, CODEC_PUBACK, 1);
		acknowledge(&inflight, CODEC_PUBREC, 2);
	}
	cr_assert_eq(inflight.count, 1);
	cr_assert_eq(state(&inflight, 2), INFLIGHT_AWAITS_PUBCOMP);
	cr_assert(released[0] == 1 && released[1] == 1);
	for (int i = 0; i < 2; i++)
		acknowledge(&inflight, CODEC_PUBCOMP, 2);
	cr_assert_eq(inflight.count, 0);
	cr_assert(released[0] == 1 && released[1] == 1);
	inflight_clear(&inflight);
}

Test(inflight, an_entry_without_a_message_goes_the_same_way, .timeout = 5)
{
	struct inflight inflight = {0};

	inflight_add(&inflight, NULL, 1, false);
	inflight_add(&inflight, NULL, 2, false);
	inflight_add(&inflight, NULL, 2, false);
	acknowledge(&inflight, CODEC_PUBACK, 1);
	acknowledge(&inflight, CODEC_PUBREC, 2);
	cr_assert_eq(state(&inflight, 2), INFLIGHT_AWAITS_PUBCOMP);
	acknowledge(&inflight, CODEC_PUBCOMP, 2);
	cr_assert_eq(inflight.count, 1);
	inflight_clear(&inflight);
	cr_assert_eq(inflight.count, 0);
}
