/* SPDX-License-Identifier: MIT */
/*
 * The idle set: workers that search, sleep and are woken (idle.c, D1 to D4), in the worker's loop
 * (worker.c, W1 to W3).
 *
 * Modelled: the idle word with its tag, the stack of sleepers, the wake words, notify with its
 * three steps that anybody can make, enter and its last look, stop_searching, the one push that is
 * not announced, a job that blocks its worker until all jobs that there are have been taken,
 * shutdown, the alarm (alarm.c): a deadline, its claim, the timed wake. A futex wait compares and
 * blocks in one step; a wake wakes only who is blocked.
 *
 * Left out: memory orders (every step is sequentially consistent); what the queues are made of
 * (each is a number of jobs, each access to one is a step), so kept and overflow; steal's order;
 * stop and shutdown_now; the blocked workers' nudge (nudge.pml).
 *
 * A CAS loop whose failed rounds write nothing that others see is one step. "@src": see src.awk.
 *
 * Configuration: WORKERS (2, 3), PRODUCERS, JOBS (of each), SPAWNS (jobs that jobs make), BLOCKERS
 * (at most WORKERS - 1), REQUEUES (pushes that are not announced), SHUTDOWN, ASLEEP (at first all
 * are; else all are awake), DEADLINES (the alarm is set so often). LIVE: the property live.
 */
#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef PRODUCERS
#define PRODUCERS 1
#endif
#ifndef JOBS
#define JOBS 2
#endif
#ifndef SPAWNS
#define SPAWNS 0
#endif
#ifndef BLOCKERS
#define BLOCKERS 0
#endif
#ifndef REQUEUES
#define REQUEUES 0
#endif
#ifndef DEADLINES
#define DEADLINES 0
#endif

/* The idle word, with narrower fields. */
#ifndef TAGS
#define TAGS 32
#endif
#define TAG_MASK (TAGS - 1)
#define WAKING TAGS
#define SLEEPING_ONE (2 * TAGS)
#define SEARCHING_ONE (8 * TAGS)
#define TOP_ONE (32 * TAGS)
#define COUNTS (30 * TAGS)
#define sleeping(word) (((word) / SLEEPING_ONE) & 3)
#define searching(word) (((word) / SEARCHING_ONE) & 3)
#define top(word) ((word) / TOP_ONE)
#ifdef BREAK_TAG
#define with_top(word, place) (((place) * TOP_ONE) | ((word) & (COUNTS | TAG_MASK)))
#else
#define with_top(word, place) \
	(((place) * TOP_ONE) | ((word) & COUNTS) | (((word) + 1) & TAG_MASK))
#endif
#define same_stack(one, other) (((one) & ~COUNTS) == ((other) & ~COUNTS))

#ifndef WAKES
#define WAKES 16
#endif

#define SHUT 1
#define ENDED 4

short idle;
byte wake[WORKERS + 1] = 1; /* of worker 1, 2...; 0 is nobody's */
byte next[WORKERS + 1];
bool blocked[WORKERS + 1]; /* in the futex wait on its wake word */
byte pool_state;

/* Queues. */
byte injected;
byte lifo[WORKERS + 1];
byte runqueue[WORKERS + 1];

/* What is asserted about. */
byte made, ran;
byte spawns = SPAWNS;
byte requeues = REQUEUES;
byte stuck;      /* workers in a job that waits */
byte producing = PRODUCERS;
bool in_stack[WORKERS + 1];
bool counted[WORKERS + 1]; /* among the searching */
byte running;    /* workers that have not ended */

/* The alarm: the number of its deadline, or 0; of the deadline that is claimed, or 0. The newest
 * deadline passes first. */
byte alarm;
byte claim_of;
byte deadlines;
bool due;

#if WORKERS == 2
#define ALL_TAKEN (!alarm && !injected && !lifo[1] && !runqueue[1] && !lifo[2] && !runqueue[2])
#else
#define ALL_TAKEN (!alarm && !injected && !lifo[1] && !runqueue[1] && !lifo[2] && !runqueue[2] && \
	!lifo[3] && !runqueue[3])
#endif
#ifdef SHUTDOWN
#define ALL_DONE (!producing && made == ran && !stuck && !running)
#else
#define ALL_DONE (!producing && made == ran && !stuck)
#endif

#ifdef LIVE
ltl live { <> ALL_DONE }
#endif

