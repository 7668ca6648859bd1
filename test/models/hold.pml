/* SPDX-License-Identifier: MIT */
/*
 * Holds (hold.c): two threads that hold, by a capture or by a grant that a runner meets; the grant's
 * future between the claim and a deadline; the shelf bits of the turn between the runner that leaves
 * and the release; a submitter; a suspension.
 *
 * Modelled: the capture, the push, the drain, the claim, want_shelf and ATTENTION, the completion of
 * the grant, the leave, the unshelving, in every order; a deadline at any step of the wait. A runner
 * that is stopped before it leaves is an order in which the hold and its release come first.
 *
 * Left out: memory orders (every step is sequentially consistent); helping, hand-offs, limits (the
 * shelf with these: shelf.pml; the rest: resource.pml); the order of entries.
 *
 * "@src": see src.awk. Configuration: TASKS: of the submitter; DEADLINES: of the holders, the first
 * ones have a deadline; ROUNDS: so often each holds; SUSPEND. LIVE: the property live.
 */
#ifndef TASKS
#define TASKS 1
#endif
#ifndef DEADLINES
#define DEADLINES 0
#endif
#ifndef ROUNDS
#define ROUNDS 1
#endif
#ifdef SUSPEND
#define THREADS 4
#else
#define THREADS 3
#endif

#define BUSY 1
#define ATTENTION 2

/* The shelf bits of the turn. */
#define WANTED 1
#define CALLED 2
#define LEFT 3

/* A grant's future, and a suspension's. */
#define FRESH 0
#define PENDING 1
#define RUNNING 2
#define DONE 3
#define CANCELLED 4

/* Grants 0 and 1; a suspension. */
#define SUSPENSION 2

byte word;
byte shelf;
byte future[3];
bool pushed[3]; /* in the inbox */
bool listed[3]; /* in the list */
bool unmet[3];  /* the runner has not come to it */
byte inbox, list; /* tasks */

/* What is asserted about. */
byte runner; /* who has the baton and runs tasks: 0 or its process */
byte owner;  /* whose hold or suspension is in effect: 0 or its process */
byte done;   /* tasks */
byte ended;

#ifdef LIVE
ltl live { <> (ended == THREADS) }
#endif

#define EMPTY_INBOX (!inbox && !pushed[0] && !pushed[1] && !pushed[2])
#define EMPTY_LIST (!list && !listed[0] && !listed[1] && !listed[2])

/* Runs what waits, with the baton, until it is released or on the shelf. */
inline drain()
{
	do
	:: atomic {
		assert(runner == _pid);
		/* @src drain.c:next_step if (baton__turn_is_shelving(resource)) */
		if
		:: word & ATTENTION && shelf -> step = 1
		:: else ->
			if
			:: !EMPTY_LIST -> step = 2
			:: EMPTY_LIST && !EMPTY_INBOX ->
				/* @src word.h:baton__word_take
				 * cas_acquire(&resource->_word, &word, */
				list = inbox; inbox = 0;
				listed[0] = pushed[0]; listed[1] = pushed[1];
				listed[2] = pushed[2];
				pushed[0] = false; pushed[1] = false; pushed[2] = false;
				word = BUSY;
				step = 0
			:: else ->
				/* @src word.h:baton__word_release
				 * cas_release(&resource->_word, &word, baton__word_mode_after( */
				word = 0; runner = 0; step = 3
			fi
		fi
	   }
	   if
	   :: step == 0
	   :: step == 1 ->
#ifdef BREAK_LEAVE_STORE
		mine = shelf;
#endif
		atomic {
#ifndef BREAK_LEAVE_STORE
			mine = shelf;
#endif
			/* @src turn.c:baton__turn_shelve
			 * cas_acq_rel(&resource->_job._turn, &turn, next) */
			if
			:: mine == CALLED -> shelf = 0
			:: mine == WANTED -> runner = 0; shelf = LEFT; step = 3
			fi
		}
		if
		:: step == 3 -> break
		:: else
		fi
	   :: step == 2 ->
		atomic {
			if
			:: listed[SUSPENSION] -> listed[SUSPENSION] = false; which = SUSPENSION
			:: !listed[SUSPENSION] && list -> list--; which = 3
			:: !listed[SUSPENSION] && listed[0] -> listed[0] = false; which = 0
			:: !listed[SUSPENSION] && listed[1] -> listed[1] = false; which = 1
			fi
		}
		if
		:: which == 3 -> atomic { assert(!owner); done++ }
		:: else -> meet()
		fi
	   :: step == 3 -> break
	   fi
	od
}

