/* SPDX-License-Identifier: MIT */
/*
 * Readers (reader.c, reader_party.c): joins, the leader and its party, the last reader that
 * unshelves, beside writers; and the end of the readers, whose party's job may still be queued.
 *
 * Modelled: a word with an inbox in its order, the list, the shelf's bits; submitters, each of one
 * task, which drain without limit; helpers, which run the party's job; shared holds (hold_shared.c):
 * each captures and leads, joins, or waits for its grant, which a leader brings. WORKS: a holder may
 * take a party along. STOP: one thread is stopped by the system at any of its steps: what waits for
 * it waits, and no submit does.
 *
 * Left out: memory orders (every step is sequentially consistent); hand-offs, helping, marks, closing
 * (resource.pml, shelf.pml); a grant beside its deadline (hold.pml).
 *
 * "@src": see src.awk. Configuration: READERS, HOLDERS, WRITERS: one thread each; HELPERS; PARTY: its
 * size; WORKS; STOP. LIVE: the property live.
 */
#ifndef READERS
#define READERS 2
#endif
#ifndef HOLDERS
#define HOLDERS 0
#endif
#ifndef WRITERS
#define WRITERS 1
#endif
#ifndef HELPERS
#define HELPERS 0
#endif
#ifndef PARTY
#define PARTY 2
#endif

#define TASKS (READERS + HOLDERS + WRITERS)
#define IS_READER(task) ((task) < READERS + HOLDERS)
#define IS_HOLD(task) (IS_READER(task) && (task) >= READERS)

/* The shelf's bits. */
#define NONE 0
#define WANTED 1
#define CALLED 2
#define LEFT 3

/* Where the party's job is. */
#define IDLE 0
#define OUT 1
#define AGAIN 2
#define ORPHAN 3

bool busy, attention;
byte queue[TASKS];         /* tasks in their order; those below `head` have been taken out */
byte head, taken, tail;    /* below `taken`: in the list; from there on: in the inbox */
byte shelf;

bool open;                 /* the readers' word */
byte count;

byte party[PARTY];
byte party_there, party_taken;
byte posted, jobs;
byte granted;              /* a bit for each shared hold that has been granted */

/* What is asserted about. */
byte holder;
byte reading;
bool writing;
byte done[TASKS];
byte submitted;            /* a bit for each task whose submit has ended */
byte all;                  /* how many tasks are over */
byte halted;               /* the process that is stopped */
bool in_hands;             /* it has the baton, or is counted, or must unshelve */
bool freed;

#define ALL_DONE (all == TASKS)

#ifdef LIVE
ltl live { <> (ALL_DONE && !busy) }
#endif

/* Here the thread may be stopped. `hands`: others wait for it then. */
#ifdef STOP
#define may_stop(hands)                                                                            \
	if                                                                                         \
	:: atomic { !halted -> halted = _pid; in_hands = hands }; goto end_halted                  \
	:: true                                                                                    \
	fi;
#else
#define may_stop(hands)
#endif

inline take_baton()
{
	assert(!holder && !writing);
	holder = _pid
}

inline give_up_baton()
{
	assert(holder == _pid);
	holder = 0
}

/* `before`: the tasks whose submit had ended before that of `task` began. */
inline begin_reading(task)
{
	atomic {
		assert(!writing && !done[task]);
		for (k : READERS + HOLDERS .. TASKS - 1) {
			assert(!(before[task] & (1 << k)) || done[k]);
		}
		reading++;
		assert(count);
	}
}

inline end_reading(task)
{
	atomic {
		reading--;
		done[task] = 1;
		all++
	}
}

byte before[TASKS];

