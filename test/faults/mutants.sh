#!/bin/sh
# SPDX-License-Identifier: MIT
# Can the fault tests fail? Breaks the library in one place at a time, in a copy, and runs them;
# each mutant must be caught. By hand: takes some minutes.
#
#	test/faults/mutants.sh [NAME]		at the top of the tree; NAME: that one alone
set -eu

only=${1-}
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cp -R Makefile .ci examples include src test "$copy"
cd "$copy"
make -s build/faults/faults >/dev/null
survivors=0

mutant() # name, file of src, sed expressions
{
	[ -z "$only" ] || [ "$only" = "$1" ] || return 0
	source=$(find src -name "$2")
	cp "$source" original.c
	sed -i -e "$3" "$source"
	if cmp -s original.c "$source"; then
		verdict='DOES NOT APPLY'
	elif ! make -s build/faults/faults >make.log 2>&1; then
		verdict='DOES NOT BUILD'
	elif timeout 300 build/faults/faults --until-failure >faults.log 2>&1; then
		verdict=SURVIVES
	else
		verdict="caught: $(grep '^\[----\] [a-z]*/' faults.log | head -n 1 |
			sed 's/^\[----\] //; s/--nth/at/; s/: .*//')"
	fi
	case $verdict in
	caught*) ;;
	*) survivors=$((survivors + 1)) ;;
	esac
	printf '%-26s %s\n' "$1" "$verdict"
	mv original.c "$source"
	touch "$source"
}

# Allocations
mutant record-unchecked thread.c '/= aligned_alloc/,/return NULL/ {/if (!thread)/d; /return NULL/d}'
mutant node-unchecked node.c '/= obtain(/,/return false/ {/if (!cache->nodes)/d; /return false/d}'
mutant slab-unchecked slab.c '/= map_slab(/,/return false/ {/if (!slab)/d; /return false/d}'
mutant pool-unchecked pool.c '/if (!pool)$/,/-ENOMEM/d'
mutant post-leaks call.c '/submit(resource, &post->task)/,/node_free/ {/if (error)/d; /node_free/d}'
mutant async-leaks call.c 's/baton__node_free(async);/;/'
mutant cpu-set-leaks spawn.c '/CPU_FREE(set)/d'
mutant mount-leaks cpus.c '/if (mount->top && mount->point)/,/return false/ {/free(mount->top)/d}'
mutant loop-leaks loop.c '/error = -errno/,/return error/ {/free(new)/d}'
mutant manual-leaks manual.c 's/free(new);/;/'
# Threads
mutant one-not-joined pool.c \
	's/baton__join(pool, started)/baton__join(pool, started ? started - 1 : 0)/'
mutant failed-pool-leaks pool.c '/^stop:/,/return error/ {/free(pool)/d}'
mutant start-error-ignored pool.c 's/error = load_relaxed(&pool->start_error)/error = 0/'
mutant thread-error-ignored spawn.c 's/error = -pthread_create(\(.*\));/(void)pthread_create(\1);/'
mutant creator-stays default_pool.c 's/^\tstore_release(&creator, 0);/\tif (!error)\n\t&/'
mutant key-fails-for-good thread.c \
	's/if (pthread_key_create(\(.*\)))$/static int e; if (e || (e = pthread_key_create(\1)))/'
mutant record-stays-used thread.c '/if (set_at_exit(thread))/,/return -ENOMEM/ {/store_release/d}'
mutant destroy-needs-memory pool.c \
	's/(void)begin_shutdown(pool);.*/(void)baton_pool_shutdown(pool);/'
mutant cancel-needs-memory job.c 's/^\t} else if (plain(job)->_cancel) {/&\n\t\tattach();/'
# What is refused
mutant future-stays-bound resource.c '/store_relaxed(&future->_resource, NULL)/d'
mutant refused-runs resource.c '/Nobody has seen them/,/_list = NULL/ {/_list = NULL/d}'
mutant batch-forgets-one resource.c 's/while (ready > 0)/while (ready > 1)/'
mutant lost-without-pool handoff.c \
	'/if (!executor) {/,/goto refused/ s/goto refused/return BATON__GIVEN/'
mutant job-dropped continuation.c \
	'/executor_schedule(/,/job_cancel/ s/baton_job_cancel(job)/return/'
mutant task-dropped continuation.c \
	's/if (!error || error == -ECANCELED/if (error <= 0 || error == -ECANCELED/'
# Waits
mutant eintr-is-timeout futex.c \
	's/if (errno == ETIMEDOUT)/if (errno == ETIMEDOUT || errno == EINTR)/'
mutant enosys-is-timeout futex.c 's/return wait_slice(.*/return -ETIMEDOUT;/'
mutant spurious-is-over pool.c \
	'/^static int await_zero/,/^}/ s/while (/if (/'
mutant spurious-wakes-worker idle.c \
	'/^void baton__idle_wait/,/^}/ s/while (/if (/'
mutant write-not-again loop.c '/while (write(/,/;/ s/while (write(\(.*\)) < 0.*/(void)!write(\1);/'
# Timers, detached completion
mutant failed-detach-holds detach.c \
	's/baton__turn_unwant_shelf(resource)/baton__unshelve(resource, false)/'
mutant endless-not-dropped timers_drive.c 's/UINT64_MAX - 1);/UINT64_MAX >> timers->shift);/'
mutant refused-arm-takes-run timer.c \
	'/Refused before it touches/,/-ESHUTDOWN/ {/if (/d; /return/d}'

[ "$survivors" -eq 0 ]
