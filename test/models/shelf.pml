/* SPDX-License-Identifier: MIT */
/*
 * The shelf (shelf.c): the SHELF bits of the turn word, between the runner that leaves, or a helper
 * in its place, and the unsheller; and a suspension that is withdrawn while its mark is met.
 *
 * Modelled: tasks that shelve, run at once, by a worker, by a helper; the look at ATTENTION, leave
 * and unshelve in every order, what the unsheller does then: release, run, hand off, or give back
 * what was borrowed; a suspender, of an idle resource too, its mark that goes first, its cancel.
 *
 * Left out: memory orders (every step is sequentially consistent); closing, visits and kicks, marks
 * that were postponed; refusals of the executor (the first three: resource.pml). Which task is which
 * does not matter here: the inbox and the list are numbers.
 *
 * "@src": see src.awk. Configuration: SUBMITTERS, of a task each; SHELVINGS: so many of their tasks
 * may shelve; HELPERS; SUSPEND; CAPTURE, QUANTUM: limits. LIVE: the property live.
 */
#ifndef SUBMITTERS
#define SUBMITTERS 2
#endif
#ifndef SHELVINGS
#define SHELVINGS 1
#endif
#ifndef HELPERS
#define HELPERS 0
#endif
#ifndef CAPTURE
#define CAPTURE 1
#endif
#ifndef QUANTUM
#define QUANTUM 1
#endif
#ifdef SUSPEND
#define SUSPENDERS 1
#else
#define SUSPENDERS 0
#endif

/* The word: the mode, the number of tasks in the inbox, a suspend mark among them. */
#define BUSY 1
#define ATTENTION 4
#define TASK 8
#define MARK 64
#define TASKS 120

/* The turn, as in turn.h. */
#define PHASE 3
#define HELD 0
#define QUEUED 1
#define HELPED 2
#define CONSUMED 3
#define SHELF 12
#define WANTED 4
#define CALLED 8
#define LEFT 12

/* The suspension's future. */
#define NONE 0
#define PENDING 1
#define CLAIMED 2
#define CANCELLED 3

/* What a thread does. */
#define NOTHING 0
#define SUBMITS 1
#define HELPS 2
#define UNSHELVES 3
#define SUSPENDS 4
#define RESUMES 5
#define EXECUTES 6

byte word;
byte turn;
byte list;
bool first;       /* the suspend mark, before the list */
byte queued;      /* entries of the job in the executor's queue */
byte future;

/* What is asserted about. */
byte holder;      /* who has the baton: 0 or its process */
bool stopped;     /* shelved, and not yet unshelved: nothing runs */
byte done;        /* tasks */
byte made, used;  /* shelvings by tasks, and their ends */
byte told;        /* of these shelvings the unsheller has been told */
byte ended;       /* threads, but for the executor's */

#define OTHERS (SUBMITTERS + HELPERS + SUSPENDERS + 1)
#define ALL_DONE (ended == OTHERS + 1)

#ifdef LIVE
ltl live { <> ALL_DONE }
#endif

/* R1 */
inline take_baton()
{
	assert(!holder);
	holder = _pid
}

inline give_up_baton()
{
	assert(holder == _pid);
	holder = 0
}

