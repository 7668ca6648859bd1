/* SPDX-License-Identifier: MIT */
/*
 * Money moves between the accounts of a bank. A transfer that cannot be completed leaves no trace,
 * and no other task ever sees half of a transfer.
 */
#include <errno.h>
#include <stdio.h>

#include <baton/resource.h>
#include <baton/undo.h>

static struct baton_resource bank = BATON_RESOURCE_INIT(NULL);
static int balance[3] = {100, 50, 0};

struct transfer {
	struct baton_task task;
	struct baton_future future;
	struct baton_undo put_back;
	int from, to, amount;
};

static int put_back(struct baton_undo *undo)
{
	struct transfer *transfer = baton_container_of(undo, struct transfer, put_back);

	balance[transfer->from] += transfer->amount;
	return 0;
}

static int transfer_run(struct baton_task *task)
{
	struct transfer *transfer = baton_container_of(task, struct transfer, task);
	struct baton_undo_log log;

	baton_undo_log_begin(&log);
	balance[transfer->from] -= transfer->amount;
	baton_undo_log_push(&log, &transfer->put_back, put_back);
	if (transfer->to > 2)
		return baton_undo_log_end(&log, -ENOENT); /* there is no such account */
	balance[transfer->to] += transfer->amount;
	return baton_undo_log_end(&log, 0);
}

static int move_money(int from, int to, int amount)
{
	struct transfer transfer = {.from = from, .to = to, .amount = amount};

	baton_future_init(&transfer.future);
	baton_task_init(&transfer.task, transfer_run, &transfer.future);
	if (baton_submit(&bank, &transfer.task) != 0 || baton_future_wait(&transfer.future) != 0)
		return -1;
	return baton_future_status(&transfer.future);
}

int main(void)
{
	int good = move_money(0, 2, 30);
	int bad = move_money(1, 3, 20);

	printf("undo: transfers ended with %d and %d; %d, %d, %d\n", good, bad, balance[0],
	       balance[1], balance[2]);
	return good != 0 || bad != -ENOENT || balance[0] != 70 || balance[1] != 50 ||
	       balance[2] != 30;
}
