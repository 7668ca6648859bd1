/* SPDX-License-Identifier: MIT */
/*
 * Threads that sleep in a wait, and who makes work that they could help with: `asleep` and `nudge`
 * (thread.h, T2 and T3), blocked workers (pool.c, P2).
 *
 * Modelled: sleeps, the look for work, the futex wait on the future's word and the nudge, wakes,
 * nudges of one and of all, the second looks, a nudge passed on by a waiter whose time is up, the
 * nudge after give_back, a job published while workers block. The waiters' tasks are all in one
 * resource, which no executor takes: they themselves must run them. A futex wait compares and
 * blocks in one step; a wake wakes only who is blocked.
 *
 * Left out: memory orders (every step is sequentially consistent), the registry's growth, visits
 * (future.pml), spinning before the sleep, waits for several futures, executors that are driven.
 *
 * "@src": see src.awk. Configuration: WAITERS; TIMED of them, the first in the registry, may leave
 * at any sleep, having no task; DEEP, LATE: see below; POOL: two workers, which block or take the
 * job, and a publisher who believes that one of them looks. LIVE: the property live.
 */
#ifndef WAITERS
#define WAITERS 2
#endif
#ifndef TIMED
#define TIMED 0
#endif
/* Of the TIMED: those that are too deep to help, and leave when they find that they should. */
#ifndef DEEP
#define DEEP 0
#endif
/* LATE: the last waiter pushes its task just before it waits; else all are there at first. */
#ifdef LATE
#define HAS_TASK (first < WAITERS || first == WAITERS && pushed)
#else
#define HAS_TASK (first <= WAITERS)
#endif
/* A waiter that was nudged, and has gone round without helping, remembers it. */
#ifdef BREAK_FORGETS
#define CARRIED
#else
#define CARRIED nudged ||
#endif
#define WORKERS 2

#define HELD 0
#define QUEUED 1
#define HELPED 2

byte turn;
bool queue;                  /* the job is in the pool's queue */
byte first = TIMED + 1;      /* the list: this one's task and those after it */

bool final[WAITERS + 1];
bool announced[WAITERS + 1]; /* SLEEPERS in that future */
byte nudge[WAITERS + 1];
bool asleep[WAITERS + 1];
byte sleepers;
bool in_futex[WAITERS + 1];
byte blocked;

byte returned;
#ifdef LATE
bool pushed;
#endif

#define ALL_DONE (returned == WAITERS)

#ifdef LIVE
ltl live { <> ALL_DONE }
#endif

/* acted: the thread will look; clobbers nothing. */
inline nudge_thread(thread)
{
	acted = false;
	if
	/* @src thread.c:baton__thread_nudge load_seq_cst(&thread->asleep) */
	:: asleep[thread] ->
		/* @src thread.c:baton__thread_nudge add_seq_cst(&thread->nudge, 1) */
		nudge[thread]++;
		/* @src thread.c:baton__thread_nudge baton__futex_wake(&thread->nudge, 1) */
		in_futex[thread] = false;
#ifdef BREAK_NO_SECOND_LOOK
		acted = true
#else
		/* @src thread.c:baton__thread_nudge return load_seq_cst(&thread->asleep) */
		acted = asleep[thread]
#endif
	:: else
	fi
}

/* Clobbers i, acted. */
inline nudge_for()
{
	if
	/* @src thread.c:baton__thread_any_asleep load_seq_cst(&sleepers) */
	:: sleepers ->
		i = 1;
		do
		:: i > WAITERS -> break
		:: i == me -> i++
		:: i <= WAITERS && i != me ->
			if
			/* @src thread.c:baton__thread_nudge_for load_seq_cst(&thread->asleep) */
			:: asleep[i] ->
				/* It waits for this resource: there is no other.
				 * @src thread.c:baton__thread_nudge_for
				 * load_relaxed(&thread->awaiting) (x2) */
				nudge_thread(i);
				if
				:: acted -> break
				:: else
				fi
			:: else
			fi;
			i++
		od;
		i = 0;
		acted = false
	:: else
	fi
}

inline nudge_all()
{
	if
	:: sleepers ->
		i = 1;
		do
		:: i > WAITERS -> break
		:: i == me -> i++
		/* @src thread.c:baton__thread_nudge_all baton__thread_nudge(thread) */
		:: i <= WAITERS && i != me -> nudge_thread(i); i++
		od;
		i = 0;
		acted = false
	:: else
	fi
}

