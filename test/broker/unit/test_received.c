/* SPDX-License-Identifier: MIT */
/* The example broker's packet ids of QoS 2 that await a PUBREL (examples/broker/received.h). */
#include "session/received.h"
#include "support.h"

Test(received, a_packet_id_is_new_once, .timeout = 5)
{
	struct received received = {0};

	cr_assert_eq(received_add(&received, 7), 1);
	cr_assert_eq(received_add(&received, 7), 0);
	cr_assert_eq(received_add(&received, 7), 0);
	cr_assert_eq(received.count, 1);
	received_clear(&received);
}

Test(received, a_packet_id_is_new_again_once_removed, .timeout = 5)
{
	struct received received = {0};

	for (int i = 0; i < 3; i++) {
		cr_assert_eq(received_add(&received, 7), 1);
		cr_assert(received_remove(&received, 7));
		cr_assert_eq(received.count, 0);
	}
	received_clear(&received);
}

Test(received, packet_ids_do_not_touch_each_other, .timeout = 10)
{
	struct received received = {0};

	for (unsigned id = 1; id < 65536; id++) {
		cr_assert_eq(received_add(&received, (uint16_t)id), 1, "%u", id);
		cr_assert_eq(received.count, id);
	}
	for (unsigned id = 1; id < 65536; id += 2)
		received_remove(&received, (uint16_t)id);
	cr_assert_eq(received.count, 32767);
	for (unsigned id = 1; id < 65536; id++)
		cr_assert_eq(received_add(&received, (uint16_t)id), id % 2, "%u", id);
	cr_assert_eq(received.count, 65535);
	received_clear(&received);
}

Test(received, to_remove_what_is_not_there_changes_nothing, .timeout = 5)
{
	struct received received = {0};

	cr_assert_not(received_remove(&received, 1));
	cr_assert_not(received_remove(&received, 65535));
	cr_assert_eq(received.count, 0);
	cr_assert_eq(received_add(&received, 64), 1);
	for (unsigned id = 0; id < 65536; id++)
		if (id != 64)
			received_remove(&received, (uint16_t)id);
	cr_assert_eq(received.count, 1);
	cr_assert_eq(received_add(&received, 64), 0);
	cr_assert(received_remove(&received, 64));
	cr_assert_not(received_remove(&received, 64));
	cr_assert_eq(received.count, 0);
	received_clear(&received);
}

Test(received, to_trim_keeps_those_that_are_there, .timeout = 5)
{
	struct received received = {0};

	received_add(&received, 1);
	received_add(&received, 65535);
	received_trim(&received);
	cr_assert_not_null(received.bits);
	cr_assert_eq(received.count, 2);
	cr_assert_eq(received_add(&received, 1), 0);
	cr_assert_eq(received_add(&received, 65535), 0);
	received_remove(&received, 1);
	received_trim(&received);
	cr_assert_eq(received.count, 1);
	cr_assert_eq(received_add(&received, 65535), 0);
	received_clear(&received);
}

Test(received, to_trim_gives_back_the_memory_of_none, .timeout = 5)
{
	struct received received = {0};

	received_trim(&received);
	cr_assert_null(received.bits);
	received_add(&received, 1);
	cr_assert_not_null(received.bits);
	received_remove(&received, 1);
	received_trim(&received);
	cr_assert_null(received.bits);
	cr_assert_eq(received_add(&received, 1), 1);
	received_clear(&received);
}

Test(received, to_clear_forgets_all, .timeout = 5)
{
	struct received received = {0};

	received_clear(&received);
	for (unsigned id = 1; id < 65536; id += 100)
		received_add(&received, (uint16_t)id);
	received_clear(&received);
	cr_assert_null(received.bits);
	cr_assert_eq(received.count, 0);
	for (unsigned id = 1; id < 65536; id += 100)
		cr_assert_eq(received_add(&received, (uint16_t)id), 1);
	received_clear(&received);
}