/* Of the wake-up that `shown` shows; clobbers link. */
inline pop_woken(shown)
{
	/* @src idle.c:pop_woken load_relaxed(&sleeper->next) */
	link = next[top(shown)];
	atomic {
		if
		:: same_stack(idle, shown) ->
			/* @src idle.c:pop_woken cas_seq_cst(&idle->word, &found, popped) */
			assert((idle & WAKING) && in_stack[top(shown)] && !counted[top(shown)]);
			assert((wake[top(shown)] & 1) && link == next[top(shown)]); /* D1, D2 */
			in_stack[top(shown)] = false;
			counted[top(shown)] = true;
			idle = with_top(idle, link) - SLEEPING_ONE + SEARCHING_ONE
		:: else
		fi;
		link = 0
	}
}

/* Clobbers number, link. */
inline wake_top(shown)
{
	/* @src idle.c:wake_top uint32_t wake = load_acquire(&sleeper->wake) */
	number = wake[top(shown)];
	if
	/* @src idle.c:wake_top same_stack(load_seq_cst(&idle->word), word) */
	:: same_stack(idle, shown) ->
		atomic {
			if
#ifdef BREAK_WAKE_STORE
			:: !(number & 1) ->
#else
			:: !(number & 1) && wake[top(shown)] == number ->
#endif
				/* @src idle.c:wake_top
				 * cas_release(&sleeper->wake, &wake, wake + 1) */
				wake[top(shown)] = number + 1
			:: else
			fi;
			/* One step with the CAS: who is blocked in between is not hurt by it.
			 * @src idle.c:wake_top baton__futex_wake(&sleeper->wake, 1) */
			blocked[top(shown)] = false;
			number = 0
		}
		pop_woken(shown)
	:: else -> number = 0
	fi
}

/* Clobbers word, number, link. */
inline notify()
{
	do
	:: atomic {
		/* @src idle.c:baton__idle_notify uint64_t word = load_seq_cst(&idle->word) */
		word = idle;
		if
		:: (word & WAKING)
		:: !(word & WAKING) && (searching(word) || !sleeping(word)) -> word = 0; break
		:: else -> assert(top(word))
		fi
	   }
	   atomic {
		if
		:: word & WAKING
		:: !(word & WAKING) && idle == word ->
			/* @src idle.c:baton__idle_notify cas_seq_cst(&idle->word, &word, waking) */
			assert(!searching(idle)); /* D4 */
			word = with_top(word, top(word)) | WAKING;
			idle = word
		:: else -> word = 0
		fi
	   }
	   if
	   :: word -> wake_top(word); word = 0; break
	   :: else
	   fi
	od
}

/* found: is there a job that could be taken? Each look is a step. Clobbers i. */
inline has_work()
{
	found = (injected != 0);
	i = 1;
	do
	:: !found && i <= WORKERS ->
		/* @src worker.c:baton__worker_has_work load_seq_cst(&worker->lifo) */
		found = (lifo[i] != 0);
		if
		:: !found -> found = (runqueue[i] != 0)
		:: else
		fi;
		i++
	:: else -> i = 0; break
	od;
#if DEADLINES && !defined(BREAK_OPEN_NO_WORK)
	/* @src alarm.h:baton__alarm_is_open word = load_seq_cst(&alarm->word) */
	found = found || (alarm && !claim_of)
#endif
}

/* worker.c: baton__worker_got_work, with `more`. */
inline got_work()
{
	if
	:: is_searching ->
		atomic {
			is_searching = false;
			/* @src idle.c:baton__idle_stop_searching
			 * sub_seq_cst(&idle->word, SEARCHING_ONE) */
			assert(searching(idle) && counted[me]);
			more = (searching(idle) == 1);
			idle = idle - SEARCHING_ONE;
			counted[me] = false
		}
#ifdef BREAK_LAST_SEARCHER
		more = false;
#endif
		if
		:: more -> has_work(); more = found; found = false
		:: else
		fi
	:: else
	fi;
	if
	:: more -> more = false; notify()
	:: else
	fi
}

