# SPDX-License-Identifier: MIT
"""Draws a part of a trace as SVG:  trace.py TRACE MICROSECONDS >PICTURE

The part is the one with the most arrows and hand-offs. Each thread has a track with
what it ran, coloured by the kind of resource; arrows lead from submit to run; below, the length of
the longest queues.
"""
import bisect
import collections
import html
import json
import sys

events = json.load(open(sys.argv[1]))['traceEvents']
span_us = float(sys.argv[2])
names = {e['tid']: e['args']['name'] for e in events if e['ph'] == 'M'}
tails = {e['id']: e for e in events if e['ph'] == 's'}
handoffs = [e for e in events if e['ph'] == 'i' and e['name'].startswith('hand-off')]
arrows = [(tails[e['id']], e) for e in events if e['ph'] == 'f' and e['id'] in tails]
points = sorted([tail['ts'] for tail, head in arrows if head['ts'] - tail['ts'] < span_us] +
                20 * [e['ts'] for e in handoffs])
if not points:
    sys.exit('trace.py: no task of this trace has waited')
begin = max(points, key=lambda ts: bisect.bisect(points, ts + span_us) -
            bisect.bisect(points, ts)) - span_us / 50
end = begin + span_us
spans = [e for e in events if e['ph'] == 'X' and e['ts'] < end and e['ts'] + e['dur'] > begin]
threads = sorted({e['tid'] for e in spans}, key=lambda tid: (names.get(tid, ''), tid))
queues = collections.defaultdict(list)
for e in events:
    if e['ph'] == 'C' and e['ts'] < end:
        queues[e['name']].append((e['ts'], e['args']['tasks']))
longest = sorted(queues, key=lambda name: -max(
    [n for ts, n in queues[name] if ts >= begin] or [0]))[:2]

LEFT, WIDTH, TRACK, TOP = 130, 900, 62, 50
COLOURS = ['#4c78a8', '#f58518', '#54a24b', '#b279a2', '#e45756', '#72b7b2']
kinds = sorted({e['name'].split(' ')[0] for e in spans if e.get('cat') == 'run'})
colour = {kind: COLOURS[i % len(COLOURS)] for i, kind in enumerate(kinds)}
row = {tid: TOP + i * TRACK for i, tid in enumerate(threads)}
height = TOP + len(threads) * TRACK + len(longest) * 46 + 34


def x(ts):
    return LEFT + (min(max(ts, begin), end) - begin) / span_us * (WIDTH - LEFT - 8)


out = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" '
       'font-size="11">' % (WIDTH, height),
       '<defs><marker id="a" viewBox="0 0 6 6" refX="6" refY="3" markerWidth="4" '
       'markerHeight="4" orient="auto"><path d="M0 0L6 3L0 6z" fill="#333"/></marker></defs>',
       '<rect width="%d" height="%d" fill="#fff"/>' % (WIDTH, height)]


def text(at_x, at_y, what, more=''):
    out.append('<text x="%.1f" y="%.1f"%s>%s</text>' % (at_x, at_y, more, html.escape(what)))


at = LEFT
LEGEND = {'asleep': '#e4e4e4', 'a hand-off': '#d00'}
for kind in kinds + list(LEGEND):
    fill = colour.get(kind) or LEGEND[kind]
    out.append('<rect x="%d" y="8" width="12" height="12" fill="%s"/>' % (at, fill))
    text(at + 16, 18, kind if kind in LEGEND else 'a task of a ' + kind)
    at += 150
for tid in threads:
    text(4, row[tid] + 20, names.get(tid, str(tid)))
    out.append('<path d="M%d %dH%d" stroke="#ccc"/>' % (LEFT, row[tid] + 36, WIDTH - 8))
# The outer spans first: the inner ones lie in them, a little lower.
for tid in threads:
    mine = sorted((e for e in spans if e['tid'] == tid), key=lambda e: (e['ts'], -e['dur']))
    outer = []
    for e in mine:
        while outer and outer[-1] <= e['ts'] + 0.001:
            outer.pop()
        depth = min(len(outer), 4)
        outer.append(e['ts'] + e['dur'])
        run = e.get('cat') == 'run'
        wide = max(x(e['ts'] + e['dur']) - x(e['ts']), 0.6)
        fill = colour[e['name'].split(' ')[0]] if run else '#e4e4e4'
        out.append('<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s" stroke="#fff" '
                   'stroke-width="0.3"/>' % (x(e['ts']), row[tid] + 4 + 6 * depth, wide,
                                             32 - 6 * depth, fill))
for tail, head in arrows:
    if begin <= tail['ts'] and head['ts'] <= end and tail['tid'] in row and head['tid'] in row:
        here = tail['tid'] == head['tid']
        y1, y2 = row[tail['tid']] + (2 if here else 20), row[head['tid']] + (2 if here else 20)
        bend = -24 if here else 0
        out.append('<path d="M%.1f %dQ%.1f %d %.1f %d" fill="none" stroke="#333" '
                   'stroke-width="0.5" opacity="0.6" marker-end="url(#a)"/>' % (
                       x(tail['ts']), y1, (x(tail['ts']) + x(head['ts'])) / 2,
                       (y1 + y2) / 2 + bend, x(head['ts']), y2))
for e in handoffs:
    if begin <= e['ts'] <= end and e['tid'] in row:
        out.append('<path d="M%.1f %dv30" stroke="#d00" stroke-width="1.2"/>' % (
            x(e['ts']), row[e['tid']] + 4))
base = TOP + len(threads) * TRACK
for name in longest:
    points = queues[name]
    before = [n for ts, n in points if ts < begin]
    line = [(begin, before[-1] if before else 0)] + [p for p in points if p[0] >= begin]
    most = max(n for _, n in line) or 1
    path = 'M%.1f %.1f' % (LEFT, base + 40)
    for ts, n in line:
        path += 'H%.1fV%.1f' % (x(ts), base + 40 - 30 * n / most)
    out.append('<path d="%sH%.1fV%.1fz" fill="#cfe0f0" stroke="#4c78a8" stroke-width="0.6"/>' % (
        path, x(end), base + 40))
    text(4, base + 22, name[:9])
    text(4, base + 35, name[9:26] + ', to %d' % most)
    base += 46
for i in range(5):
    ts = begin + span_us * i / 5
    text(x(ts), base + 16, '%d us' % round(ts - begin), ' fill="#666"')
out.append('</svg>')
print('\n'.join(out))
