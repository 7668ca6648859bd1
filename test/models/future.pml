/* SPDX-License-Identifier: MIT */
/*
 * The future's state word: submitter and runner, waiters, a canceller, then, references.
 *
 * Modelled: binding, a refused submit and its settle, the generation, claim, finish with its list
 * and its last touch, SLEEPERS and the futex (compare and block in one step; a wake wakes only who
 * is blocked), visitors with WANTED and counted visits, then, unref with DROPPED, promises. The
 * future's memory is gone when its users have returned, or when it is freed; a resource's when it
 * is closed and has no visits.
 *
 * leave() compares the generation that visit() and decide() saw: a visitor from before a refused
 * submit does not clear the bit of a later one, on another resource.
 *
 * A waiter says for which resource it sleeps, looks, and says whose leaving it wants to look again
 * after; leave() nudges it then, and so does the hand-off. It sleeps only announced, and if the
 * future is still bound to what it has said. The nudges are a flag for each waiter: has there been
 * one since it said so?
 *
 * Left out: memory orders (every step is sequentially consistent); the resource's own words, whose
 * end is a wait for no visits here (resource.pml); nudges that are passed on (nudge.pml); waits for
 * several futures; deadlines; value and status; STOP, which nothing depends on.
 *
 * A CAS loop whose failed rounds write nothing that others see is one step. "@src": see src.awk.
 *
 * Configuration: WAITERS, REFUSED (the first submit is), CANCELLER, THENS, COUNTED (references
 * instead of the users' memory), PROMISE (two complete it), HELPED (nobody runs the task but a
 * waiter on a visit; PASSERS come and go), UNCLAIMED (with HELPED: an await's mark, claimed for a
 * release, and unclaimed since the resource is queued instead), ENTERED (the second submit enters
 * the task at once).
 * LIVE: the property live.
 */
#ifndef WAITERS
#define WAITERS 1
#endif
#ifndef THENS
#define THENS 0
#endif
#ifndef PASSERS
#define PASSERS 0
#endif

/* The state, as in future.h; without what is constant. */
#define STATE 7
#define PENDING 0
#define RUNNING 1
#define CANCELLING 2
#define FINAL 4
#define DONE 4
#define CANCELLED 6
#define SLEEPERS 8
#define CHAINED 16
#define VISITOR 32
#define DROPPED 64
#define WANTED 128
#define GENERATION 256

#define VISITABLE(word) (((word) & STATE) == PENDING || ((word) & STATE) == CANCELLING)

short state;
byte resource;             /* the future's; 0: none */
bool entered;              /* its bit ENTERED */
byte list;                 /* of continuations */
byte next[THENS + 1];
byte visits[3];            /* of resources 1 and 2 */
bool in_futex[WAITERS + 1]; /* on the state and the nudge */
bool asleep[WAITERS + 1];  /* what a thread's record says; 0: of those who do not wait */
bool nudged[WAITERS + 1];
bool obstacle[WAITERS + 1]; /* it is this future, not NULL */
byte awaiting[WAITERS + 1]; /* the resource; 0: not known yet */
byte references;
bool queued;               /* resource 2, with the task */

/* What is asserted about. */
bool gone;                 /* the future's memory */
bool freed[3];             /* a resource's memory */
bool refused;              /* the refused submit has returned */
byte finals;               /* times that the state has become final */
byte fired[THENS + 1];
byte fires;
byte users;
byte returned;             /* waiters */
bool taken;                /* the task, by a helper */

#ifdef CANCELLER
#define CANCELLERS 1
#else
#define CANCELLERS 0
#endif
#define USERS (WAITERS + THENS + CANCELLERS + PASSERS)
#define ALL_DONE (!users && fires == THENS && finals == 1 && gone && visits[1] + visits[2] == 0)

#ifdef LIVE
ltl live { <> ALL_DONE }
#endif

#define TOUCH assert(!gone)

/* ---- The one who completes ---- */

/* Counts or discounts the visitor in `seen`, in the turn of resource `home`. */
inline count_visitor()
{
	if
	:: (seen & VISITOR) && !counted ->
		assert(home && !freed[home]);
		visits[home]++;
		counted = true
	:: !(seen & VISITOR) && counted ->
		assert(visits[home] && !freed[home]);
		visits[home]--;
		counted = false
	:: else
	fi
}