proctype Thread(byte action)
{
	byte seen;     /* the word or the turn as last loaded */
	byte budget;
	bool borrowed; /* the job is in the queue meanwhile */
	bool at_once;  /* on a short path */
	bool ending;   /* at the end of the drain */

script:
	atomic {
		assert(holder != _pid);
		seen = 0; budget = 0; borrowed = false; at_once = false; ending = false;
		if
		:: action == SUBMITS -> action = NOTHING; goto submit
		:: action == HELPS -> action = NOTHING; goto borrow
		:: action == UNSHELVES -> goto unsheller
		:: action == SUSPENDS -> action = RESUMES; goto suspend
		:: action == RESUMES -> action = NOTHING; goto resume
		:: action == EXECUTES -> goto pop
		:: action == NOTHING -> goto stop
		fi
	}

	/* ---- Submit: captured, the task is run at once ---- */
submit:
	atomic {
		if
		:: word & BUSY ->
			/* @src word.h:baton__word_push
			 * cas_release(&resource->_word, word, (uintptr_t)newest */
			word = word + TASK;
			goto script
		:: else ->
			/* @src inline.h:baton_inline_capture
			 * baton_inline_cas_acquire(&resource->_word, &idle, mode | BATON_INLINE_BUSY */
			assert(!word);
			word = BUSY;
			take_baton();
			at_once = true;
			goto enter
		fi
	}

	/* ---- A task; one that shelves tells the unsheller before it ends ---- */
enter:
	atomic {
		assert(holder == _pid && !stopped && !(turn & SHELF));
		done++;
		if
		:: made < SHELVINGS ->
			made++;
			stopped = true;
			goto shelve
		:: true -> goto ran
		fi
	}
shelve:
	/* @src turn.c:baton__turn_want_shelf
	 * add_relaxed(&resource->_job._turn, BATON__SHELF_WANTED) */
	turn = turn + WANTED;
#ifndef BREAK_NO_ATTENTION
	/* @src word.c:baton__word_set_attention
	 * cas_relaxed(&resource->_word, &word, (word & ~BATON__WORD_MODE) | */
	word = word | ATTENTION;
#endif
	told++;
ran:
	atomic {
		if
		:: at_once ->
			at_once = false;
			if
			/* @src inline.h:baton_inline_release
			 * baton_inline_cas_release(&resource->_word, &word, baton_inline_fresh(mode)) */
			:: word == BUSY -> word = 0; give_up_baton(); goto script
			:: else -> budget = CAPTURE - 1; goto drain
			fi
		:: borrowed && !at_once -> goto end_drain /* its own task is done */
		:: !borrowed && !at_once -> goto drain
		fi
	}

	/* ---- The holder's drain, with `list`, `budget`, `borrowed` ---- */
drain:
	atomic {
		assert(holder == _pid);
		/* @src drain.c:next_step *word = baton__word(resource) */
		seen = word;
		if
		/* @src drain.c:drain if (baton__shelf_leave(stay)) */
		:: seen & ATTENTION && turn & SHELF -> goto leave
		:: seen & ATTENTION && !(turn & SHELF) -> goto take
		:: else
		fi;
		if
		:: first -> goto meet
		:: !first && list && budget ->
			list--;
			budget--;
			goto enter
		:: !first && list && !budget -> goto end_drain
		:: !first && !list && seen & TASKS -> goto take
		:: !first && !list && !(seen & TASKS) && borrowed -> goto end_drain
		:: !first && !list && !(seen & TASKS) && !borrowed -> goto release
		fi
	}
take:
	atomic {
		/* @src word.h:baton__word_take
		 * cas_acquire(&resource->_word, &word, BATON__WORD_BUSY */
		list = list + (word & (TASKS - MARK)) / TASK;
		/* @src inbox.c:baton__take suspends = baton__suspends_out(&oldest, &last) */
		first = first || (word & MARK);
		word = BUSY;
		goto drain
	}
release:
	atomic {
		if
		:: word != seen -> goto drain
		:: else
		fi;
		/* @src word.h:baton__word_release
		 * cas_release(&resource->_word, &word, baton__word_mode_after(resource, word)) */
		assert(!queued && !(turn & (PHASE | SHELF))); /* R3, R7 */
		word = 0;
		give_up_baton();
		goto script
	}
end_drain:
	atomic {
		ending = true;
		/* @src drain.c:end_drain return baton__shelf_leave(stay) */
		if
		:: turn & SHELF -> goto leave
		:: else -> goto spent
		fi
	}
spent:
	atomic {
		ending = false;
		if
		:: borrowed -> goto give_back
		:: else -> goto hand_off
		fi
	}

	/* ---- Leaving: with `ending` the drain is over ---- */
leave:
#ifdef BREAK_LEAVE_STORE
	seen = turn & SHELF;
#endif
	atomic {
		assert(holder == _pid && turn & SHELF);
#ifndef BREAK_LEAVE_STORE
		seen = turn & SHELF;
#endif
		/* @src turn.c:baton__turn_shelve
		 * cas_acq_rel(&resource->_job._turn, &turn, next) */
		turn = turn & ~SHELF;
		if
#ifndef BREAK_CALL_UNHEARD
		:: seen == CALLED -> goto stays
		:: seen != CALLED ->
#else
		:: true ->
#endif
			turn = turn | LEFT;
#ifdef BREAK_HELPER_GIVES_BACK
			if
			:: borrowed -> goto give_back
			:: else
			fi;
#endif
			/* @src help.c:help if (baton__drain(stay)) */
			give_up_baton();
			goto script
		fi
	}
stays:
	atomic {
		seen = 0;
		if
		:: ending -> goto spent
		:: else -> goto drain
		fi
	}

	/* ---- A suspend mark ---- */
meet:
	first = false;
#ifdef BREAK_CLAIMED_FIRST
	atomic {
		if
		:: future == PENDING -> future = CLAIMED; stopped = true
		:: else -> goto drain
		fi
	}
	turn = turn + WANTED;
	goto leave;
#endif
	/* @src shelf.c:suspend_here
	 * baton__turn_want_shelf(resource) */
	turn = turn + WANTED;
	atomic {
		/* @src shelf.c:suspend_here
		 * if (!baton__future_claim(future, baton__turn_visits(resource))) */
		if
		:: future == PENDING ->
			future = CLAIMED;
			stopped = true;
			goto leave
		:: else
		fi
	}
#ifndef BREAK_CANCELLED_STAYS
	/* @src turn.c:baton__turn_unwant_shelf
	 * sub_relaxed(&resource->_job._turn, BATON__SHELF_WANTED) */
	turn = turn - WANTED;
#endif
	goto drain;

	/* ---- Unshelving ---- */
unsheller:
	atomic {
		if
		:: told -> told--; used++
		:: done == SUBMITTERS && made == used -> action = NOTHING; goto script
		fi
	}
unshelve:
#ifdef BREAK_UNSHELVE_STORE
	seen = turn & SHELF;
#endif
	atomic {
		/* @src turn.c:baton__turn_unshelve
		 * BATON_ASSERT((turn & BATON__SHELF) == BATON__SHELF_WANTED || */
		assert((turn & SHELF) == WANTED || (turn & SHELF) == LEFT);
#ifndef BREAK_UNSHELVE_STORE
		seen = turn & SHELF;
#endif
		/* @src turn.c:baton__turn_unshelve
		 * cas_acq_rel(&resource->_job._turn, &turn, next) */
		turn = turn & ~SHELF;
		stopped = false;
		if
		:: seen == WANTED ->
			turn = turn | CALLED;
#ifndef BREAK_BOTH_GO_ON
			goto script
#endif
		:: else
		fi;
		seen = 0;
		take_baton()
	}
	atomic {
		if
#ifndef BREAK_BORROWED_IGNORED
		/* @src shelf.c:go_on_unshelved
		 * if (!baton__turn_seems_held(resource) && !baton__give_back_unshelved(resource)) */
		/* @src visit.c:baton__give_back_unshelved give_back_queued(&stay, true, false) */
		:: (turn & PHASE) == HELPED ->
			turn = turn - HELPED + QUEUED;
			give_up_baton();
			goto script
		:: (turn & PHASE) == CONSUMED -> turn = turn & ~PHASE
#endif
		:: else
		fi
	}
	atomic {
		/* @src shelf.c:release_empty uintptr_t word = baton__word(resource) */
		seen = word;
		if
		:: list || seen & TASKS || first -> goto go_on
		:: else
		fi
	}
	atomic {
		if
#ifndef BREAK_RELEASE_STORE
		:: word != seen -> goto go_on
#endif
		:: else
		fi;
		/* @src shelf.c:release_empty baton__word_release(resource, word) */
		assert(!queued && !(turn & (PHASE | SHELF))); /* R3, R7 */
		word = 0;
		give_up_baton();
		goto script
	}
go_on:
	atomic {
		if
		/* @src handoff.c:baton__stay baton__hand_off(resource) == BATON__GIVEN */
		:: true -> goto hand_off
		/* @src handoff.c:baton__go_on limit(&stay, 0, own) */
		:: true -> budget = CAPTURE; goto drain
		fi
	}

	/* ---- Hand-off, the executor ---- */
hand_off:
	atomic {
		assert(!queued && !(turn & (PHASE | SHELF)));
		give_up_baton();
		/* @src turn.h:baton__turn_queue
		 * add_seq_cst(&resource->_job._turn, BATON__QUEUED) */
		turn = turn + QUEUED
	}
	atomic {
		/* @src handoff.c:baton__hand_off executor->_ops->schedule(executor */
		queued++;
		assert(queued == 1);
		goto script
	}
pop:
	atomic {
		if
		:: queued -> queued--
		:: !queued && ended == OTHERS ->
			/* None is lost, nothing is left behind. */
			assert(done == SUBMITTERS && made == used && !stopped);
			assert(!word && !turn && !list && !first && !holder);
			goto stop
		fi
	}
	atomic {
		/* @src turn.c:baton__turn_take_back cas_acq_rel(&resource->_job._turn, &turn, next) */
		if
		:: (turn & PHASE) == QUEUED ->
			turn = turn & ~PHASE;
			take_baton();
			budget = QUANTUM;
			goto drain
		:: (turn & PHASE) == HELPED ->
			turn = turn | CONSUMED;
			goto script
		fi
	}

	/* ---- Helping ---- */
borrow:
	atomic {
		if
		:: (turn & PHASE) == QUEUED ->
			/* @src turn.c:baton__turn_borrow cas_acquire(&resource->_job._turn, &turn, next) */
			turn = turn - QUEUED + HELPED;
			take_baton();
			borrowed = true;
			budget = SUBMITTERS;
			goto drain
		:: done == SUBMITTERS -> goto script
		fi
	}
give_back:
	atomic {
		/* @src turn.c:baton__turn_give_back
			 * cas_seq_cst(&resource->_job._turn, &turn, next) */
		borrowed = false;
		if
		:: (turn & PHASE) == HELPED ->
			turn = turn - HELPED + QUEUED;
			give_up_baton();
			goto script
		:: (turn & PHASE) == CONSUMED ->
			turn = turn & ~PHASE;
			budget = 0;
			goto drain
		fi
	}

	/* ---- Suspending, resuming ---- */
suspend:
	atomic {
		if
		:: word & BUSY ->
			/* @src suspend.c:push_suspension baton__push_mark(resource, &mark->awaiter.task, BATON__ASK_LOOK) */
			future = PENDING;
			word = word | ATTENTION | MARK;
			goto script
		:: else ->
			/* @src shelf.c:baton__shelve_idle
			 * baton__word_capture(resource, idle, baton__mode(resource)) */
			word = BUSY;
			take_baton()
		fi
	}
	atomic {
		/* @src turn.c:baton__turn_shelve_idle
		 * add_relaxed(&resource->_job._turn, BATON__SHELF_LEFT) */
		assert(!(turn & SHELF));
		stopped = true;
		turn = turn + LEFT;
		give_up_baton();
		goto script
	}
resume:
	atomic {
		/* @src suspend.c:resume error = baton_future_cancel(future) */
		if
		:: future == PENDING -> future = CANCELLED; goto script
		:: else -> goto unshelve
		fi
	}

stop:
	ended++
}

init {
	byte i;

	atomic {
		run Thread(EXECUTES);
		run Thread(UNSHELVES);
		i = 0;
		do
		:: i < SUBMITTERS -> run Thread(SUBMITS); i++
		:: else -> break
		od;
		i = 0;
		do
		:: i < HELPERS -> run Thread(HELPS); i++
		:: else -> break
		od;
#ifdef SUSPEND
		run Thread(SUSPENDS);
#endif
		i = 0
	}
}
