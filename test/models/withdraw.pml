/* SPDX-License-Identifier: MIT */
/*
 * Threads from outside that withdraw their job from a pool which is about to end (pool.c, P5;
 * withdraw.c): the injection queue is not closed while they have jobs in their hands.
 *
 * Modelled: hands, the look at the state, the jobs taken and put back one by one, the last worker's
 * attempts to end the pool, with ENDING, shutdown_now's fetches. Each withdrawer wants one job; who
 * does not get it sleeps until it is done. One more job is submitted at any time.
 *
 * Left out: memory orders (every step is sequentially consistent); the worker's own queues, and the
 * workers that sleep (park.pml); nudges (nudge.pml); what the injection queue is made of.
 *
 * "@src": see src.awk. Configuration: WITHDRAWERS, JOBS (more than those), NOW (shutdown_now; else
 * shutdown). LIVE: the property live.
 */
#ifndef WITHDRAWERS
#define WITHDRAWERS 1
#endif
#ifndef JOBS
#define JOBS 3
#endif

/* The state. */
#define SHUT 1
#define STOP 2
#define ENDED 4
#define ENDING 8

byte state;
byte hands;
bool queue[JOBS + 1];     /* which jobs are in it */
byte length = JOBS - 1;
bool closed;

/* Times that a job was run, withdrawn, refused, or given back by shutdown_now. */
byte done[JOBS + 1];
byte all;
byte returned;
bool stopped;             /* the worker has */
bool listed;              /* shutdown, shutdown_now has returned */

#define ALL_DONE (stopped && listed && returned == WITHDRAWERS && all == JOBS && closed && !hands)

#ifdef LIVE
ltl live { <> ALL_DONE }
#endif

inline settle_job(job)
{
	done[job]++;
	assert(done[job] == 1);
	all++
}

/* Takes a job that there is; one step. */
inline take(job)
{
	job = 1;
	do
	:: queue[job] -> break
	:: else -> job++
	od;
	queue[job] = false;
	length--
}

proctype Withdrawer(byte mine)
{
	byte job;
	bool found, held[JOBS + 1];

#ifdef BREAK_COUNTED_LATE
	found = (state & (STOP | ENDED | ENDING));
	hands++;
	if
	:: found -> found = false;
#else
	/* @src withdraw.c:take_in_hand add_seq_cst(&pool->hands, 1) */
	hands++;
	if
	/* @src withdraw.c:take_in_hand load_seq_cst(&pool->state) */
	:: state & (STOP | ENDED | ENDING) ->
#endif
		/* @src withdraw.c:take_in_hand sub_seq_cst(&pool->hands, 1) */
		hands--;
		goto sleep
	:: else
	fi;
	/* @src withdraw.c:baton__pool_withdraw
	 * baton__injection_fetch(&pool->injection, SIZE_MAX, &list) */
	do
	:: atomic { length -> take(job); held[job] = true; job = 0 }
	:: atomic { else -> job = 1 }
		break
	od;
#ifdef BREAK_LET_GO_EARLY
	hands--;
#endif
	do
	:: job > JOBS -> break
	:: job <= JOBS && held[job] ->
		atomic {
			held[job] = false;
			if
			:: job == mine -> found = true; settle_job(job)
			:: else ->
				/* @src withdraw.c:put_others_back
				 * baton__injection_push_list(&pool->injection, &others) */
				assert(!closed);
				queue[job] = true;
				length++
			fi;
			job++
		}
	:: job <= JOBS && !held[job] -> job++
	od;
#ifndef BREAK_LET_GO_EARLY
	/* @src withdraw.c:put_others_back sub_seq_cst(&pool->hands, 1) */
	hands--;
#endif
sleep:
	job = 0;
	found || done[mine];
	found = false;
	returned++
}

/* A resource's job, which is accepted after a shutdown, too. */
proctype Submitter()
{
	if
	/* @src pool.c:schedule_unless load_acquire(&pool->state) & refusing */
	:: state & (STOP | ENDED) -> atomic { settle_job(JOBS) }
	:: else ->
		atomic {
			if
			/* @src pool.c:baton__pool_push
			 * baton__injection_push(&pool->injection, job) */
			:: closed -> settle_job(JOBS)
			:: else -> queue[JOBS] = true; length++
			fi
		}
	fi
}

/* The last one awake. */
proctype Worker()
{
	byte job;
	bool in_hands;

	do
	/* @src park.c:baton__worker_is_ending load_acquire(&pool->state) */
	:: state & (STOP | ENDED) -> break
	:: atomic { length && !(state & (STOP | ENDED)) -> take(job) }
		atomic { settle_job(job); job = 0 }
	:: !length && (state & SHUT) && !(state & (STOP | ENDED)) ->
		/* try_end */
#ifdef BREAK_HANDS_EARLY
		in_hands = (hands != 0);
#endif
		/* @src park.c:try_end baton__pool_set_state(pool, BATON__POOL_ENDING) */
		atomic { assert(!(state & ENDING)); state = state | ENDING }
#ifndef BREAK_HANDS_EARLY
		/* @src park.c:try_end !baton__pool_in_hands(pool) */
		in_hands = (hands != 0);
#endif
		/* @src park.c:try_end baton__injection_close_if_empty(&pool->injection) */
		atomic {
			if
			:: !in_hands && !length -> closed = true
			:: else -> in_hands = true
			fi
		}
		if
		:: !in_hands ->
			/* @src park.c:try_end baton__pool_set_state(pool, BATON__POOL_ENDED) */
			state = state | ENDED
		:: else ->
			in_hands = false;
#ifndef BREAK_ENDING_STAYS
			/* @src park.c:try_end sub_seq_cst(&pool->state, BATON__POOL_ENDING) */
			state = state & ~ENDING
#endif
		fi
	od;
	stopped = true
}

proctype Closer()
{
	byte job;

	/* @src pool.c:baton_pool_shutdown_now baton__pool_set_state(pool, BATON__POOL_SHUTDOWN) */
	state = state | SHUT;
#ifdef NOW
	/* @src pool.c:baton_pool_shutdown_now baton__pool_set_state(pool, BATON__POOL_STOP) */
	state = state | STOP;
	do
	:: true ->
		if
#ifndef BREAK_HANDS_UNSEEN
		/* @src pool.c:baton_pool_shutdown_now while (baton__pool_in_hands(pool) ||
		 * !baton__injection_close_if_empty(&pool->injection)) */
		:: hands
#endif
		:: else ->
			atomic {
				if
				:: !length -> closed = true; break
				:: else
				fi
			}
		fi;
		/* @src pool.c:baton_pool_shutdown_now
		 * baton__injection_fetch(&pool->injection, SIZE_MAX, &list) */
		atomic {
			if
			:: length -> take(job); settle_job(job); job = 0
			:: else
			fi
		}
	od;
#endif
	listed = true
}

init
{
	byte i;

	atomic {
		i = 1;
		do
		:: i < JOBS -> queue[i] = true; i++
		:: else -> break
		od;
		i = 1;
		do
		:: i <= WITHDRAWERS -> run Withdrawer(i); i++
		:: else -> break
		od;
		i = 0;
		run Submitter();
		run Worker();
		run Closer()
	}
	/* Nothing is left behind: else this is no valid end. */
	ALL_DONE
}