/*
 * Lock-free, not wait-free: visitors that come and go between each load and its CAS could make all
 * of the completer's rounds fail. Liveness is shown for a completer that gets its turn.
 */
inline gets_its_turn()
{
#ifdef LIVE
	seen = state;
	count_visitor()
#else
	skip
#endif
}

/* Takes the list, and fires it; clobbers last. */
inline take_continuations()
{
	atomic {
		TOUCH;
		/* @src future.c:take_continuations swap_acquire(&future->_continuations, NULL) */
		last = list;
		list = 0;
		do
		:: last ->
			/* Fired later, and turned around first: what counts is that it is once. */
			fires++;
			fired[last]++;
			assert(fired[last] == 1);
			last = next[last]
		:: else -> break
		od
	}
}

/* Claims the task's future for the runner of `home`. */
inline claim()
{
	/* @src future.c:baton__future_claim uint32_t state = load_relaxed(&future->_state) */
	atomic { TOUCH; seen = state; counted = false }
	do
	:: true ->
#ifndef BREAK_CLAIM_UNCOUNTED
		atomic { count_visitor() }
#endif
		atomic {
			TOUCH;
			gets_its_turn();
			if
			:: (seen & STATE) != PENDING && !counted -> break
			:: !((seen & STATE) != PENDING && !counted) && state == seen ->
				/* @src future.c:baton__future_claim
				 * cas_acq_rel(&future->_state, &state, next) */
				state = state & ~VISITOR;
				if
				:: (seen & STATE) == PENDING -> state = state | RUNNING
				:: else
				fi;
				break
			:: else -> seen = state
			fi
		}
	od;
	claimed = ((seen & STATE) == PENDING);
	counted = false;
	seen = 0
}

/* A CAS loop: the others only set and clear flags. */
inline unclaim()
{
	atomic {
		TOUCH;
		assert((state & STATE) == RUNNING);
#ifndef BREAK_CLAIM_KEPT
		/* @src future.c:baton__future_unclaim
		 * cas_seq_cst(&future->_state, &state, state - BATON__FUTURE_RUNNING) */
		state = state - RUNNING
#endif
	}
}

/* Completes, as DONE or CANCELLED. `home` is 0 where no visitor can be. */
inline finish(final)
{
	atomic {
		TOUCH;
		seen = state;
		counted = false;
		assert(!(seen & FINAL))
	}
	do
	:: true ->
		atomic { count_visitor() }
		if
		:: seen & CHAINED ->
#ifdef BREAK_CHAIN_EARLY
			take_continuations();
#endif
			atomic {
				TOUCH;
				if
				:: state == seen ->
					/* @src future.c:publish
					 * cas_acquire(&future->_state, &found, next) */
					seen = state & ~CHAINED;
					state = seen;
					chained = true
				:: else -> seen = state
				fi
			}
			if
			:: chained ->
				chained = false;
#ifndef BREAK_CHAIN_EARLY
				take_continuations()
#endif
			:: else
			fi
		:: else ->
			atomic {
				TOUCH;
				gets_its_turn();
				if
#ifdef BREAK_FINISH_STORE
				:: true ->
#else
				:: state == seen && !(seen & CHAINED) ->
#endif
					/* @src future.c:publish
					 * cas_acq_rel(&future->_state, &found, next) */
					assert(!(state & FINAL));
					finals++;
					state = final;
					break
				:: else -> seen = state
				fi
			}
		fi
	od;
	counted = false;
#ifdef BREAK_LATE_TOUCH
	/* Looks again for sleepers. */
	atomic { TOUCH; seen = seen | (state & SLEEPERS) }
#endif
	if
	:: seen & SLEEPERS ->
		/* The memory may be gone: a wake does not touch it.
		 * @src future.c:baton__future_finish baton__futex_wake(&future->_state, INT_MAX) */
		wake()
	:: else
	fi;
	if
	:: seen & DROPPED ->
		/* @src future.c:baton__future_finish baton__node_free(future) */
		atomic { TOUCH; gone = true }
	:: else
	fi;
	seen = 0
}

inline wake()
{
	atomic {
		last = 0;
		do
		:: last <= WAITERS -> in_futex[last] = false; last++
		:: else -> last = 0; break
		od
	}
}

/* ---- Sleepers ---- */