/* The runner has come to a grant, or to the mark of a suspension. */
inline meet()
{
#ifndef BREAK_SHELVED_LATE
	atomic {
		/* @src run.c:claim baton__future_claim(future, */
		unmet[which] = false;
		if
		:: future[which] == PENDING -> future[which] = RUNNING
		:: else -> assert(future[which] == CANCELLED); which = 3
		fi
	}
	if
	:: which == 3
	:: else ->
		/* @src turn.c:baton__turn_want_shelf
		 * add_relaxed(&resource->_job._turn, BATON__SHELF_WANTED) */
		atomic { assert(!shelf); shelf = WANTED }
#ifndef BREAK_NO_ATTENTION
		/* @src word.c:baton__word_set_attention
		 * cas_relaxed(&resource->_word, &word, (word & ~BATON__WORD_MODE) | */
		word = word | ATTENTION;
#endif
		/* @src run.c:enter baton__future_finish(future, */
		future[which] = DONE
	fi
#else
	atomic {
		unmet[which] = false;
		if
		:: future[which] == PENDING -> future[which] = DONE
		:: else -> which = 3
		fi
	}
	if
	:: which == 3
	:: else -> shelf = WANTED; word = word | ATTENTION
	fi
#endif
}

/* The thread of a hold that was granted, or of a suspension, gives the baton back. */
inline unshelve()
{
#ifdef BREAK_UNSHELVE_STORE
	mine = shelf;
#endif
	atomic {
#ifndef BREAK_UNSHELVE_STORE
		mine = shelf;
#endif
		/* @src turn.c:baton__turn_unshelve
		 * cas_acq_rel(&resource->_job._turn, &turn, next) */
		assert(mine == WANTED || mine == LEFT);
		if
		:: mine == WANTED -> shelf = CALLED
		:: mine == LEFT -> shelf = 0; assert(!runner); runner = _pid
		fi
	}
	if
	:: mine == LEFT -> drain()
	:: else
	fi
}

inline in_effect()
{
	atomic { assert(!owner); owner = _pid }
	atomic { assert(owner == _pid); owner = 0 }
}

proctype Holder(byte me; bool limited)
{
	byte rounds, step, which, mine;

	do
	:: rounds < ROUNDS ->
		rounds++;
		atomic {
			if
			:: !(word & BUSY) ->
				/* @src inline.h:baton_inline_capture
				 * baton_inline_cas_acquire(&resource->_word, &idle, mode | BATON_INLINE_BUSY */
				assert(!runner && !shelf);
				word = BUSY; runner = _pid; mine = 1
			:: else ->
				/* @src word.h:baton__word_push
				 * cas_release(&resource->_word, word, (uintptr_t)newest */
				future[me] = PENDING; pushed[me] = true; unmet[me] = true;
				mine = 0
			fi
		}
		if
		:: mine == 1 ->
			in_effect();
			atomic {
				if
				/* @src inline.h:baton_inline_release
				 * baton_inline_cas_release(&resource->_word, &word, baton_inline_fresh(mode)) */
				:: word == BUSY && EMPTY_INBOX -> word = 0; runner = 0; mine = 2
				:: else -> mine = 1
				fi
			}
			if
			:: mine == 1 -> drain()
			:: else
			fi
		:: else ->
			/* The wait, until the grant or the deadline. */
			atomic {
				if
				:: future[me] == DONE
				/* @src cancel.c:baton__cancel_decide
				 * cas_relaxed(&future->_state, &state, next) */
				:: limited && future[me] == PENDING -> future[me] = CANCELLED
#ifdef BREAK_DEADLINE_WINS
				:: limited && future[me] == RUNNING -> future[me] = CANCELLED
#endif
				fi
			}
#ifdef BREAK_UNSHELVED_AT_THE_GRANT
			if
			:: future[me] == DONE -> unshelve(); in_effect()
			:: else
			fi;
#else
			if
			:: future[me] == DONE -> in_effect(); unshelve()
			:: else
			fi;
#endif
			/* A grant that was cancelled is a node of its own, which the runner comes to. */
			!unmet[me]
		fi
	:: else -> break
	od;
	ended++
}

proctype Submitter()
{
	byte count, step, which, mine;

	do
	:: count < TASKS ->
		count++;
		atomic {
			if
			:: word & BUSY -> inbox++; mine = 0
			:: else -> word = BUSY; assert(!runner && !shelf); runner = _pid; mine = 1
			fi
		}
		if
		:: mine == 1 ->
			atomic { assert(!owner); done++ }
			drain()
		:: else
		fi
	:: else -> break
	od;
	ended++
}

#ifdef SUSPEND
proctype Suspender()
{
	byte step, which, mine;

	atomic {
		if
		:: word & BUSY ->
			/* @src word.c:baton__word_push_mark cas_release(&resource->_word, word, */
			future[SUSPENSION] = PENDING; pushed[SUSPENSION] = true;
			word = word | ATTENTION
		:: else ->
			/* @src turn.c:baton__turn_shelve_idle
			 * add_relaxed(&resource->_job._turn, BATON__SHELF_LEFT) */
			assert(!runner && !shelf);
			word = BUSY; shelf = LEFT; future[SUSPENSION] = DONE
		fi
	}
	future[SUSPENSION] == DONE;
	in_effect();
	unshelve();
	ended++
}
#endif

init
{
	atomic {
		run Holder(0, DEADLINES > 0);
		run Holder(1, DEADLINES > 1);
		run Submitter();
#ifdef SUSPEND
		run Suspender();
#endif
	}
	ended == THREADS;
	assert(!word && !shelf && !runner && !owner && done == TASKS);
	assert(EMPTY_INBOX && EMPTY_LIST)
}
