# SPDX-License-Identifier: MIT
"""Does a trace tell what has happened?  history.py TRACE HISTORY, both as history.c writes them.

Each run of the history is one span of its resource on its thread, in the order of the history, and
the other way round; spans of a thread nest; each arrow goes from a submit forward in time to a run
of the same resource; the counters of queues never fall below 0, and end at 0; hand-offs, steals and
the spans of parks and waits are as many as the counters say.
"""
import collections
import json
import sys

events = json.load(open(sys.argv[1]))['traceEvents']
runs, counts, pool, waiter = collections.defaultdict(list), {}, None, None
for line in open(sys.argv[2]):
    word, *rest = line.split()
    if word == 'run':
        runs[rest[0]].append((int(rest[1]), int(rest[2]), int(rest[3])))
    elif word == 'counts':
        counts[rest[0]] = [int(number) for number in rest[1:]]
    elif word == 'pool':
        pool = [int(number) for number in rest]
    else:
        waiter = int(rest[0])


def insist(right, *what):
    if not right:
        sys.exit('history.py: ' + ' '.join(str(part) for part in what))


SLACK = 0.002  # microseconds: times are written with three digits
spans = collections.defaultdict(list)
for event in events:
    insist(event['ph'] in 'XisfCM', 'an unknown event:', event)
    if event.get('cat') == 'run':
        spans[event['name']].append(event)

# Runs. The trace counts from its own start: the offset is the same for all.
insist(set(spans) == set(runs), 'resources', set(spans), set(runs))
least, most = float('-inf'), float('inf')  # of that start, from each run
for name, history in runs.items():
    insist(len(spans[name]) == len(history), name, 'has', len(spans[name]), 'spans, and ran',
           len(history))
    for span, (thread, begin, end) in zip(spans[name], history):
        insist(span['tid'] == thread, name, 'ran on', thread, 'and the trace says', span)
        insist(span['dur'] * 1000 >= end - begin - 1, 'a span is shorter than its run:', span)
        # ts <= begin - start, and end - start <= ts + dur
        most = min(most, begin / 1000 - span['ts'])
        least = max(least, end / 1000 - span['ts'] - span['dur'])
insist(least <= most + SLACK, 'no start of the trace fits all runs:', least, most)

# Spans of a thread nest.
threads = collections.defaultdict(list)
for event in events:
    if event['ph'] == 'X':
        threads[event['tid']].append((event['ts'], -event['dur'], event))
for thread in threads.values():
    open_spans = []
    for begin, dur, event in sorted(thread, key=lambda span: span[:2]):
        while open_spans and open_spans[-1] <= begin + SLACK:
            open_spans.pop()
        insist(not open_spans or begin - dur <= open_spans[-1] + SLACK, 'does not nest:', event)
        open_spans.append(begin - dur)

# Arrows: a run of the thread at the head begins there, before another task is entered.
starts = {event['id']: event for event in events if event['ph'] == 's'}
heads = [event for event in events if event['ph'] == 'f']
insist(len(starts) == len(heads) == len({head['id'] for head in heads}), 'arrows without an end')
for head in heads:
    insist(starts[head['id']]['ts'] <= head['ts'], 'an arrow goes back in time:', head)
    insist(any(span['tid'] == head['tid'] and
               head['ts'] - SLACK <= span['ts'] for span in spans[head['args']['resource']]),
           'no run at the head of', head)
for name, (submitted, captures, handoffs) in counts.items():
    arrows = [head for head in heads if head['args']['resource'] == name]
    insist(submitted - captures <= len(arrows) <= submitted, name, 'has', len(arrows), 'arrows of',
           submitted, 'tasks,', captures, 'of which ran inside their submit')
    said = [event for event in events if event['name'] == 'hand-off ' + name]
    insist(len(said) == handoffs, name, 'was handed off', handoffs, 'times, not', len(said))
    lengths = [event['args']['tasks'] for event in events if event['name'] == 'queue of ' + name]
    insist(len(lengths) >= 2 * len(arrows), name, 'has', len(lengths), 'lengths')
    insist(not lengths or (min(lengths) >= 0 and lengths[-1] == 0), name, 'has lengths', lengths)

# The pool, and who waited for the promise.
steals, woken = pool
insist(sum(event['name'] == 'steal' for event in events) == steals, 'steals are', steals)
parks = sum(event.get('cat') == 'parked' for event in events)
insist(woken <= parks <= woken + 1, 'parks that have ended are', woken, 'and not', parks)
insist(waiter in {event['tid'] for event in events if event.get('cat') == 'wait'}, 'no wait')
names = {event['args']['name'] for event in events if event['ph'] == 'M'}
insist(names <= {'worker-0', 'worker-1', 'history'}, 'threads that still live have names:', names)