/* acted: the thread will look; clobbers nothing. */
inline nudge_thread(thread)
{
	if
	:: asleep[thread] ->
		/* The bump, and the wake of its word, as in nudge.pml. */
		atomic { nudged[thread] = true; in_futex[thread] = false }
		acted = asleep[thread]
	:: else
	fi
}

/* By the one who has queued resource 2; clobbers i, last, acted. */
inline nudge_for()
{
	i = 1;
	do
	:: i > WAITERS -> break
	:: i <= WAITERS ->
		if
		:: asleep[i] ->
			/* @src thread.c:baton__thread_nudge_for
			 * awaiting = load_relaxed(&thread->awaiting) */
			last = awaiting[i];
			if
			/* @src thread.c:baton__thread_nudge_for
			 * if (awaiting && awaiting != resource) */
			:: last == 0 || last == 2 -> nudge_thread(i)
			:: else
			fi;
			if
			/* @src thread.c:baton__thread_nudge_for
			 * load_relaxed(&thread->awaiting) == awaiting) */
			:: acted && last && awaiting[i] == last -> break
			:: else -> acted = false
			fi
		:: else
		fi;
		i++
	od;
	i = 0;
	last = 0;
	acted = false
}

/* By the visitor who has left; clobbers i, acted. */
inline nudge_obstructed(me)
{
	i = 1;
	do
	:: i > WAITERS -> break
	:: i <= WAITERS ->
		if
		/* @src thread.c:baton__thread_nudge_obstructed
		 * const void *obstacle = load_relaxed(&thread->obstacle) */
		:: i != me && obstacle[i] ->
			/* @src thread.c:baton__thread_nudge_obstructed
			 * (void)baton__thread_nudge(thread) */
			nudge_thread(i)
		:: else
		fi;
		i++
	od;
	i = 0;
	acted = false
}

/* ---- Visitors ---- */

/* visiting: the resource, or 0. */
inline visit(me)
{
	do
	:: true ->
		/* @src future.c:baton__future_visit
		 * uint32_t state = load_seq_cst(&future->_state) */
		atomic { TOUCH; seen = state }
		/* @src future.c:baton__future_visit baton__future_binding(future) */
#ifdef BREAK_ENTERED_VISITED
		atomic { TOUCH; visiting = resource }
#else
		atomic { TOUCH; visiting = (entered -> 0 : resource) }
#endif
		if
		:: !VISITABLE(seen) || !visiting -> visiting = 0; break
		:: VISITABLE(seen) && visiting && (seen & VISITOR) ->
			visiting = 0;
			if
			/* @src future.c:baton__future_visit
			 * if (!load_relaxed(&baton__self->asleep)) */
			:: !asleep[me] -> break
			:: else
			fi;
#ifndef BREAK_OBSTACLE_LATE
			/* @src thread.c:baton__thread_obstructed store_relaxed(&self->obstacle */
			obstacle[me] = true;
#endif
			atomic {
				TOUCH;
				if
#ifdef BREAK_NOT_WANTED
				:: true -> break
#else
				:: state == seen ->
					/* @src future.c:baton__future_visit
					 * cas_release(&future->_state, &state, state
					 * | BATON__FUTURE_WANTED) */
					state = state | WANTED;
					break
#endif
#ifdef BREAK_WANTED_ONCE
				:: else -> break
#else
				:: else
#endif
				fi
			}
		:: else ->
			atomic {
				TOUCH;
				if
				:: state == seen ->
					/* @src future.c:baton__future_visit
					 * cas_relaxed(&future->_state, &state, state
					 * | BATON__FUTURE_VISITOR) */
					state = state | VISITOR;
					generation = seen / GENERATION;
					break
				:: else -> visiting = 0
				fi
			}
		fi
	od;
#ifdef BREAK_OBSTACLE_LATE
	if
	:: !visiting && (seen & VISITOR) && asleep[me] -> obstacle[me] = true
	:: else
	fi;
#endif
	seen = 0
}