proctype Worker(byte me)
{
	short word;
	byte number, link, i, share, victim;
	bool is_searching, found, more, unannounced, alone;
	byte claimed; /* the deadline that this worker has claimed, or 0 */

#ifdef ASLEEP
	goto wait;
#endif
own:
	/*
	 * One step: others only take from the own queues, and which of them comes first changes.
	 * Not to look at the injection queue, which is looked at again below, is one choice more.
	 */
	atomic {
		if
		:: lifo[me] ->
			/* @src slot.h:baton__slot_take swap_acquire(slot, NULL) */
			lifo[me] = 0;
			goto job
		:: runqueue[me] -> runqueue[me]--; goto job
		:: injected -> goto fetch
		:: !lifo[me] && !runqueue[me]
		fi
	}

	/* ---- find ---- */
find:
	atomic {
		if
		/* @src park.c:baton__worker_is_ending load_acquire(&pool->state) */
		:: pool_state & ENDED -> goto stop
		:: !(pool_state & ENDED) && is_searching -> goto fetch
		:: else
		fi;
		if
		:: searching(idle) && 2 * (searching(idle) + 1) > WORKERS -> goto park
		:: else ->
			/* @src idle.c:baton__idle_try_search
			 * cas_seq_cst(&idle->word, &word, word + SEARCHING_ONE) */
			assert(!counted[me]);
			idle = idle + SEARCHING_ONE;
			counted[me] = true;
			is_searching = true
		fi
	}
fetch:
	atomic {
		if
		:: injected ->
			/* @src worker.c:fetch
			 * baton__injection_fetch(&worker->pool->injection, share */
			share = (injected > 1 -> 2 : 1);
			injected = injected - share;
			more = (share > 1 || injected);
			if
			:: share == 2 ->
				/* @src worker.c:fetch
				 * baton__worker_put_back(worker, job) */
				share = 0;
				goto fetched_two
			:: else -> share = 0; goto got
			fi
		:: !injected && !is_searching -> goto own
		:: else
		fi
	}
steal:
	victim = 1;
	do
	:: victim > WORKERS -> victim = 0; break
	:: victim == me -> victim++
	:: victim <= WORKERS && victim != me ->
		atomic {
			if
			:: runqueue[victim] ->
				/* @src steal.c:baton__worker_steal
				 * baton__order_steal(&worker->order, */
				share = (runqueue[victim] > 1 -> 2 : 1);
				runqueue[victim] = runqueue[victim] - share;
				more = (share > 1);
				if
				:: more -> runqueue[me]++
				:: else
				fi;
				share = 0;
				victim = 0;
				goto got
			:: else
			fi
		}
		atomic {
			if
			:: lifo[victim] -> lifo[victim] = 0; victim = 0; goto got
			:: else -> victim++
			fi
		}
	od;
#if DEADLINES
	atomic {
		if
		:: alarm && due ->
			/* @src alarm.c:baton__alarm_take
			 * cas_acquire(&alarm->word, &word, ATTACHED | TAKEN) */
			alarm = 0;
			claim_of = 0;
			goto got
		:: else
		fi
	}
#endif

	/* ---- park ---- */
park:
#ifdef SHUTDOWN
	/* @src crew.c:baton__pool_may_end load_seq_cst(&pool->state) & BATON__POOL_SHUTDOWN */
	alone = pool_state & SHUT;
#endif
	/* @src idle.c:baton__idle_enter store_seq_cst(&sleeper->wake */
#ifdef BREAK_WAKE_SAME
	wake[me] = 2;
#else
	wake[me] = ((wake[me] | 1) + 1) & (WAKES - 1);
#endif
enter:
	/* @src idle.c:baton__idle_enter uint64_t word = load_seq_cst(&idle->word) */
	word = idle;
	if
	:: word & WAKING -> wake_top(word); goto enter
	:: else
	fi;
	atomic {
		if
		:: alone && sleeping(word) == WORKERS - 1 -> word = 0; goto try_end
		:: else
		fi;
		/* @src idle.c:baton__idle_enter store_relaxed(&sleeper->next, top(word)) */
		assert(!in_stack[me]); /* D1, D2 */
		next[me] = top(word)
	}
	atomic {
		if
		:: idle != word -> goto enter
		:: else
		fi;
		/* @src idle.c:baton__idle_enter cas_seq_cst(&idle->word, &word, pushed) */
		assert(counted[me] == is_searching);
		word = with_top(word, me) + SLEEPING_ONE - (is_searching -> SEARCHING_ONE : 0);
		idle = word;
		in_stack[me] = true;
		counted[me] = false;
		is_searching = false;
		more = !searching(word);
		word = 0
	}
#ifndef BREAK_STATE_UNSEEN
	atomic {
		/* @src park.c:baton__worker_park state = load_seq_cst(&pool->state) */
		if
		:: pool_state & ENDED -> more = false; goto stop
		:: else -> found = (!alone && pool_state & SHUT)
		fi;
		alone = false
	}
#endif
#if DEADLINES && !defined(BREAK_NO_CLAIM)
	atomic {
		if
		:: alarm && !claim_of ->
			/* @src alarm.c:baton__alarm_claim
			 * cas_relaxed(&alarm->word, &word, word | CLAIMED) */
			claimed = alarm;
			claim_of = alarm
		:: else
		fi
	}
#endif
	if
#ifndef BREAK_LOOK
	/* @src park.c:baton__worker_park entered == BATON__IDLE_LOOK */
	:: more && !found -> has_work()
#endif
	:: else
	fi;
	if
	/* @src park.c:baton__worker_park baton__idle_notify(&pool->idle) */
	:: more && found -> found = false; more = false; notify()
	:: else -> found = false; more = false
	fi;

	/* ---- baton__idle_wait ---- */
wait:
	/*
	 * The look before the futex wait is one step with it: what differs comes back here.
	 * @src idle.c:baton__idle_wait watch.value = load_acquire(wake)
	 * @src futex.c:wait_one syscall(SYS_futex, word, FUTEX_WAIT_BITSET
	 */
	blocked[me] = !(wake[me] & 1);
#ifndef SHUTDOWN
end_sleep:
#endif
#if DEADLINES
	if
	:: !blocked[me]
	:: claimed && due ->
		atomic {
			if
			:: wake[me] & 1 -> goto woken
			:: else -> blocked[me] = false
			fi;
			/* @src alarm.c:baton__alarm_give_up
			 * cas_seq_cst(&alarm->word, &word, word & ~CLAIMED) */
			found = (alarm == claimed && claim_of == claimed);
			claim_of = (found -> 0 : claim_of);
			claimed = 0
		}
		if
#ifndef BREAK_TIME_OUT_SILENT
		/* @src park.c:sleep_in_set baton__idle_notify(&pool->idle) */
		:: found -> found = false; notify()
#endif
		:: else -> found = false
		fi;
		goto wait
	fi;
#else
	!blocked[me];
#endif
	if
	:: !(wake[me] & 1) -> goto wait
	:: else
	fi;
woken:
#if DEADLINES
	atomic {
#ifndef BREAK_CLAIM_KEPT
		claim_of = (claimed && alarm == claimed && claim_of == claimed -> 0 : claim_of);
#endif
		claimed = 0
	}
#endif
	atomic {
		/* @src idle.c:baton__idle_wait word = load_seq_cst(&idle->word) */
		word = idle;
		if
#ifndef BREAK_SELF_POP
		:: (word & WAKING) && top(word) == me
#endif
		:: else -> word = 0
		fi
	}
	if
	:: word -> pop_woken(word); word = 0
	:: else
	fi;
	atomic {
		/* @src park.c:baton__worker_park worker->searching = true */
		is_searching = true;
		if
		:: pool_state & ENDED -> goto stop
		:: else -> assert(counted[me] && !in_stack[me]); goto find
		fi
	}
try_end:
	atomic {
		alone = false;
		/* @src park.c:try_end baton__injection_close_if_empty(&pool->injection) */
		if
		:: is_searching && !injected ->
			/* @src pool.c:baton__pool_set_state
			 * cas_seq_cst(&pool->state, &state, state | bits) */
			pool_state = pool_state | ENDED;
			victim = 1
		:: else -> goto find
		fi
	}
	do
	:: victim <= WORKERS ->
		/* @src idle.c:baton__idle_wake_all or_seq_cst(&idle->sleepers[i].wake, 1) */
		wake[victim] = wake[victim] | 1;
		/* @src idle.c:baton__idle_wake_all
		 * baton__futex_wake(&idle->sleepers[i].wake, INT_MAX) */
		blocked[victim] = false;
		victim++
	:: else -> victim = 0; break
	od;
	goto find;

	/* ---- It has a job; one of two goes to the own run queue ---- */
fetched_two:
	runqueue[me]++;
got:
	got_work();
job:
	if
	:: unannounced ->
		unannounced = false;
		/* @src worker.c:next_job !baton__order_is_empty(&worker->order) */
		if
		:: runqueue[me] -> notify()
		:: else
		fi
	:: else
	fi;
	atomic {
		ran++;
		assert(ran <= made);
		if
		:: goto may_block
		:: spawns -> spawns--; made++; goto spawn
		:: requeues -> requeues--; made++; goto requeue
		fi
	}
spawn:
#ifdef BREAK_NOTIFY_FIRST
	notify();
#endif
	atomic {
		/* @src worker.c:baton__worker_schedule swap_seq_cst(&worker->lifo, job) */
		more = lifo[me];
		lifo[me] = 1
	}
	if
	:: more -> more = false; runqueue[me]++
	:: else
	fi;
#ifndef BREAK_NOTIFY_FIRST
	/* @src worker.c:baton__worker_schedule return baton__pool_notify(worker->pool) */
	notify();
#endif
	goto may_block;
requeue:
	runqueue[me]++;
	atomic {
		/* @src worker.c:put_behind
		 * baton__order_length(&worker->order) == 1 */
		if
		:: runqueue[me] == 1 && !lifo[me] -> unannounced = true; goto may_block
		:: else
		fi
	}
	notify();
may_block:
	atomic {
		if
		:: goto own
		:: spawns -> spawns--; made++; goto spawn
		:: stuck < BLOCKERS -> stuck++
		fi
	}
	if
	:: unannounced ->
		unannounced = false;
#ifndef BREAK_BLOCKS_SILENTLY
		/* @src worker.c:baton__worker_blocks baton__worker_announce(worker->pool) */
		notify()
#endif
	:: else
	fi;
	atomic {
		/* The job waits for all that there is: others must come for it (L6). */
		ALL_TAKEN ->
		stuck--;
		goto own
	}
stop:
	running--
}