proctype Thread(byte mine; bool helps)
{
	byte seen, task, n, ended, k, grants;
	bool seen_open, last;

	if
	:: helps -> goto end_help
	:: else -> before[mine] = submitted
	fi;

	/* ---- Submit ---- */
	if
	:: IS_READER(mine) -> goto join
	:: else -> goto push
	fi;
join:
	may_stop(false)
	/* @src reader.c:join_group uint32_t word = load_relaxed(&readers->_state) */
	atomic { seen = count; seen_open = open }
look:
	may_stop(false)
	atomic {
		if
		:: !seen_open || !seen -> goto push
		:: else
		fi;
#ifndef BREAK_JOIN_UNSEEN
		/* @src reader.c:may_join const uintptr_t inbox = baton__word(resource) */
		if
		:: !busy || taken != tail -> goto push
		:: else
		fi
#endif
	}
	may_stop(false)
	atomic {
		/* @src reader.c:join_group
		 * cas_acquire(&readers->_state, &word, word + READER) */
#ifdef BREAK_JOIN_STORE
		count = seen + 1;
		goto beside
#endif
		if
		:: count == seen && open == seen_open -> count++; goto beside
		:: else -> seen = count; seen_open = open; goto look
		fi
	}
beside:
	may_stop(true)
	begin_reading(mine);
	may_stop(true)
	end_reading(mine);
	submitted = submitted | (1 << mine);
	ended = 1;
	goto leave_beside;

push:
	may_stop(false)
	atomic {
		if
		:: !busy ->
			/* @src word.h:baton__word_capture baton_inline_capture(resource, idle, mode) */
			assert(head == tail);
			busy = true;
			take_baton();
			submitted = submitted | (1 << mine);
			task = mine;
			goto enter
		:: else ->
			/* @src word.h:baton__word_push
			 * cas_release(&resource->_word, word, (uintptr_t)newest */
			queue[tail] = mine;
			tail++;
			submitted = submitted | (1 << mine);
			if
			:: IS_HOLD(mine) -> goto end_await_grant
			:: else -> goto stop
			fi
		fi
	}
end_await_grant:
	granted & (1 << mine);
	goto beside;

	/* ---- The holder's drain ---- */
drain:
	may_stop(true)
	atomic {
		assert(holder == _pid);
		if
		/* @src drain.c:next_step if (baton__turn_is_shelving(resource)) */
		:: attention && shelf -> goto leave
		:: else
		fi;
		if
		:: head < taken -> task = queue[head]; head++; goto enter
		:: head == taken && taken < tail ->
			/* @src word.h:baton__word_take
			 * cas_acquire(&resource->_word, &word, BATON__WORD_BUSY */
			taken = tail;
			attention = false;
			goto drain
		:: head == tail ->
			/* @src word.h:baton__word_release
			 * cas_release(&resource->_word, &word, baton__word_mode_after(resource, word)) */
			assert(!shelf && !count);
			attention = false;
			busy = false;
			give_up_baton();
			goto stop
		fi
	}
enter:
	may_stop(true)
	if
	:: IS_READER(task) -> goto lead
	:: else
	fi;
	atomic { assert(!reading && !writing && !count && !done[task]); writing = true }
	may_stop(true)
	atomic { writing = false; done[task] = 1; all++ }
	goto drain;

	/* ---- A reader, which leads ---- */
lead:
	n = 0;
	grants = 0;
	/* A shared hold that has captured the resource leads alone. */
#if defined(WORKS) || HOLDERS
	if
	:: IS_HOLD(task) && task == mine -> goto begin
	:: else
	fi;
	atomic {
		/* @src reader.c:gather_readers party->tasks[count++] = task */
		if
		:: head == taken && taken < tail && !attention -> taken = tail
		:: else
		fi;
		do
		/* @src reader.c:gather_readers *grants = task */
		:: head < taken && IS_HOLD(queue[head]) ->
			grants = grants | (1 << queue[head]);
			head++
#ifdef WORKS
		:: n < PARTY && head < taken && IS_READER(queue[head]) && !IS_HOLD(queue[head]) ->
			party[n] = queue[head];
			n++;
			head++
#endif
		:: else -> break
		od
	}
#endif
begin:
	may_stop(true)
	atomic {
		/* @src reader.c:begin_group
		 * store_release(&readers->_state, count * READER + (open ? OPEN : 0)) */
		assert(!count);
		count = n + 1;
#ifdef BREAK_OPEN_ALWAYS
		open = true
#else
		open = head == taken
#endif
	}
	if
	:: n ->
		atomic {
			/* @src reader_party.c:baton__party_begin
			 * store_release(&party->next, count * ONE_THERE) */
			assert(party_taken == party_there);
			party_there = n;
			party_taken = 0
		}
		may_stop(true)
		atomic {
			/* @src reader_party.c:invite_worker_to
			 * cas_acquire(&party->posted, &posted, OUT) */
			/* @src reader_party.c:invite_worker_to
			 * cas_relaxed(&party->posted, &posted, AGAIN) */
			if
			:: posted == OUT -> posted = AGAIN
			:: posted == AGAIN
			:: posted == IDLE ->
				posted = OUT;
				jobs++;
				assert(jobs == 1)
			fi
		}
	:: else
	fi;
	if
	:: IS_HOLD(task) && task != mine ->
		grants = grants | (1 << task) /* the leader reads nothing itself */
	:: else
	fi;
	k = 0;
	do
	:: k < TASKS && grants & (1 << k) ->
		may_stop(true)
		/* @src reader.c:baton__readers_count_held
		 * add_relaxed(&readers->_state, READER) */
#ifdef BREAK_GRANT_UNCOUNTED
		granted = granted | (1 << k);
#endif
		count++;
		may_stop(true)
		/* @src run.c:enter baton__future_finish(future, */
		atomic { granted = granted | (1 << k); k++ }
	:: k < TASKS && !(grants & (1 << k)) -> k++
	:: k == TASKS -> break
	od;
	if
	:: IS_HOLD(task) && task != mine
	:: else ->
		may_stop(true)
		begin_reading(task);
		may_stop(true)
		end_reading(task)
	fi;
	ended = 1;
	do
	:: true ->
		may_stop(true)
		atomic {
			/* @src reader_party.c:baton__party_take
			 * cas_acquire(&party->next, &next, next + ONE_TAKEN) */
#ifndef BREAK_LEADER_LEAVES_PARTY
			if
			:: n && party_taken < party_there ->
				task = party[party_taken];
				party_taken++
			:: else -> break
			fi
#else
			break
#endif
		}
		begin_reading(task);
		may_stop(true)
		end_reading(task);
		ended++
	od;
#ifdef BREAK_HOLD_LEADS_AS_JOINED
	if
	:: IS_HOLD(mine) && task == mine -> give_up_baton(); goto leave_beside
	:: else
	fi;
#endif
	/* @src reader.c:baton__readers_end_lead uint32_t word = load_relaxed(&readers->_state) */
	seen = count;
	may_stop(true)
	atomic {
		if
		/* @src reader.c:baton__readers_end_lead cas_acquire(&readers->_state, &word, 0) */
#ifdef BREAK_ALONE_STORE
		:: seen == ended -> count = 0; goto drain
#else
		:: seen == ended && count == seen -> count = 0; goto drain
#endif
		:: else
		fi
	}
	may_stop(true)
#ifdef BREAK_COUNTED_OFF_FIRST
	atomic { count = count - ended; last = !count }
#endif
	/* @src shelf.c:baton__shelve_for baton__turn_want_shelf(resource) */
	atomic { assert(!shelf); shelf = WANTED }
	may_stop(true)
	/* @src shelf.c:baton__shelve_for baton__word_set_attention(resource) */
	attention = true;
	may_stop(true)
#ifndef BREAK_COUNTED_OFF_FIRST
	atomic {
		/* @src reader.c:leave_group
		 * sub_acq_rel(&readers->_state, ended * READER) */
		assert(count >= ended);
		count = count - ended;
		last = !count
	}
#endif
#ifndef BREAK_LAST_LEAVES
	if
	:: last ->
		may_stop(true)
		/* @src reader.c:baton__readers_end_lead baton__turn_unwant_shelf(resource) */
		atomic { assert(shelf == WANTED); shelf = NONE }
	:: else
	fi;
#endif
	goto drain;
leave:
	may_stop(true)
	atomic {
		/* @src turn.c:baton__turn_shelve
		 * cas_acq_rel(&resource->_job._turn, &turn, next) */
		if
		:: shelf == CALLED -> shelf = NONE; goto drain
		:: else -> shelf = LEFT; give_up_baton(); goto stop
		fi
	}

	/* ---- The end of a reader beside the leader ---- */
leave_beside:
	may_stop(true)
	atomic {
		/* @src reader.c:leave_group
		 * sub_acq_rel(&readers->_state, ended * READER) */
		assert(count >= ended);
		count = count - ended;
		if
		:: count -> goto stop_or_help
		:: else
		fi
	}
	may_stop(true)
	atomic {
		/* @src turn.c:baton__turn_unshelve
		 * cas_acq_rel(&resource->_job._turn, &turn, next) */
		assert(shelf == WANTED || shelf == LEFT);
		if
		:: shelf == WANTED -> shelf = CALLED; goto stop_or_help
		:: else -> shelf = NONE; take_baton(); goto drain
		fi
	}

	/* ---- Helpers ---- */
end_help:
	atomic {
		if
		:: jobs ->
#ifdef BREAK_IDLE_EARLY
			posted = IDLE;
#endif
			jobs--
		:: !jobs && ALL_DONE && !busy -> goto stop
		fi
	}
take_or_leave:
	may_stop(true)
	atomic {
		assert(!freed);
		/* @src reader_party.c:baton__party_take
		 * cas_acquire(&party->next, &next, next + ONE_TAKEN) */
		if
		:: party_taken < party_there ->
			task = party[party_taken];
			party_taken++;
			goto helper_runs
		:: else
		fi
	}
	may_stop(true)
	atomic {
		assert(!freed);
		/* @src reader_party.c:take_or_leave cas_release(&party->posted, &posted, IDLE) */
		/* @src reader_party.c:take_or_leave cas_relaxed(&party->posted, &posted, OUT) */
		if
		:: posted == OUT -> posted = IDLE; goto end_help
		:: posted == AGAIN -> posted = OUT; goto take_or_leave
		:: posted == ORPHAN -> freed = true; goto stop
		fi
	}
helper_runs:
	may_stop(true)
	/* @src reader_party.c:run_party_job store_release(&party->posted, IDLE) */
	posted = IDLE;
	may_stop(true)
	atomic {
		/* @src reader_party.c:run_party_job next = load_relaxed(&party->next) */
		if
		:: party_taken < party_there ->
			if
			:: posted == IDLE -> posted = OUT; jobs++; assert(jobs == 1)
			:: posted == OUT -> posted = AGAIN
			:: posted == AGAIN
			fi
		:: else
		fi
	}
	ended = 0;
	do
	:: true ->
		begin_reading(task);
		may_stop(true)
		end_reading(task);
		ended++;
		atomic {
			if
			:: party_taken < party_there ->
				task = party[party_taken];
				party_taken++
			:: else -> break
			fi
		}
	od;
	goto leave_beside;

stop_or_help:
	if
	:: helps -> goto end_help
	:: else
	fi;
stop:
	goto over;
end_halted:
	false;
over:
	skip
}

/* The readers end when all tasks are over. */
proctype End()
{
end_wait:
	ALL_DONE && !busy && !count;
	atomic {
		/* @src reader_party.c:baton__party_end swap_acq_rel(&party->posted, ORPHAN) */
#ifdef BREAK_FREED_EARLY
		freed = true
#else
		if
		:: posted == IDLE -> freed = true
		:: else
		fi
#endif
		;
		posted = ORPHAN
	}
}

init {
	byte i;

	atomic {
		for (i : 0 .. TASKS - 1) {
			run Thread(i, false)
		}
		i = 0;
		do
		:: i < HELPERS -> run Thread(0, true); i++
		:: else -> break
		od;
		run End()
	}
	timeout;
	/* Whatever is stopped: each submit of the others has ended. What is in no hand has run. */
	if
	:: !halted -> assert(ALL_DONE && !busy && !holder && !count && !shelf)
	:: halted && !in_hands ->
		i = 0;
		do
		:: i < TASKS ->
			assert(done[i] || !(submitted & (1 << i)));
			i++
		:: else -> break
		od
	:: else
	fi
}