/* Ends the visit. */
inline leave(me)
{
	/* @src future.c:baton__future_leave uint32_t state = load_relaxed(&future->_state) */
	atomic { TOUCH; assert(!freed[visiting]); seen = state }
	do
#ifdef BREAK_LEAVE_GENERATION
	:: (seen & VISITOR) ->
#else
	:: (seen & VISITOR) && seen / GENERATION == generation ->
#endif
		atomic {
			TOUCH;
			if
			:: state == seen ->
				/* @src future.c:baton__future_leave
				 * cas_acq_rel(&future->_state, &state,
				 * state & ~(BATON__FUTURE_VISITOR | BATON__FUTURE_WANTED)) */
				state = state & ~(VISITOR | WANTED);
				visiting = 0;
				break
			:: else -> seen = state
			fi
		}
	:: else -> break
	od;
	if
	:: visiting ->
		atomic {
			/* @src turn.c:baton__turn_end_visit
			 * cas_acq_rel(&resource->_job._turn, &turn, next) */
			assert(visits[visiting] && !freed[visiting]);
			visits[visiting]--;
			visiting = 0
		}
	:: !visiting && (seen & WANTED) ->
		/* The future may be gone. */
		seen = 0;
#ifndef BREAK_LEAVE_SILENTLY
		/* @src future.c:baton__future_leave baton__thread_nudge_obstructed(future) */
		nudge_obstructed(me)
#endif
	:: else
	fi;
	seen = 0;
	generation = 0
}

/* ---- Users ---- */

/* The user's last touch of the future. */
inline done_with_it()
{
#ifdef COUNTED
#ifdef BREAK_UNREF_STORE
	last = references;
	references = last - 1;
#else
	atomic {
		TOUCH;
		/* @src future.c:baton_future_unref sub_acq_rel(&counted->references, 1) */
		last = references;
		references--
	}
#endif
	if
	:: last == 1 ->
		atomic {
			TOUCH;
			seen = state;
#ifdef BREAK_DROPPED_STORE
		}
		atomic {
#endif
			TOUCH;
			if
			/* @src future.c:baton_future_unref baton__future_final(future) */
			:: seen & FINAL -> gone = true
			/* @src future.c:baton_future_unref
			 * or_acq_rel(&future->_state, BATON__FUTURE_DROPPED) */
			:: else -> state = seen | DROPPED
			fi
		}
	:: else
	fi;
	users--
#else
	users--
#endif
}

proctype Waiter(byte me)
{
	short seen, watched;
	byte visiting, generation, last, home, i;
	bool counted, claimed, chained, acted;

	do
	:: true ->
		/* sleep_once */
		atomic {
			TOUCH;
			/* @src wait.c:wait_is_over baton__future_final(wait->futures[i]) */
			if
			:: state & FINAL -> break
			:: else
			fi
		}
		/* @src wait.c:awaiting resource = baton__future_resource(future) */
		atomic { TOUCH; last = resource }
		atomic {
			nudged[me] = false;
			/* @src thread.c:baton__thread_sleeps
			 * store_relaxed(&self->awaiting, resource) */
			awaiting[me] = last;
			last = 0;
			/* @src thread.c:baton__thread_sleeps
			 * store_relaxed(&self->obstacle, NULL) */
			obstacle[me] = false;
			/* @src thread.c:baton__thread_sleeps store_seq_cst(&self->asleep, 1) */
			asleep[me] = true
		}
		if
		/* @src wait_help.c:help_one
		 * cas_seq_cst(&future->_resource, &resource, resource) */
		:: resource -> visit(me);
			if
			:: visiting ->
				assert(!freed[visiting]);
#ifdef HELPED
				/* Whoever borrows the baton first finds the task, and runs it. */
				if
				:: atomic { visiting == 2 && queued && !taken -> taken = true }
					home = visiting;
					claim();
					if
					:: claimed -> finish(DONE)
					:: else -> finish(CANCELLED)
					fi
				:: else
				fi;
#endif
				/* @src wait_help.c:help_visited
				 * baton__visit_leave(future, resource, generation) */
				leave(me)
			:: else
			fi
		:: else
		fi;
		/* announce */
		atomic {
			TOUCH;
			if
			:: state & FINAL -> break
			:: else
			fi;
#ifndef BREAK_UNANNOUNCED
			/* @src wait.c:announce
			 * cas_acquire(word, &state, state | BATON__FUTURE_SLEEPERS) */
			state = state | SLEEPERS;
#endif
			watched = state
		}
		if
#ifndef BREAK_NOT_AGAIN
		/* @src wait.c:doze awaiting(wait) != load_relaxed(&baton__self->awaiting) */
		:: resource != awaiting[me]
#endif
		:: else ->
			/* @src wait.c:doze baton__futex_wait(watches, count + 1, wait->deadline_ns) */
#ifdef BREAK_FUTEX_BLIND
			in_futex[me] = true;
#else
			atomic { TOUCH; in_futex[me] = (state == watched && !nudged[me]) }
#endif
			!in_futex[me]
		fi;
		watched = 0;
		/* @src thread.c:baton__thread_wakes store_seq_cst(&self->asleep, 0) */
		asleep[me] = false
	od;
	atomic {
		asleep[me] = false;
		/* Nobody asks for these again. */
		nudged[me] = false;
		obstacle[me] = false;
		awaiting[me] = 0;
		last = 0
	}
	returned++;
	done_with_it()
}

