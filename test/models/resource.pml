/* SPDX-License-Identifier: MIT */
/*
 * The resource's word and its turn: submitters, the executor, a helper, a canceller, closers.
 *
 * Modelled: capture, push, take, drain, release, hand-off (also refused), take_back, borrow,
 * give_back, withdraw, unlink, visits and LEAVING, close with a finaliser or with an await, the
 * cancel mark; the inbox with its links. One proctype, since any thread may become the runner.
 *
 * Left out: memory orders (every step is sequentially consistent), statistics, limits in time,
 * batches (one push publishes a chain as it does one task), nested captures and the deferred list
 * (a list of jobs of one thread: an executor), limit 0 where its executor refuses, what the future
 * does besides state and visitor (future.pml), sleeping (future.pml, nudge.pml).
 *
 * A CAS loop whose failed rounds write nothing that others see is one step. A load whose value is
 * decided upon without such a CAS is a step of its own.
 *
 * Comments "@src file:function text" name what a step stands for; see src.awk.
 *
 * Configuration: SUBMITTERS, TASKS (each), EXECUTORS, CAPTURE (limit), QUANTUM, HELPERS, ROUNDS
 * (looks of a helper), VISITED (the task whose future has visitors), CANCELLER, MARK (a cancel
 * mark), FINAL_CLOSE or AWAIT_CLOSE, REFUSALS (of the executor), LOANS (by submitters that find it
 * queued). LIVE: the property live.
 */
#ifndef SUBMITTERS
#define SUBMITTERS 2
#endif
#ifndef TASKS
#define TASKS 1
#endif
#ifndef EXECUTORS
#define EXECUTORS 1
#endif
#ifndef CAPTURE
#define CAPTURE 1
#endif
#ifndef QUANTUM
#define QUANTUM 1
#endif
#ifndef HELPERS
#define HELPERS 0
#endif
#ifndef ROUNDS
#define ROUNDS 1
#endif
#ifndef VISITED
#define VISITED 1
#endif
#ifndef REFUSALS
#define REFUSALS 0
#endif

#define ALL (SUBMITTERS * TASKS)
#define FINALISER (ALL + 1)
#define AWAITER (ALL + 2)
#define CANCEL (ALL + 3)
#define IS_MARK(task) ((task) > ALL)
#define HAS_FUTURE(task) ((task) == VISITED || (task) == AWAITER)

/* The word, as in word.h. */
#define BUSY 1
#define MODE 6
#define ATTENTION 4
#define CLOSED 6
#define FLAGS 7
#define TOP(word) ((word) >> 3)
#define WORD(task, flags) (((task) << 3) | (flags))

/* The turn, as in turn.h. */
#define PHASE 3
#define HELD 0
#define QUEUED 1
#define HELPED 2
#define CONSUMED 3
#define LEAVING 4
#define TOUCHED 8
#define FINAL 16
#define VISIT 32
#define VISITS 224

/* The future: state and visitor. BOUND: its _resource is set. */
#define STATE 3
#define PENDING 0
#define RUNNING 1
#define CANCELLING 2
#define DONE 3
#define VISITOR 4
#define BOUND 8

/* What a thread does when it has submitted its tasks. */
#define NOTHING 0
#define EXECUTE 1
#define HELP 2
#define CLOSE_THEN 3
#define CLOSE_AWAIT 4
#define CANCEL_ONE 5
#define CANCEL_ALL 6

#define UNLIMITED 255

byte word;
byte turn;
byte list;
byte next[ALL + 4];
byte future[ALL + 4];
byte queued;   /* entries of the job in the executor's queue */
byte refusals = REFUSALS;
#ifdef LOANS
byte loans = LOANS; /* still to be taken */
#endif