proctype Waiter(byte me)
{
	byte seen, i;
	bool acted, did, late, nudged;

#ifdef LATE
	if
	/* @src word.h:baton__word_push cas_release(&resource->_word, word */
	:: me == WAITERS -> pushed = true
	:: else
	fi;
#endif
	do
	:: true ->
		/* @src thread.c:baton__thread_sleeps load_acquire(&self->nudge) */
		seen = nudge[me];
#ifndef BREAK_ASLEEP_LATE
		/* @src thread.c:baton__thread_sleeps add_seq_cst(&sleepers, 1) */
		sleepers++;
		/* @src thread.c:baton__thread_sleeps store_seq_cst(&self->asleep, 1) */
		asleep[me] = true;
#endif
		/* help: the tasks up to its own */
		if
		/* @src turn.c:baton__turn_borrow cas_acquire(&resource->_job._turn, &turn, next) */
		:: atomic { !final[me] && me <= DEEP && turn == QUEUED -> late = true }
		:: atomic { !final[me] && me > DEEP && turn == QUEUED -> turn = HELPED }
			/* All, where its own has not come yet. */
			do
			:: !final[me] && HAS_TASK ->
				atomic {
					/* @src future.c:publish
					 * cas_acq_rel(&future->_state, &found, next) */
					assert(!final[first]);
					final[first] = true;
					did = true;
					if
					:: announced[first] -> in_futex[first] = false
					:: else
					fi;
					first++
				}
			:: else -> break
			od;
			/* @src turn.c:baton__turn_give_back
			 * cas_seq_cst(&resource->_job._turn, &turn, next) */
			turn = QUEUED;
#ifndef BREAK_GIVE_BACK_SILENT
			if
			/* @src visit.c:give_back_queued baton__thread_nudge_for(resource, member) */
			:: did -> nudge_for()
#ifndef BREAK_PUSHED_SINCE
			/* @src visit.c:pushed_since
			 * baton__thread_any_asleep() && baton__word_newest */
			:: !did && sleepers ->
				if
				/* @src visit.c:give_back_queued busy && (did || pushed_since(resource)) */
				:: HAS_TASK -> nudge_for()
				:: else
				fi
#endif
			:: else
			fi;
#endif
			/* @src wait.c:sleep_once if (status == 1) wait->answered = nudge; */
			nudged = nudged && !did
		:: else
		fi;
#ifdef BREAK_ASLEEP_LATE
		sleepers++;
		asleep[me] = true;
#endif
		/* doze */
#ifdef BREAK_NUDGE_LATE
		seen = nudge[me];
#endif
		if
		:: did -> did = false
		:: !did && late
		:: !did && !late && me <= TIMED && me > DEEP -> late = true
		:: !did && !late ->
			/* @src wait.c:announce
			 * cas_acquire(word, &state, state | BATON__FUTURE_SLEEPERS) */
			announced[me] = true;
			/* @src wait.c:doze baton__futex_wait(watches, count + 1, wait->deadline_ns) */
			atomic { in_futex[me] = (!final[me] && nudge[me] == seen) }
			if
			:: !in_futex[me]
			:: me <= TIMED && me > DEEP -> in_futex[me] = false; late = true
			fi
		fi;
#ifdef BREAK_WAKES_EARLY_LOOK
		nudged = CARRIED (nudge[me] != seen);
#endif
		/* @src thread.c:baton__thread_wakes store_seq_cst(&self->asleep, 0) */
		asleep[me] = false;
		/* @src thread.c:baton__thread_wakes sub_relaxed(&sleepers, 1) */
		sleepers--;
#ifndef BREAK_WAKES_EARLY_LOOK
		/* @src thread.c:baton__thread_wakes load_seq_cst(&self->nudge) != nudge */
		/* @src wait.c:wait_long wait->answered = load_relaxed(&baton__self->nudge) */
		nudged = CARRIED (nudge[me] != seen);
#endif
		if
#ifndef BREAK_NOT_PASSED_ON
		/* @src wait.c:sleep_once
		 * if (baton__thread_wakes(wait->answered) && (status < 0 || wait_is_over(wait))) */
		:: nudged && (late || final[me]) -> nudge_all()
#endif
		:: else
		fi;
		seen = 0;
		if
		:: late || final[me] -> break
		:: else
		fi
	od;
	late = false;
	nudged = false;
	returned++
}

#ifdef POOL
/* From outside: it sees a worker that looks, so it leaves it at that. */
proctype Publisher()
{
	byte me = 0, i;
	bool acted;

	/* @src turn.h:baton__turn_queue add_seq_cst(&resource->_job._turn, BATON__QUEUED) */
	turn = turn + QUEUED;
	/* @src pool.c:baton__pool_push baton__injection_push(&pool->injection, job) */
	queue = true;
	if
	/* @src crew.c:baton__crew_call staff_count(pool, BATON__STAFF_VACANT) >= pool->worker_count */
	:: blocked >= WORKERS -> nudge_all()
	:: else
	fi
}

proctype Worker()
{
	byte me = 0, i;
	bool acted;

	if
	/* It looks, finds the job, and runs all, unless a helper has the baton. */
	:: atomic { queue -> queue = false };
		atomic {
			turn != HELPED ->
			do
			:: first <= WAITERS ->
				final[first] = true;
				in_futex[first] = false;
				first++
			:: else -> break
			od;
			turn = HELD
		}
	/* It has found another one, inside which it blocks. */
	:: true ->
#ifdef BREAK_BLOCKED_LATE
		acted = queue;
		blocked++;
#else
		/* @src crew.c:baton__crew_blocks store_seq_cst(&worker->holder, 0) */
		blocked++;
		/* @src crew.c:baton__crew_blocks baton__pool_has_work(pool) */
		acted = queue;
#endif
		if
		:: blocked >= WORKERS && acted -> acted = false; nudge_all()
		:: else -> acted = false
		fi
	fi
}
#else
/* Its runner hands the resource off; all workers are in jobs, and stay there. */
proctype Runner()
{
	byte me = 0, i;
	bool acted;

#ifdef BREAK_NUDGE_FIRST
	nudge_for();
	turn = turn + QUEUED
#else
	/* @src turn.h:baton__turn_queue add_seq_cst(&resource->_job._turn, BATON__QUEUED) */
	turn = turn + QUEUED;
	/* @src handoff.c:baton__hand_off baton__thread_nudge_for(resource, member) */
	nudge_for()
#endif
}
#endif

init
{
	byte i;

	atomic {
		i = 1;
		do
		:: i <= WAITERS -> run Waiter(i); i++
		:: else -> break
		od;
		i = 0;
#ifdef POOL
		run Publisher();
		run Worker();
		run Worker()
#else
		run Runner()
#endif
	}
	/* Nobody is left behind: else this is no valid end. */
	ALL_DONE
}
