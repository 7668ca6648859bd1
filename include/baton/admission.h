/* SPDX-License-Identifier: MIT */
/*
 * Admission: expensive tasks (rendering, compiling, a report) share a limited number of backends.
 * The rules of rules.h decide which task may start, and how long it may run; an admission lets
 * baton's tasks, futures and timers follow these decisions.
 *
 *	struct render {
 *		struct baton_admitted admitted;
 *		struct baton_future outcome;
 *		struct baton_future gone;
 *		...
 *	};
 *
 *	static int render_run(struct baton_task *task)
 *	{
 *		struct render *render = baton_container_of(task, struct render, admitted.task);
 *
 *		while (render_line(render))
 *			if (baton_cancel_requested()) // its time is over, or it was withdrawn
 *				return -ECANCELED;
 *		return 0;
 *	}
 *
 *	baton_admitted_init(&render->admitted, BATON_RULES_DEFAULT, render_run);
 *	render->admitted.outcome = &render->outcome;
 *	render->admitted.gone = &render->gone;
 *	error = baton_admission_arrive(&admission, &render->admitted); // any thread
 *
 *                                 | may run beside               | from
 *   arrive, withdraw, set_limits  | everything but init, deinit  | any thread, also inside tasks
 *   close                         | everything but init, deinit  | any thread, also inside tasks
 *   await                         | everything but init, deinit  | any thread, not in a callback
 *   estimate, time_left,          | everything but init, deinit  | any thread, also inside tasks
 *   stats_read                    |                              |
 *   init, deinit, admitted_init   | nothing                      | the owner
 *
 * The way of an entry. The entry arrives, and waits until the rules let it start. Then its
 * function runs, as a task of the entry's resource, on the executor's thread. (An interactive entry
 * that cannot start is denied.)
 *
 * Ownership: an entry is baton's from its arrival until `gone` is complete. Outcome and end are two
 * things, since a stopped task may go on for a while:
 *   outcome  the status is known: the task returned, was stopped, denied, withdrawn or refused.
 *   gone     baton touches the entry no more, its function has returned, and its memory is the
 *            caller's. Comes after the outcome.
 *
 * Corner cases. Threads. The function of an entry takes up a backend, not a worker of its pool: it
 * runs as between baton_blocking_begin() and baton_blocking_end() (blocking.h). So entries run
 * beside each other as far as the limits allow, and are told to stop, however few workers the pool
 * has. For that, workers and spares together must be more than limit 0: where none is free, tasks
 * are told late, or never.
 *
 * Stop. A running task is told to stop if its time is over, if the rules halt it for another task,
 * or if it is withdrawn. `outcome` fails at that moment, with the reason. The task is told by
 * baton_cancel_requested() (a detached one: baton_detached_cancel_requested()) and by the callback
 * `stop`. A task that has not been entered yet will not run.
 *
 * Overrun. A stopped task that has not returned after the grace overruns: the callback `overrun` is
 * called. Whether the task keeps its backend until it returns is an option (`stuck`, rules.h).
 *
 * `gone` completes for each entry that arrived, whatever became of it, provided that its function
 * returns (or its token is completed).
 *
 * Time is that of the wheel of timers. The wheel's ticks stop tasks and renew estimates. On a
 * virtual clock the same calls lead to the same decisions.
 *
 * Progress: lock-free, as baton_submit(). The admission is a resource: each call leaves it a task,
 * and runs that task immediately if the resource is idle. A task costs what rules.h says.
 * Source: batch schedulers (Slurm, HTCondor) run a job under a limit of time, and preempt jobs by
 * class; the split into outcome and end is that of POSIX's zombie processes.
 */
#ifndef BATON_ADMISSION_H
#define BATON_ADMISSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <baton/attributes.h>
#include <baton/executor.h>
#include <baton/future.h>
#include <baton/resource.h>
#include <baton/rules.h>
#include <baton/task.h>
#include <baton/time.h>
#include <baton/timer.h>