/* What is asserted about. */
byte holder;            /* who has the baton: 0 or its process */
byte accepted, refused; /* tasks */
byte done;              /* tasks run or cancelled */
byte number[ALL + 1];   /* of an accepted task that is not done: its place in the order */
byte newest_run;        /* such a number */
byte before;            /* tasks accepted before the await */
byte finals;            /* runs of the finaliser */
bool over;              /* closing has come to its end */
bool freed;             /* the memory of the resource */
byte calls;             /* of submit that touch the resource again before they publish */

#if defined(FINAL_CLOSE) || defined(AWAIT_CLOSE)
#define CLOSING 1
#else
#define CLOSING 0
#endif

#define ALL_DONE (accepted + refused == ALL && done == accepted && (over || !CLOSING))

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

inline end_call(task)
{
	if
	:: HAS_FUTURE(task) -> calls--
	:: else
	fi
}

inline accept(task)
{
	accepted++;
	number[task] = accepted;
	end_call(task)
}

/* A task is over: once (L3), and not after the resource's end. */
inline count_done(task)
{
	assert(!finals && number[task]);
	number[task] = 0;
	done++
}

/* oldest .. list: appends the chain to the private list. */
inline append(chain)
{
	if
	:: !list -> list = chain
	:: else ->
		end = list;
		do
		:: next[end] -> end = next[end]
		:: else -> break
		od;
		next[end] = chain
	fi;
	end = 0
}