proctype Canceller()
{
	short seen;
	byte visiting, generation, last, i;
	bool acted;

	/* cancel.c: decide */
	do
	:: true ->
		atomic { TOUCH; seen = state }
		/* @src cancel.c:baton__cancel_decide baton__future_binding(future) */
		atomic { TOUCH; visiting = (entered -> 0 : resource) }
		if
		:: !visiting || (seen & FINAL) || (seen & STATE) != PENDING -> visiting = 0; break
		:: else ->
			atomic {
				TOUCH;
				if
				:: state == seen ->
					/* @src cancel.c:baton__cancel_decide
					 * cas_relaxed(&future->_state, &state, next) */
					visiting = ((seen & VISITOR) -> 0 : visiting);
					state = state | CANCELLING | VISITOR;
					generation = seen / GENERATION;
					break
				:: else -> visiting = 0
				fi
			}
		fi
	od;
	seen = 0;
	if
	:: visiting -> assert(!freed[visiting]); leave(0)
	:: else
	fi;
	done_with_it()
}

/* Visits, as one whose deadline passes, or who is too deep to help. */
proctype Passer()
{
	short seen;
	byte visiting, generation, last, i;
	bool acted;

	visit(0);
	if
	:: visiting -> assert(!freed[visiting]); leave(0)
	:: else
	fi;
	done_with_it()
}

proctype Then(byte me)
{
	short seen;
	byte last;

	/* @src future.c:baton_future_then load_relaxed(&future->_continuations) */
	atomic {
		TOUCH;
		/* @src future.c:baton_future_then
		 * cas_release(&future->_continuations, &continuation->_next, continuation) */
		next[me] = list;
		list = me
	}
	/* @src future.c:baton_future_then state = load_acquire(&future->_state) (x2) */
	atomic { TOUCH; seen = state }
	do
	:: seen & FINAL -> take_continuations(); break
	:: else ->
		atomic {
			TOUCH;
			if
			:: state == seen ->
				/* @src future.c:baton_future_then
				 * cas_release(&future->_state, &state, state
				 * | BATON__FUTURE_CHAINED) */
				/* @src future.c:baton_future_then
				 * cas_release(&future->_state, &state, state) */
				state = state | CHAINED;
				break
			:: else -> seen = state
			fi
		}
	od;
	done_with_it()
}

/* ---- The submitter, who is or becomes the runner; a promise's completers ---- */