#ifdef __cplusplus
extern "C" {
#endif

struct baton_admission;

/* The grace of an admission whose config has none. */
#define BATON_ADMISSION_GRACE (100 * BATON_MILLISECOND)

/*
 * A task that asks for admission, embedded in the caller's struct. `resource`, `outcome` and `gone`
 * may be set between init and arrive:
 *
 *   resource  where the task is submitted when it starts, as by baton_submit_later(). NULL: a
 *             resource of the entry's own, on the executor of the admission's config. If the
 *             resource refuses the task (closed, or at its bound), the outcome fails.
 *   outcome   a promise (BATON_PROMISE_INIT), or NULL. Has the status and the value of the task; or
 *             fails with
 *               -ETIMEDOUT   the task's time was over;
 *               -EINTR       an interactive task was halted: its backend was needed;
 *               -EAGAIN      an interactive task was denied;
 *               -ECANCELED   it was withdrawn, or its resource or executor cancelled it;
 *               -EPIPE, -ESHUTDOWN, ...  the refusal of the resource, or of the wheel of timers.
 *   gone      a promise, or NULL. Completes with the entry as its value when the entry's memory is
 *             the caller's. NULL: the config's callback `gone` is called instead.
 *
 * Ownership: from the arrive on a promise is baton's until it is complete, and the entry until it
 * is gone. An entry that is gone may arrive again, with fresh promises.
 */
struct baton_admitted {
	struct baton_task task; /* what the function is given */
	struct baton_resource *resource;
	struct baton_future *outcome;
	struct baton_future *gone;
	struct baton_rules_entry _rules;
	struct baton_admission *_admission;
	baton_task_fn _fn;
	struct baton_future _ran;
	struct baton_continuation _when_ran;
	struct baton_task _message;
	struct baton_task _withdrawal;
	struct baton_task _last;
	struct baton_resource _own;
	struct baton_timer _timer;
	struct baton_admitted *_next;
	struct baton_admitted *_prev;
	struct baton_admitted *_decided;
	uint64_t _until;
	uint64_t _starts_by;
	uint32_t _progress;
	uint16_t _decision;
	uint16_t _marks;
};

/*
 * Makes an entry that has not arrived. Its function runs as a task of the entry's resource: on the
 * executor's thread. `kind`: the number of a class, BATON_RULES_DEFAULT or BATON_RULES_INTERACTIVE.
 *
 * Thread safety: the owner.
 */
void baton_admitted_init(struct baton_admitted *admitted, uint32_t kind,
                         baton_task_fn run) BATON_NONNULL;

/*
 * Growth: see resource.h. Copied by init. The callbacks may be NULL. They are called under the
 * baton of the admission, must be short, and may make every call of this header but await.
 */
struct baton_admission_config {
	struct baton_rules_config rules; /* `grace_ns` 0: BATON_ADMISSION_GRACE */
	struct baton_executor *executor; /* NULL: the default pool */
	struct baton_timers *timers;     /* NULL: the default wheel */
	/* The entry waits, and starts in at most `at_most_ns`; see "Estimates" in rules.h. */
	void (*estimate)(struct baton_admission *admission, struct baton_admitted *admitted,
	                 uint64_t at_most_ns);
	/* The running task is told to stop; `status` is that of its outcome. */
	void (*stop)(struct baton_admission *admission, struct baton_admitted *admitted,
	             int status);
	/* The task was stopped, and has not returned after the grace. */
	void (*overrun)(struct baton_admission *admission, struct baton_admitted *admitted);
	/* An entry without a promise `gone` is gone, and the callee may free it. Called on any
	 * thread, perhaps without the baton. */
	void (*gone)(struct baton_admission *admission, struct baton_admitted *admitted);
	const char *name; /* of its resources, for messages; must outlive the admission */
	uint64_t _reserved[4];
};

#define BATON_ADMISSION_CONFIG_INIT                                                                \
	{                                                                                          \
		BATON_RULES_CONFIG_INIT, NULL, NULL, NULL, NULL, NULL, NULL, NULL,                 \
		{                                                                                  \
			0                                                                          \
		}                                                                                  \
	}

/* What an admission has done. */
struct baton_admission_stats {
	uint64_t arrived;
	uint64_t started;
	uint64_t finished; /* of the started ones: they run no more, or never began */
	uint64_t denied;
	uint64_t withdrawn; /* while they waited */
	uint64_t stopped;   /* of the started ones: told to stop, for whatever reason */
	uint64_t overran;
	uint64_t waiting; /* now */
	uint64_t running; /* now: started, and not finished */
};

/*
 * An admission. Its members are private. It is the caller's memory, and baton's from
 * baton_admission_init() until baton_admission_deinit() has returned; it must not move.
 */
struct baton_admission {
	struct baton_rules _rules;
	struct baton_admission_config _config;
	struct baton_resource _resource;
	struct baton_resource_config _resource_config;
	struct baton_timers *_timers;
	struct baton_timer _tick;
	struct baton_task _drop;
	struct baton_future _ended;
	struct baton_admitted *_first;
	struct baton_admitted *_decided;
	struct baton_admitted **_decided_last;
	struct baton_admission_stats _stats;
	uint64_t _now;
	uint64_t _next_tick;
	uint64_t _users;
	bool _dropping;
};

/*
 * Begins an admission. `config` is copied.
 *
 * Thread safety: the owner. Ownership: the caller's memory, which must not move. The executor and
 * the wheel of timers must outlive the admission: a wheel that is closed earlier stops no task, and
 * lets only interactive tasks start.
 * Errors: -EINVAL as for baton_rules_init(). NULL for `timers`: also as baton_timers_default().
 */
BATON_MUST_USE int baton_admission_init(struct baton_admission *admission,
                                        const struct baton_admission_config *config) BATON_NONNULL;

/*
 * The entry arrives. Its outcome tells what becomes of it.
 *
 * Thread safety: any thread. Blocking: never.
 * Ownership: the entry is baton's from here until its `gone` is complete; after an error it is the
 * caller's.
 * Ordering: the entries of one thread arrive in the order of its calls. What the caller did before
 * is visible to the entry's function.
 * Errors: the entry is untouched: -EPIPE: the admission is closed. -EALREADY: the entry has
 * arrived, and is not gone. -EINVAL: the entry was not initialised; there is no such class;
 * `outcome` or `gone` is complete. See also thread.h. Asserts that both are promises, when it
 * completes them.
 */
BATON_MUST_USE int baton_admission_arrive(struct baton_admission *admission,
                                          struct baton_admitted *admitted) BATON_NONNULL;

/*
 * Withdraws an entry that has arrived. If the entry waits, it will not run. If it runs, it is told
 * to stop. The outcome fails with -ECANCELED, unless it is known before the withdrawal has its turn
 * on the admission's resource. The call does not wait for that turn.
 *
 * Thread safety: any thread. Blocking: never.
 * Ownership: the caller sees to it that the entry's memory lasts until the call has returned: so
 * the owner does not free an entry that is gone while another thread may be about to withdraw it.
 * Errors: nothing happens: -EINVAL: the entry has not arrived, or is gone. -EALREADY: the entry was
 * withdrawn before, or its end has been decided. See also thread.h.
 */
int baton_admitted_withdraw(struct baton_admitted *admitted) BATON_NONNULL;

/*
 * Changes the limits, see baton_rules_set_limits(): as many as there are classes.
 *
 * Thread safety: any thread. Blocking: never. The new limits hold when the call has had its turn on
 * the admission's resource.
 * Errors: nothing happens: -EINVAL: the limits do not nest, or the reserve is not below the first.
 * -EPIPE: the admission is closed, and all its entries are gone. -ENOMEM. See also thread.h.
 */
BATON_MUST_USE int baton_admission_set_limits(struct baton_admission *admission,
                                              const uint32_t *limits, uint32_t reserve)
	BATON_NONNULL_AT(1, 2);

/*
 * Closes the admission: arrivals are refused from now on.
 *   BATON_ADMISSION_RUN   the entries that have arrived wait, start and run as before.
 *   BATON_ADMISSION_DROP  they are withdrawn, as by baton_admitted_withdraw(), before any of them
 *                         starts in the place of another.
 * A DROP may follow a RUN.
 *
 * Thread safety: any thread. Blocking: never.
 * Errors: -EALREADY: the admission is closed in this way or by DROP, or is closed and has no
 * entries left. See also thread.h.
 */
enum baton_admission_rest {
	BATON_ADMISSION_RUN = 0,
	BATON_ADMISSION_DROP = 1,
};
BATON_MUST_USE int baton_admission_close(struct baton_admission *admission,
                                         enum baton_admission_rest rest) BATON_NONNULL;

/*
 * Waits until all entries of a closed admission are gone, or until `deadline_ns` (time.h).
 *
 * Thread safety: any thread. Blocking: yes. Do not call it in a task that the entries need: the
 * waiter does not help the admission as long as entries are left.
 * Ownership: afterwards the admission's memory is the caller's: deinit.
 * Errors: -EINVAL: the admission is open. -ETIMEDOUT, -EDEADLK as for baton_future_wait().
 */
BATON_MUST_USE int baton_admission_await(struct baton_admission *admission) BATON_NONNULL;
BATON_MUST_USE int baton_admission_await_until(struct baton_admission *admission,
                                               uint64_t deadline_ns) BATON_NONNULL;

/* Asserts that the admission is closed, and that all its entries are gone. The owner. */
void baton_admission_deinit(struct baton_admission *admission) BATON_NONNULL;

/*
 * estimate: at most how long the entry still waits: 0 if it does not wait, BATON_NEVER if that is
 * not known (yet). time_left: how long the task may still run: 0 if it must stop, or does not run;
 * BATON_NEVER: an interactive one. A task reads its own to pass the limit on (to a child process).
 *
 * Thread safety: any thread, as long as the entry's memory lasts: a hint. Blocking: never.
 */
uint64_t baton_admitted_estimate(const struct baton_admitted *admitted) BATON_NONNULL;
uint64_t baton_admitted_time_left(const struct baton_admitted *admitted) BATON_NONNULL;

/* Copies the counters, each read atomically. Any thread. Blocking: never. */
void baton_admission_stats_read(const struct baton_admission *admission,
                                struct baton_admission_stats *copy) BATON_NONNULL;

#ifdef __cplusplus
}
#endif

#endif