proctype Thread(byte mine; byte last; byte action; byte target)
{
	byte seen;     /* a word or turn as last loaded */
	byte task;
	byte state;    /* a future as last loaded */
	byte mark;
	byte after;    /* frame->after: at most one mark */
	byte budget;
	byte rounds = ROUNDS;
	byte end;
	byte visiting; /* 1: on a visit; 2: which has been counted, and the future is not ours */
	bool borrowed, counted, finishing, unlinking, only_marks, withdrawn;

script:
	atomic {
		assert(holder != _pid && !after);
		seen = 0; task = 0; state = 0; mark = 0; budget = 0;
		borrowed = false; counted = false; finishing = false; unlinking = false;
		withdrawn = false; only_marks = false;
		if
		:: visiting -> goto leave
		:: else
		fi;
		if
		:: mine <= last -> goto bind
		:: mine > last && action == EXECUTE -> goto end_pop
		:: mine > last && action == HELP -> goto look
		:: mine > last && action == CLOSE_THEN -> goto close_then
		:: mine > last && action == CLOSE_AWAIT -> goto close
		:: mine > last && action == CANCEL_ONE -> goto decide
		:: mine > last && action == CANCEL_ALL ->
			mark = CANCEL;
			action = NOTHING;
			goto push_mark
		:: mine > last && action == NOTHING -> goto stop
		fi
	}

	/* ---- Submit ---- */
bind:
	atomic {
		if
		:: HAS_FUTURE(mine) ->
			/* @src submit.c:baton__submit
			 * baton__word_is_closed(baton__word(resource)) */
			if
			:: (word & MODE) == CLOSED ->
				refused++;
				future[mine] = DONE;
				mine++;
				goto script
			:: else
			fi;
			/* @src submit.h:baton__ready
			 * baton__future_bind(future, resource) */
			future[mine] = future[mine] | BOUND;
			calls++
		:: else
		fi
	}
submit:
	atomic {
#ifdef BREAK_PUSH_LINK
		seen = word;
	}
	atomic {
#else
		/* @src submit.c:baton__submit_chain word = baton__word(resource) */
		seen = word;
#endif
		if
#ifndef BREAK_CLOSED_IGNORED
		:: (word & MODE) == CLOSED ->
			refused++;
			task = mine;
			mine++;
			if
			:: HAS_FUTURE(task) -> goto unready
			:: else -> goto script
			fi
#endif
		:: else
		fi;
		if
#ifdef LOANS
		/* @src loan.h:baton__loan_due
		 * baton__turn_seems_queued(resource) */
		:: word & BUSY && loans && (turn & PHASE) == QUEUED ->
			loans--;
			calls++;
			goto lend
#endif
		:: word & BUSY ->
			/* @src word.h:baton__word_push
			 * cas_release(&resource->_word, word, (uintptr_t)newest */
			next[mine] = TOP(seen);
			word = WORD(mine, word & FLAGS);
			accept(mine);
			mine++;
			goto script
		:: else
		fi;
		/* @src inline.h:baton_inline_capture
		 * baton_inline_cas_acquire(&resource->_word, &idle, mode | BATON_INLINE_BUSY */
		word = word | BUSY;
		take_baton();
		accept(mine);
		list = mine;
		next[mine] = 0;
		mine++;
		budget = CAPTURE;
		goto drain
	}

#ifdef LOANS
lend:
	atomic {
		assert(!freed);
		/* @src turn.c:baton__turn_borrow cas_acquire(&resource->_job._turn, &turn, next) */
		if
		:: (turn & PHASE) != QUEUED -> calls--; goto submit
		:: else
		fi;
		turn = (turn & ~PHASE) | HELPED | TOUCHED;
		take_baton();
		borrowed = true;
		budget = UNLIMITED
	}
	atomic {
		/* @src loan.c:accept uintptr_t word = baton__word(resource) */
#ifdef BREAK_LOAN_OVERTAKES
		seen = 0;
#else
		seen = TOP(word);
#endif
		calls--;
		if
		:: !list && !seen -> accept(mine)
		:: else -> goto lend_push
		fi
	}
	/* @src loan.c:accept resource->_list = first */
	next[mine] = 0;
	atomic {
		list = mine;
		mine++;
		goto drain
	}
lend_push:
	atomic {
		/* @src word.h:baton__word_push cas_release(&resource->_word, word, (uintptr_t)newest */
		next[mine] = TOP(word);
		word = WORD(mine, word & FLAGS);
		accept(mine);
		mine++;
		goto drain
	}
#endif

	/* Refused: `task` is unbound, its future settled. */
unready:
	/* @src submit.c:baton__unready store_relaxed(&future->_resource, NULL) */
	future[task] = future[task] & ~BOUND;
settle:
	atomic {
		if
		:: future[task] & VISITOR && !counted ->
			/* @src future.c:baton__future_settle add_relaxed(visits, BATON__VISIT) */
			turn = turn + VISIT;
			counted = true;
			goto settle
		:: else
		fi
	}
	atomic {
		if
		:: future[task] & VISITOR && !counted -> goto settle
		:: else
		fi;
		/* @src future.c:baton__future_settle cas_acq_rel(&future->_state */
		state = future[task];
		/* Whoever waits for it has been told: that is the user's. */
		future[task] = DONE;
		calls--;
		if
		:: counted && !(state & VISITOR) ->
			counted = false;
			state = 0;
			goto visit_end
		:: else -> goto script
		fi
	}

	/* ---- The holder's drain, with `list`, `budget`, `after`, `borrowed` ---- */
drain:
	atomic {
		assert(holder == _pid && !freed);
		/* @src drain.c:next_step *word = baton__word(resource) */
		seen = word;
		task = list;
		if
		:: !task && TOP(seen) -> goto take
		#ifdef BREAK_HELPER_RELEASES
		:: !task && !TOP(seen) && borrowed -> goto release
#else
		:: !task && !TOP(seen) && borrowed -> goto helped
#endif
		:: !task && !TOP(seen) && !borrowed -> goto release
		:: task && (seen & ATTENTION) && TOP(seen) -> goto take
		:: task && !((seen & ATTENTION) && TOP(seen)) && IS_MARK(task) ->
			d_step {
				only_marks = true;
				end = list;
				do
				:: end ->
					only_marks = only_marks && IS_MARK(end);
					end = next[end]
				:: else -> break
				od
			}
			if
			:: borrowed && (seen & MODE) == CLOSED && only_marks ->
				only_marks = false;
				goto helped
			:: else
			fi;
			only_marks = false;
			assert(task != CANCEL && !after);
			list = next[task];
			after = task;
			/* postpone: nobody becomes the visitor of an await from here on */
			if
			:: task == AWAITER -> goto claim
			:: else -> goto drain
			fi
		:: task && !((seen & ATTENTION) && TOP(seen)) && !IS_MARK(task) ->
			if
			:: after ->
				/* More work follows, so it is not closed by a finaliser. */
				assert(after == AWAITER);
				goto fire_await
			:: else
			fi;
			if
			:: !budget -> goto spent
			:: else
			fi;
			if
			:: budget != UNLIMITED -> budget--
			:: else
			fi;
			list = next[task];
			if
			:: HAS_FUTURE(task) -> goto claim
			:: else -> goto enter
			fi
		fi
	}
take:
#ifdef BREAK_TAKE_STORE
	seen = word;
#endif
	atomic {
		assert(holder == _pid && !freed);
#ifndef BREAK_TAKE_STORE
		seen = word;
#endif
		/* @src word.h:baton__word_take
		 * cas_acquire(&resource->_word, &word, BATON__WORD_BUSY */
		word = BUSY | ((seen & MODE) == ATTENTION -> 0 : (seen & MODE));
		d_step {
			/* Turned around: oldest first. */
			task = TOP(seen);
			mark = 0;
#ifdef BREAK_TAKE_ORDER
			mark = task;
			task = 0;
#endif
			do
			:: task ->
				end = next[task];
				next[task] = mark;
				mark = task;
				task = end
			:: else -> break
			od;
			append(mark);
			/* obey_cancel_marks: there is one mark of this kind. */
			mark = 0;
			if
			:: seen & ATTENTION ->
				task = list;
				do
				:: task -> mark = (task == CANCEL -> task : mark); task = next[task]
				:: else -> break
				od
			:: else
			fi;
			if
			:: mark ->
				task = list;
				list = 0;
				do
				:: task != CANCEL ->
					mark = next[task];
					if
					:: IS_MARK(task) ->
						next[task] = 0;
						append(task)
					:: else ->
						/* Its future is finished in the same step. */
						if
						:: HAS_FUTURE(task) ->
							end = (future[task] & VISITOR -> VISIT : 0);
							turn = turn + end;
							future[task] = DONE
						:: else
						fi;
						count_done(task)
					fi;
					task = mark
				:: else -> break
				od;
				append(next[CANCEL])
			:: else
			fi;
			task = 0;
			mark = 0;
			end = 0
		}
		if
		:: unlinking -> goto unlink
		:: else -> goto drain
		fi
	}

	/* ---- One task with a future: claim, run, finish ---- */
claim:
	/* @src future.c:baton__future_claim uint32_t state = load_relaxed(&future->_state) */
	state = future[task];
count_visitor:
	atomic {
		assert(!freed);
#ifndef BREAK_CLAIM_UNCOUNTED
		if
		:: state & VISITOR && !counted ->
			/* @src future.c:count_visitor add_relaxed(visits, BATON__VISIT) */
			turn = turn + VISIT;
			counted = true
		:: !(state & VISITOR) && counted ->
			/* @src future.c:count_visitor sub_relaxed(visits, BATON__VISIT) */
			turn = turn - VISIT;
			counted = false
		:: else
		fi
#endif
	}
	atomic {
		if
		:: finishing -> goto finish
		:: else
		fi;
		if
		:: (state & STATE) != PENDING && !counted ->
			/* It was cancelled, or is an await's second time here. */
			state = 0;
			if
			:: IS_MARK(task) -> goto drain
			:: else -> goto finish_first
			fi
		:: future[task] != state ->
			state = future[task];
			goto count_visitor
		:: else
		fi;
		counted = false;
		/* @src future.c:baton__future_claim cas_acq_rel(&future->_state, &state, next) */
		if
		:: (state & STATE) == PENDING ->
			future[task] = (state & BOUND) | RUNNING;
			state = 0;
			if
			:: IS_MARK(task) -> goto drain
			:: else -> goto enter
			fi
		:: else ->
			future[task] = state & ~VISITOR;
			state = 0;
			goto finish_first
		fi
	}
enter:
	atomic {
		/* L1, L2 */
		assert(holder == _pid && !freed);
		assert(number[task] > newest_run);
		newest_run = number[task];
		if
		:: HAS_FUTURE(task) -> goto finish_first
		:: else
		fi;
		count_done(task);
		task = 0;
		goto drain
	}
finish_first:
	atomic {
		finishing = true;
		state = future[task];
		goto count_visitor
	}
finish:
	atomic {
		if
		:: future[task] != state ->
			state = future[task];
			goto count_visitor
		:: else
		fi;
		/* @src future.c:publish cas_acq_rel(&future->_state, &found, next) */
		assert((state & STATE) != DONE);
		future[task] = DONE;
		count_done(task);
		finishing = false;
		counted = false;
		state = 0;
		if
		:: unlinking ->
			unlinking = false;
			task = 0;
			goto give_back
		:: borrowed && task == target ->
			/* @src drain.c:needless
			 * return baton__future_final(until) || */
			task = 0;
			goto give_back
		:: else ->
			task = 0;
			goto drain
		fi
	}
fire_await:
	atomic {
		/* @src marks.c:fire_await baton__future_finish(baton__mark_future(mark) */
		assert(future[AWAITER] == (RUNNING | BOUND) && done >= before);
		future[AWAITER] = DONE;
		after = 0;
		if
		:: holder != _pid -> goto script /* after the release */
		:: holder == _pid && borrowed && !list -> goto give_back
		:: else -> goto drain
		fi
	}

	/* ---- Release ---- */
release:
	atomic {
		if
		:: (seen & MODE) == CLOSED && after -> goto left_to_visitors
		:: else -> goto release_word
		fi
	}
left_to_visitors:
	atomic {
		assert(holder == _pid && !freed);
#ifdef BREAK_VISITS_IGNORED
		goto release_word;
#endif
		/* @src drain.c:left_to_visitors
		 * if (!baton__turn_is_visited(resource)) */
		if
		:: turn & VISITS -> list = after
		:: else -> goto release_word
		fi
	}
	atomic {
		if
		:: turn & VISITS ->
			/* @src turn.c:baton__turn_leave cas_seq_cst(&resource->_job._turn, &turn */
			assert((turn & VISITS) != VISITS);
			turn = (turn + VISIT) | LEAVING;
			after = 0;
			give_up_baton()
		:: else ->
			list = 0;
			goto left_to_visitors
		fi
	}
	/* A visitor now, it looks for what was pushed before LEAVING was seen. */
	atomic {
		assert(!freed);
		/* @src drain.c:left_to_visitors baton__word_left_with_tasks(resource) */
		if
		:: TOP(word) && (turn & LEAVING) ->
			/* @src turn.c:baton__turn_take_over
			 * cas_acquire(&resource->_job._turn, &turn, turn & ~BATON__LEAVING) */
			/* @src turn.h:baton__turn_unvisit sub_relaxed(&resource->_job._turn, BATON__VISIT) */
			turn = (turn & ~LEAVING) - VISIT;
			take_baton();
			goto drain
		:: else -> goto visit_end
		fi
	}
release_word:
#ifdef BREAK_RELEASE_STORE
	if
	:: word == seen
	:: word != seen -> goto drain
	fi;
#endif
	atomic {
		assert(!freed);
		if
#ifndef BREAK_RELEASE_STORE
		:: word != seen -> goto drain
#endif
		:: else
		fi;
		/* @src word.h:baton__word_release
		 * cas_release(&resource->_word, &word, baton__word_mode_after(resource, word)) */
		/* @src inline.h:baton_inline_release
		 * baton_inline_cas_release(&resource->_word, &word, baton_inline_fresh(mode)) */
		assert(!list && !queued); /* R3 */
		word = seen & MODE;
		give_up_baton();
		seen = 0;
		if
		:: after == FINALISER -> goto fire_final
		:: after == AWAITER -> goto fire_await
		:: else -> goto script
		fi
	}
fire_final:
	atomic {
		/* @src marks.c:baton__after baton__kind(mark)->after(mark) */
		assert(!finals && done == accepted && !queued && !holder);
		assert(!(turn & VISITS) && word == CLOSED); /* R6 */
		finals++;
		freed = true;
		over = true;
		after = 0;
		goto script
	}

	/* ---- Hand-off ---- */
spent:
	atomic {
		if
		:: borrowed ->
			task = 0;
			goto give_back
		:: else -> goto hand_off
		fi
	}
hand_off:
	atomic {
		assert(!freed && !queued && (turn & PHASE) == HELD);
		give_up_baton();
		/* @src turn.h:baton__turn_queue
		 * add_seq_cst(&resource->_job._turn, BATON__QUEUED) */
		turn = turn + QUEUED;
		task = 0;
		seen = 0
	}
	atomic {
		if
		:: true ->
			/* @src handoff.c:baton__hand_off executor->_ops->schedule(executor */
			queued++;
			assert(queued == 1);
			goto script
		:: refusals ->
			refusals--;
			budget = UNLIMITED;
			goto take_back
		fi
	}
end_pop:
	atomic {
		queued ->
		queued--;
		budget = QUANTUM
	}
take_back:
#ifdef BREAK_TAKE_BACK_STORE
	seen = turn;
#endif
	atomic {
		assert(!freed);
#ifndef BREAK_TAKE_BACK_STORE
		seen = turn;
#endif
		/* @src turn.c:baton__turn_take_back cas_acq_rel(&resource->_job._turn, &turn, next) */
		if
#ifndef BREAK_TAKE_BACK_BLIND
		:: (seen & PHASE) == HELPED ->
			turn = (seen & ~(PHASE | TOUCHED)) | CONSUMED | TOUCHED;
			goto script
#endif
		:: else ->
			assert((seen & PHASE) != HELD && (seen & PHASE) != CONSUMED);
			turn = seen & ~(PHASE | TOUCHED);
			take_baton();
			goto drain
		fi
	}

	/* ---- A visitor: helps, or unlinks a cancelled task ---- */
look:
	atomic {
		if
		:: (future[target] & STATE) == DONE -> goto waited
		:: (future[target] & STATE) != DONE && !rounds -> goto sleep
		:: else -> rounds--
		fi
	}
	atomic {
		if
		:: (future[target] & BOUND) && !(future[target] & VISITOR) &&
		   ((future[target] & STATE) == PENDING ||
		    (future[target] & STATE) == CANCELLING) ->
			/* @src future.c:baton__future_visit
			 * cas_relaxed(&future->_state, &state, state | BATON__FUTURE_VISITOR) */
			future[target] = future[target] | VISITOR;
			visiting = 1;
			goto borrow
		:: else -> goto look
		fi
	}
sleep:
	(future[target] & STATE) == DONE;
waited:
	atomic {
		if
		:: target == AWAITER -> goto deinit
		:: else -> action = NOTHING; goto script
		fi
	}
decide:
	atomic {
		action = NOTHING;
		if
		:: (future[target] & BOUND) && (future[target] & STATE) == PENDING ->
			/* @src cancel.c:baton__cancel_decide cas_relaxed(&future->_state, &state, next) */
			visiting = (future[target] & VISITOR -> 0 : 1);
			future[target] = future[target] | CANCELLING | VISITOR;
			if
			:: visiting -> unlinking = true; goto borrow
			:: else -> goto script
			fi
		:: else -> goto script
		fi
	}
borrow:
#ifdef BREAK_BORROW_STORE
	seen = turn;
#endif
	atomic {
		assert(!freed);
#ifndef BREAK_BORROW_STORE
		/* @src turn.c:baton__turn_borrow uint32_t turn = load_seq_cst(&resource->_job._turn) */
		seen = turn;
#endif
		if
		:: (seen & PHASE) != QUEUED -> goto script
		:: else
		fi;
		/* @src turn.c:baton__turn_borrow cas_acquire(&resource->_job._turn, &turn, next) */
		turn = (seen & ~PHASE) | HELPED | TOUCHED;
		take_baton();
		borrowed = true;
		budget = UNLIMITED;
		if
		:: unlinking
		:: else -> goto drain
		fi
	}
	/* baton__unlink: the visit ends while we hold the baton. */
	atomic {
		if
		:: future[target] & VISITOR ->
			visiting = 0;
			/* @src future.c:baton__future_leave cas_acq_rel(&future->_state */
			future[target] = future[target] & ~VISITOR
		:: else -> visiting = 2
		fi;
		goto take
	}
unlink:
	atomic {
		assert(holder == _pid && !freed);
		/* @src visit.c:unlink_from struct baton_task *task = baton__backlog_unlink(resource, future) */
		d_step {
			task = list;
			end = 0;
			do
			:: task && task != target -> end = task; task = next[task]
			:: else -> break
			od;
			if
			:: task && !end -> list = next[task]
			:: task && end -> next[end] = next[task]
			:: else
			fi;
			end = 0
		}
		if
		:: task -> goto finish_first
		:: else -> unlinking = false; goto give_back
		fi
	}
helped:
	atomic {
		/* A helper's end: all before the awaits is over. */
		task = 0;
		if
		:: after ->
			assert(after == AWAITER);
			goto fire_await
		:: else -> goto give_back
		fi
	}
give_back:
	atomic {
		assert(holder == _pid && !freed);
		d_step {
			only_marks = (list != 0);
			end = list;
			do
			:: end ->
				only_marks = only_marks && IS_MARK(end);
				end = next[end]
			:: else -> break
			od
		}
		/* last_look: the last round; a canceller has none. */
		if
		:: only_marks && !rounds && action == HELP && queued ->
			/* @src visit.c:take_job take(executor */
			queued--;
			withdrawn = true
		/* A recall: nothing is left in _list. The look at the inbox is a hint, and the
		 * executor may not find the job. */
		:: !list && action != CANCEL_ONE && action != CANCEL_ALL && queued ->
			/* @src visit.c:take_job baton__turn_is_helped(resource) */
			queued--;
			withdrawn = true
		:: !list && action != CANCEL_ONE && action != CANCEL_ALL && queued -> skip
		:: else
		fi;
		only_marks = false
	}
#ifdef BREAK_GIVE_BACK_STORE
	seen = turn;
#endif
	atomic {
		assert(!freed);
#ifndef BREAK_GIVE_BACK_STORE
		seen = turn;
#endif
		borrowed = false;
		/* @src turn.c:baton__turn_give_back
			 * cas_seq_cst(&resource->_job._turn, &turn, next) */
		if
#ifdef BREAK_GIVE_BACK_BLIND
		:: !withdrawn ->
#else
		:: (seen & PHASE) == HELPED && !withdrawn ->
#endif
			turn = (seen & ~PHASE) | QUEUED;
			give_up_baton();
			goto script
		:: else ->
			turn = seen & ~(PHASE | TOUCHED);
			withdrawn = false;
			/* @src visit.c:baton__give_back_helped baton__stay_spent(stay) */
			budget = 0;
			goto drain
		fi
	}
leave:
	atomic {
		if
		:: visiting == 1 && (future[target] & VISITOR) ->
			visiting = 0;
			future[target] = future[target] & ~VISITOR;
			goto script
		:: else -> visiting = 0; goto visit_end
		fi
	}
visit_end:
#ifdef BREAK_VISIT_END_SPLIT
	/* Takes the visit back, and looks for LEAVING only then. */
	turn = turn - VISIT;
	atomic {
		assert(!freed);
		if
		:: (turn & LEAVING) && !(turn & VISITS) ->
#else
	atomic {
		assert(!freed);
		/* @src turn.c:baton__turn_end_visit cas_acq_rel(&resource->_job._turn, &turn, next) */
		assert(turn & VISITS);
		turn = turn - VISIT;
		if
		:: (turn & LEAVING) && !(turn & VISITS) ->
#endif
#ifdef BREAK_LAST_VISITOR_GOES
			goto script;
#endif
			turn = turn & ~LEAVING;
			take_baton();
			budget = UNLIMITED;
			goto drain
		:: else -> goto script
		fi
	}

	/* ---- Close, marks ---- */
close_then:
	if
	:: true
	:: word = word | CLOSED
	fi;
	atomic {
		action = NOTHING;
		/* @src turn.c:baton__turn_set_final or_acq_rel(&resource->_job._turn */
		if
		:: turn & FINAL -> goto script
		:: else ->
			turn = turn | FINAL;
			mark = FINALISER;
			goto push_mark
		fi
	}
close:
	atomic {
		/* @src word.c:baton__word_close
		 * cas_relaxed(&resource->_word, &word, word | BATON__WORD_CLOSED) */
		word = word | CLOSED;
		action = HELP;
		target = AWAITER
	}
	!calls;
	atomic {
		/* @src await.c:idle baton__word_is_busy(baton__word_settled(resource)) */
		if
		:: word & BUSY -> goto await
		:: else
		fi
	}
	atomic {
		/* @src await.c:idle baton__turn_is_visited(resource) */
		if
		:: turn & VISITS -> goto await
		:: else -> goto deinit
		fi
	}
await:
	future[AWAITER] = BOUND;
	mark = AWAITER;
push_mark:
	atomic {
		/* Users give the memory away only when no call that may be refused touches it. */
		mark != FINALISER || !calls;
		if
		:: mark == FINALISER -> seen = CLOSED
		:: mark == AWAITER -> seen = word & MODE
		:: mark == CANCEL -> seen = ((word & MODE) == CLOSED -> CLOSED : ATTENTION)
		fi;
		if
		:: mark == AWAITER -> before = accepted
		:: else
		fi;
		if
		:: word & BUSY ->
			/* @src word.c:baton__word_push_mark
			 * cas_release(&resource->_word, word, (uintptr_t)mark | flags) */
			next[mark] = TOP(word);
			word = WORD(mark, BUSY | seen);
			goto script
		:: !(word & BUSY) && mark == CANCEL -> goto script
		:: else ->
			/* @src word.c:baton__word_capture_for
			 * cas_acquire(&resource->_word, word, flags) */
			word = seen | BUSY;
			take_baton();
			list = mark;
			next[mark] = 0;
			mark = 0;
			budget = CAPTURE;
			goto drain
		fi
	}
deinit:
	atomic {
		/* @src resource.c:baton_resource_deinit
		 * baton__word_settled(resource) */
		assert(word == CLOSED && !(turn & VISITS) && !holder && !queued);
		assert(done == accepted);
		freed = true;
		over = true;
		action = NOTHING;
		goto script
	}
stop:
	skip
}

init
{
	byte i;

	atomic {
		do
		:: i < SUBMITTERS -> run Thread(i * TASKS + 1, i * TASKS + TASKS, NOTHING, 0); i++
		:: else -> break
		od;
		i = 0;
		do
		:: i < EXECUTORS -> run Thread(1, 0, EXECUTE, 0); i++
		:: else -> break
		od;
		i = 0;
		do
		:: i < HELPERS -> run Thread(1, 0, HELP, VISITED); i++
		:: else -> break
		od;
		i = 0;
#ifdef CANCELLER
		run Thread(1, 0, CANCEL_ONE, VISITED);
#endif
#ifdef MARK
		run Thread(1, 0, CANCEL_ALL, 0);
#endif
#ifdef FINAL_CLOSE
		run Thread(1, 0, CLOSE_THEN, 0);
#endif
#ifdef AWAIT_CLOSE
		run Thread(1, 0, CLOSE_AWAIT, 0);
#endif
	}
	/* Nothing is left behind: else this is no valid end. */
	ALL_DONE
}