proctype Runner()
{
	short seen;
	byte home, last, i;
	bool counted, claimed, chained, spare, acted;

#ifdef REFUSED
	/* @src future.h:baton__future_bind store_release(&future->_resource, resource) */
	resource = 1;
	/* It is closed. */
	/* @src submit.c:baton__unready store_relaxed(&future->_resource, NULL) */
	resource = 0;
	/* @src future.c:baton__future_settle uint32_t state = load_relaxed(&future->_state) */
	atomic { TOUCH; seen = state }
	do
	:: true ->
		if
		:: (seen & VISITOR) && !counted ->
			/* @src future.c:baton__future_settle add_relaxed(visits, BATON__VISIT) */
			atomic { assert(!freed[1]); visits[1]++; counted = true }
		:: else
		fi;
		atomic {
			TOUCH;
#ifdef LIVE
			seen = state;
			if
			:: (seen & VISITOR) && !counted -> visits[1]++; counted = true
			:: else
			fi;
#endif
			if
			:: state == seen ->
				/* @src future.c:baton__future_settle
				 * cas_acq_rel(&future->_state, &state */
#ifdef BREAK_SETTLE_GENERATION
				state = state & ~(VISITOR | WANTED);
#else
				state = (state & ~(VISITOR | WANTED)) + GENERATION;
#endif
				spare = counted && !(seen & VISITOR);
				claimed = ((seen & STATE) == CANCELLING);
				break
			:: else -> seen = state
			fi
		}
	od;
	counted = false;
#ifndef BREAK_SETTLE_SILENTLY
	if
	/* @src future.c:baton__future_settle baton__futex_wake(&future->_state, INT_MAX) */
	:: seen & SLEEPERS -> wake()
	:: else
	fi;
#endif
	if
	:: spare -> atomic { assert(visits[1]); visits[1]--; spare = false }
	:: else
	fi;
	seen = 0;
	refused = true;
	if
	:: claimed ->
		/* @src submit.c:baton__unready
		 * baton__future_finish(future, BATON__FUTURE_CANCELLED */
		claimed = false;
		finish(CANCELLED);
		goto end
	:: else
	fi;
#endif
	/* Submitted to resource 2, which takes it. */
#ifdef ENTERED
	/* @src future.h:baton__future_enter store_relaxed(&future->_resource */
	atomic { TOUCH; resource = 2; entered = true }
	atomic {
		TOUCH;
		if
#ifdef BREAK_ENTERED_STORE
		:: true ->
#else
		:: state == PENDING ->
#endif
			/* @src future.h:baton__future_finish_entered
			 * cas_release(&future->_state, &found, */
			finals++;
			state = DONE;
			goto end
		:: else
		fi
	}
	/* `home` is 0: there is no visitor. */
	finish(DONE);
	goto end;
#endif
	resource = 2;
#ifdef UNCLAIMED
	home = 2;
	claim();
	assert(claimed);
	claimed = false;
#ifndef BREAK_UNCLAIM_LATE
	unclaim();
#endif
#endif
#ifdef HELPED
	/* @src turn.h:baton__turn_queue add_seq_cst(&resource->_job._turn, BATON__QUEUED) */
	queued = true;
	/* @src handoff.c:baton__hand_off baton__thread_nudge_for(resource, member) */
	nudge_for();
#ifdef BREAK_UNCLAIM_LATE
	unclaim();
#endif
	goto end;
#endif
	home = 2;
	claim();
	if
	:: claimed -> finish(DONE)
	:: else -> finish(CANCELLED)
	fi;
end:
	skip
}

/* The users of a closed resource give its memory away when it has no visits (resource.pml). */
proctype Owner()
{
	do
	:: atomic { !freed[1] && refused && !visits[1] -> freed[1] = true }
	:: atomic { !freed[2] && finals && !visits[2] -> freed[2] = true }
	:: freed[2] && (freed[1] || !refused) -> break
	od
}

/* baton_future_complete, baton__promise_cancel */
proctype Completer()
{
	short seen;
	byte home, last;
	bool counted, claimed, chained;

#ifdef BREAK_PROMISE_STORE
	TOUCH;
	claimed = ((state & STATE) == PENDING);
#endif
	atomic {
		TOUCH;
#ifndef BREAK_PROMISE_STORE
		claimed = ((state & STATE) == PENDING);
#endif
		if
		:: claimed ->
			/* @src future.c:claim_promise
			 * cas_relaxed(&future->_state, &state, state | BATON__FUTURE_RUNNING) */
			state = state | RUNNING
		:: else
		fi
	}
	if
	:: claimed -> finish(DONE)
	:: else
	fi;
	done_with_it()
}

init
{
	byte i;

	atomic {
#ifdef PROMISE
		users = USERS + 2;
		run Completer();
		run Completer();
#else
		users = USERS;
		run Runner();
		run Owner();
#endif
		references = users;
		i = 1;
		do
		:: i <= WAITERS -> run Waiter(i); i++
		:: else -> break
		od;
		i = 1;
		do
		:: i <= THENS -> run Then(i); i++
		:: else -> break
		od;
		i = 1;
		do
		:: i <= PASSERS -> run Passer(); i++
		:: else -> break
		od;
#ifdef CANCELLER
		run Canceller();
#endif
		i = 0
	}
#ifndef COUNTED
	/* Whose memory it is gives it away when it is complete and they are out of all calls. */
	atomic { !users && (state & FINAL) -> gone = true }
#endif
	/* Nothing is left behind: else this is no valid end. */
	ALL_DONE
}