proctype Producer()
{
	short word;
	byte number, link, jobs = JOBS;

	do
	:: jobs ->
		jobs--;
#ifdef BREAK_NOTIFY_FIRST
		made++;
		notify();
		injected++
#else
		atomic {
			/* @src pool.c:baton__pool_push
			 * baton__injection_push(&pool->injection, job) */
			injected++;
			made++
		}
		/* @src pool.c:baton__pool_push baton__pool_notify(pool) */
		notify()
#endif
	:: else -> break
	od;
	producing--
}

#if DEADLINES
/* Sets a deadline; each is earlier than the one before. */
proctype Timer()
{
	short word;
	byte number, link;

	do
	:: deadlines < DEADLINES ->
		atomic {
			/* @src alarm.c:baton__alarm_set cas_seq_cst(&alarm->word */
			made = made + (alarm -> 0 : 1);
			deadlines++;
			alarm = deadlines;
#ifndef BREAK_SET_KEEPS_CLAIM
			claim_of = 0;
#else
			claim_of = (claim_of -> alarm : 0);
#endif
			due = false
		}
		/* @src alarm.c:baton__alarm_announce notify(alarm) */
		notify()
	:: else -> break
	od;
	producing--
}

proctype Clock()
{
end:	do
	:: atomic { alarm && !due -> due = true }
	od
}
#endif

init
{
#ifdef SHUTDOWN
	short word;
	byte number, link;
#endif
	byte i;

	atomic {
		running = WORKERS;
		i = 1;
		do
		:: i <= WORKERS ->
#ifdef ASLEEP
			wake[i] = 2;
			next[i] = i - 1;
			in_stack[i] = true;
			idle = (i * TOP_ONE) | (i * SLEEPING_ONE);
#endif
			run Worker(i);
			i++
		:: else -> break
		od;
		i = 0;
		do
		:: i < PRODUCERS -> run Producer(); i++
		:: else -> i = 0; break
		od;
#if DEADLINES
		producing++;
		run Timer();
		run Clock();
#endif
	}
#ifdef SHUTDOWN
	!producing;
	/* @src pool.c:begin_shutdown baton__pool_set_state(pool, BATON__POOL_SHUTDOWN) */
	pool_state = pool_state | SHUT;
	/* @src pool.c:begin_shutdown baton__idle_notify(&pool->idle) */
	notify();
#endif
	/* Nothing is left behind: else this is no valid end. */
	ALL_DONE
}
