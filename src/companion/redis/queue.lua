-- SPDX-License-Identifier: MIT
-- The functions of a queue on the server. Each function is one change. It first checks its fence
-- and all that can be refused, and then writes, so that the change happens whole or not at all. A
-- call that is repeated after a lost reply succeeds, and does its work no second time.
--
-- redis_functions.c sets LIBRARY, its name, and loads this text, remote.lua and names.lua as one
-- library, or as one script where the server has no functions. A program with another text has
-- another library; names.lua says when both may use one queue. q is the queue's name in braces: one
-- slot for all.
--
--   q:in               stream {id, number, kind}: arrivals
--   q:queue            zset id -> number: the tasks that wait
--   q:run              hash id -> record: the tasks that run
--   q:out              stream {id, epoch}: starts, for the backends (a consumer group)
--   q:done             stream {what, id, number}: ends, for the scheduler
--   q:task:ID          hash: a task             q:files:ID    hash: its files
--   q:note:ID          stream: what the submitter is told
--   q:orders:N         stream: what backend N is told
--   q:effects          stream {id, epoch, data}
--   q:readers          hash name -> up to which effect the reader has acknowledged
--   q:lease:scheduler  token:lease:renewals of the scheduler that leads; q:epoch: its epoch
--   q:held:N           set: the ids that q:run gives to backend N
--   q:backends         zset name -> when its lease ends, in ms of the queue's clock
--   q:kept             zset id -> until when its submitter keeps it, in ms of the queue's clock
--   q:sizes            hash id -> bytes of command and files, of each task that is not over
--   q:numbers          hash: the last arrival, the last epoch, the number of classes, how many
--                      effects are kept, and how many were dropped; how many tasks may wait, how
--                      many bytes tasks may have, and how many they have; the queue's clock; how
--                      many tasks of each kind wait, how many have ended, by how, and how often
--                      tasks waited again; the schema of these keys; how many submits were repeated
--
-- The queue's clock does not jump when the server's does: its time passes with the leader's sweeps,
-- each of which says how long the leader, by its own clock, has waited since the last. Between two
-- sweeps the server's clock is added, at most a lease. Without a leader the queue's time stands
-- still. No key expires by the server's clock.
--
-- A record of q:run is kind:assigned:epoch:started:number:owner. The owner is '' until a backend
-- takes the task. An epoch is at least the server's clock, so that no epoch is used twice, not even
-- by a server that has lost its last second.

local GROUP = 'backends'
local INTERACTIVE = '9'
local NOTES, ORDERS = 32, 64
local READERS = 64
-- What one call touches is bounded, so that no call stops the server for long: 500 entries at most.
local PAGE = 500 -- tasks that a new leader reads at once
local RUNS = 250 -- the same of those that run: a small hash is read whole
local TRIMMED = 500 -- entries of a stream that one call deletes
local DUE = 64 -- the tasks that nobody keeps that a sweep ends
local HELD, PASSED = 32, 32 -- of one lost backend in one call; mostly it has one task, or one entry
local LOST = 350 -- a sweep that has touched so many entries leaves other lost backends to the next
local KEPT_MS = 60000 -- a task that runs is kept at least so long

local TYPES = {
	[':in'] = 'stream', [':queue'] = 'zset', [':run'] = 'hash', [':out'] = 'stream',
	[':done'] = 'stream', [':numbers'] = 'hash', [':epoch'] = 'string',
	[':backends'] = 'zset', [':lease:scheduler'] = 'string', [':effects'] = 'stream',
	[':readers'] = 'hash', [':sizes'] = 'hash',
	[':kept'] = 'zset',
}

-- redis.call is not there yet while the library loads.
local function call(...)
	return redis.call(...)
end

local function refuse(code, text)
	error({err = code .. ' ' .. text})
end

local function whole(number)
	return string.format('%.0f', number)
end

local function now_us()
	local time = call('TIME')
	return time[1] * 1000000 + time[2]
end

-- The queue's clock, in us. clock: its fields, if the caller has read them.
local function clock_us(q, clock)
	clock = clock or call('HMGET', q .. ':numbers', 'clock', 'wall', 'cap')
	local passed = now_us() - tonumber(clock[2] or 0)
	return tonumber(clock[1] or 0) + math.max(math.min(passed, tonumber(clock[3] or 0)), 0)
end

local function set_clock(q, us, cap)
	call('HSET', q .. ':numbers', 'clock', whole(us), 'wall', whole(now_us()), 'cap', whole(cap))
end

local function in_ms(q, ms, clock)
	return whole(clock_us(q, clock) / 1000 + tonumber(ms))
end

local function check_types(q, types)
	for suffix, kind in pairs(types) do
		local is = call('TYPE', q .. suffix).ok
		if is ~= 'none' and is ~= kind then
			refuse('EFOREIGN', 'the key ' .. q .. suffix .. ' holds a ' .. is ..
				', not a ' .. kind .. ': another program uses the name of this queue')
		end
	end
end

-- What a function reads and writes of one task, and of one backend.
local function check_task(q, id)
	check_types(q, {[':task:' .. id] = 'hash'})
end

local function check_backend(q, name)
	check_types(q, {[':orders:' .. name] = 'stream', [':held:' .. name] = 'set'})
end

-- A task passes through these functions. Each looks at keys itself, before it writes: a command that
-- reads several keys is cheaper than as many types.
local FREQUENT = {submit = true, admit = true, take = true, finish = true}

local function look(q, name, id, ...)
	call('XREAD', 'COUNT', 1, 'STREAMS', q .. ':in', q .. ':out', q .. ':done', q .. ':effects',
		q .. ':orders:' .. name, '$', '$', '$', '$', '$')
	call('ZINTER', 5, q .. ':', q .. ':queue', q .. ':backends', q .. ':kept',
		q .. ':held:' .. name)
	call('HLEN', q .. ':sizes')
	return id and call('HMGET', q .. ':task:' .. id, ...)
end

-- Fails if a key that these functions write holds something else: one of the queue, of this backend
-- ('': of none), of this task (nil: of none). Returns these fields of the task. A key that is read
-- before anything is written need not be among them: the numbers, in which the schema is.
local function look_at_keys(q, name, id, ...)
	local good, fields = pcall(look, q, name, id, ...)
	if not good then
		check_types(q, TYPES)
		check_backend(q, name)
		check_task(q, id or '')
		error(fields, 0) -- 0: a text gets no place in front
	end
	return fields
end

local function new_epoch(q)
	local epoch = math.max(now_us(), tonumber(call('HGET', q .. ':numbers', 'epoch') or 0) + 1)
	call('HSET', q .. ':numbers', 'epoch', whole(epoch))
	return whole(epoch)
end

local function last_id(key)
	local last = call('XREVRANGE', key, '+', '-', 'COUNT', 1)
	return last[1] and last[1][1] or '0-0'
end

local function fields_of(entry)
	local fields = {}
	for i = 1, #entry[2], 2 do
		fields[entry[2][i]] = entry[2][i + 1]
	end
	return fields
end

-- ---- Tasks that wait ----

-- Each kind has a counter, so that nobody has to look at the tasks.
local function enqueue(q, id, number, kind)
	if call('ZADD', q .. ':queue', number, id) == 1 then
		call('HINCRBY', q .. ':numbers', 'waiting:' .. kind, 1)
	end
end

-- kind: nil if the server has lost the task (it may evict keys): its kind is not known then.
local function dequeue(q, id, kind)
	if call('ZREM', q .. ':queue', id) == 1 and kind then
		call('HINCRBY', q .. ':numbers', 'waiting:' .. kind, -1)
	end
end

-- ---- Tasks that run ----

local function running(q, id)
	local record = call('HGET', q .. ':run', id)
	if not record then
		return nil
	end
	local kind, assigned, epoch, started, number, owner =
		string.match(record, '^(%d+):(%d+):(%d+):(%d+):(%d+):(.*)$')
	return {kind = kind, assigned = assigned, epoch = epoch, started = started,
		number = number, owner = owner}
end

local function set_running(q, id, run)
	call('HSET', q .. ':run', id, table.concat({run.kind, run.assigned, run.epoch, run.started,
		run.number, run.owner}, ':'))
	if run.owner ~= '' then
		call('SADD', q .. ':held:' .. run.owner, id)
	end
end

local function end_run(q, id, run)
	call('HDEL', q .. ':run', id)
	if run and run.owner ~= '' then
		call('SREM', q .. ':held:' .. run.owner, id)
	end
end

-- ---- Telling ----

-- A key whose name is from outside may be another program's: then nil, and nobody else fails.
local function call_unless_foreign(...)
	local reply = redis.pcall(...)
	if type(reply) ~= 'table' or not reply.err then
		return reply
	end
	if not string.find(reply.err, 'WRONGTYPE') then
		error(reply)
	end
end

local function note(q, id, what, value, text, epoch, ...)
	call_unless_foreign('XADD', q .. ':note:' .. id, 'NOMKSTREAM', 'MAXLEN', NOTES, '*',
		'what', what, 'value', value, 'text', text or '', 'epoch', epoch or '0', ...)
end

local function order(q, owner, what, id, epoch, value)
	call('XADD', q .. ':orders:' .. owner, 'MAXLEN', ORDERS, '*', 'what', what, 'id', id,
		'epoch', epoch, 'value', value)
end

-- kind: of a task that waits again
local function done(q, what, id, number, kind)
	call('XADD', q .. ':done', '*', 'what', what, 'id', id, 'number', number, 'kind', kind or '')
end

-- A task is over: only its note is left, with the token of its submitter. run: its record, if it
-- runs.
local function over(q, id, run, what, value, text, epoch)
	local task = q .. ':task:' .. id
	local fields = call('HMGET', task, 'token', 'kind')
	local size = call('HGET', q .. ':sizes', id)
	local numbers = call('HMGET', q .. ':numbers', what, 'bytes')
	note(q, id, what, value, text, epoch, 'token', fields[1] or '')
	call('DEL', task, q .. ':files:' .. id)
	call('HSET', q .. ':numbers', what, whole(tonumber(numbers[1] or 0) + 1), 'bytes',
		whole(tonumber(numbers[2] or 0) - tonumber(size or 0)))
	call('HDEL', q .. ':sizes', id)
	local number = run and run.number or call('ZSCORE', q .. ':queue', id) or '0'
	if run then
		end_run(q, id, run)
	else
		dequeue(q, id, fields[2])
	end
	done(q, 'over', id, number)
end

-- The task is kept for so long from now on, if it is not kept longer already.
local function keep_at_least(q, id, ms)
	call('ZADD', q .. ':kept', 'GT', in_ms(q, ms), id)
end

local function drop_note(q, id)
	call('ZREM', q .. ':kept', id)
	if call('TYPE', q .. ':note:' .. id).ok ~= 'stream' then
		return 0
	end
	return call('DEL', q .. ':note:' .. id)
end

local function last_note(q, id)
	local last = call('XREVRANGE', q .. ':note:' .. id, '+', '-', 'COUNT', 1)
	return last[1] and fields_of(last[1]) or {}
end

-- The backend that ran the task is lost: the task waits again at its old place.
local function back(q, id, run)
	local task = q .. ':task:' .. id
	local fields = call('HMGET', task, 'attempts', 'attempts_max', 'withdrawn')
	if not fields[1] then
		return over(q, id, run, 'failed', '0', 'nobody kept the task', run.epoch)
	end
	if fields[3] then
		return over(q, id, run, 'withdrawn', '0', '', run.epoch)
	end
	if tonumber(fields[1]) >= tonumber(fields[2]) then
		return over(q, id, run, 'failed', fields[1], 'each backend that ran the task was lost',
			run.epoch)
	end
	end_run(q, id, run)
	enqueue(q, id, run.number, run.kind)
	call('HINCRBY', q .. ':numbers', 'retries', 1)
	note(q, id, 'lost', fields[1], run.owner, run.epoch)
	done(q, 'lost', id, run.number, run.kind)
end

-- The backend's tasks wait again, all but `but`, the task that the backend runs. Returns how many,
-- HELD at most.
local function lose_tasks(q, name, but)
	local count = 0
	for _, id in ipairs(call('SRANDMEMBER', q .. ':held:' .. name, HELD)) do
		local run = running(q, id)
		if not run or run.owner ~= name then
			call('SREM', q .. ':held:' .. name, id)
		elseif id ~= but then
			back(q, id, run)
		end
		count = count + 1
	end
	return count
end

-- Gives the entries that the backend got, but has not taken, to other backends. Returns how many,
-- PASSED at most.
local function pass_on(q, name)
	local pending = call('XPENDING', q .. ':out', GROUP, '-', '+', PASSED, name)
	for _, given in ipairs(pending) do
		local entry = call('XRANGE', q .. ':out', given[1], given[1])[1]
		call('XACK', q .. ':out', GROUP, given[1])
		call('XDEL', q .. ':out', given[1])
		if entry then
			call('XADD', q .. ':out', '*', unpack(entry[2]))
		end
	end
	return #pending
end

-- Returns how many entries were touched. A backend that has more than one call may touch stays
-- among the backends, with a lease that is over, for the next sweep.
local function lose_backend(q, name)
	local tasks, entries = lose_tasks(q, name), 0
	call('DEL', q .. ':orders:' .. name)
	if call('EXISTS', q .. ':out') == 1 then
		entries = pass_on(q, name)
	end
	if tasks == HELD or entries == PASSED then
		call('ZADD', q .. ':backends', 0, name)
	else
		if call('EXISTS', q .. ':out') == 1 then
			call('XGROUP', 'DELCONSUMER', q .. ':out', GROUP, name)
		end
		call('ZREM', q .. ':backends', name)
	end
	return 1 + tasks + entries
end

local function live_backends(q)
	return call('ZCOUNT', q .. ':backends', in_ms(q, 0), '+inf')
end

local function keep_alive(q, name, lease_ms)
	call('ZADD', q .. ':backends', in_ms(q, lease_ms), name)
end

-- ---- Effects, and who reads them ----

-- An effect is kept until all readers have acknowledged it. If `most` is not 0, no more are kept
-- than that and a hundred: the oldest are dropped, and counted.
local function add_effect(r, most, ...)
	call('XADD', r .. ':effects', '*', ...)
	if most > 0 then
		local dropped = call('XTRIM', r .. ':effects', 'MAXLEN', '~', most, 'LIMIT', TRIMMED)
		if dropped > 0 then
			call('HINCRBY', r .. ':numbers', 'effects_dropped', dropped)
		end
	end
end

local function is_later(id, other)
	local ms, sequence = string.match(id, '^(%d+)-(%d+)$')
	local other_ms, other_sequence = string.match(other, '^(%d+)-(%d+)$')
	if ms ~= other_ms then
		return tonumber(ms) > tonumber(other_ms)
	end
	return tonumber(sequence) > tonumber(other_sequence)
end

local function dropped_effects(r)
	return call('HGET', r .. ':numbers', 'effects_dropped') or '0'
end

-- A space's effects have readers of their own.
local function check_readers(q, remote)
	local r = remote == '1' and q .. ':remote' or q
	check_types(r, {[':readers'] = 'hash', [':effects'] = 'stream', [':numbers'] = 'hash'})
	return r
end

-- Deletes some of the effects that all readers have acknowledged. Returns how many.
local function delete_acknowledged(r)
	local first
	for _, position in ipairs(call('HVALS', r .. ':readers')) do
		if not first or is_later(first, position) then
			first = position
		end
	end
	if not first or first == '0-0' then
		return 0
	end
	local ids = {}
	for _, entry in ipairs(call('XRANGE', r .. ':effects', '-', first, 'COUNT', TRIMMED)) do
		ids[#ids + 1] = entry[1]
	end
	return #ids > 0 and call('XDEL', r .. ':effects', unpack(ids)) or 0
end

local F = {}

-- name, whether it is a space's: returns how far this reader has acknowledged, and how many effects
-- were dropped.
function F.reader(q, a)
	local r = check_readers(q, a[2])
	if call('HEXISTS', r .. ':readers', a[1]) == 0 and call('HLEN', r .. ':readers') >= READERS then
		refuse('EREADERS', 'there are ' .. READERS .. ' readers already')
	end
	call('HSETNX', r .. ':readers', a[1], '0-0')
	return {call('HGET', r .. ':readers', a[1]), dropped_effects(r)}
end

-- name, whether it is a space's, position. Returns how many effects were deleted: more may be left;
-- and how many were dropped.
function F.acknowledge(q, a)
	local r = check_readers(q, a[2])
	local had = call('HGET', r .. ':readers', a[1])
	if not had then
		refuse('ESTALE', 'the reader ' .. a[1] .. ' has left')
	end
	if is_later(a[3], had) then
		call('HSET', r .. ':readers', a[1], a[3])
	end
	return {delete_acknowledged(r), dropped_effects(r)}
end

-- name, whether it is a space's: effects are not kept for this reader any more.
function F.reader_leave(q, a)
	local r = check_readers(q, a[2])
	call('HDEL', r .. ':readers', a[1])
	return delete_acknowledged(r)
end

-- ---- The submitter's ----

-- Refuses if one more task with so many bytes is more than the queue holds. The maxima are texts.
local function check_room(q, bytes, has, tasks_max, bytes_max)
	if tonumber(tasks_max or 0) > 0 and call('ZCARD', q .. ':queue') >= tonumber(tasks_max) then
		refuse('EFULL', 'the queue is full: ' .. tasks_max .. ' tasks wait')
	end
	if tonumber(bytes_max or 0) > 0 and has + bytes > tonumber(bytes_max) then
		refuse('EFULL', 'the queue is full: its tasks may have ' .. bytes_max .. ' bytes')
	end
end

-- id, token, kind, keep_ms, attempts_max, command, then names and contents of files.
function F.submit(q, a)
	local id, token, kind, keep_ms = a[1], a[2], a[3], a[4]
	local task, files, told = q .. ':task:' .. id, q .. ':files:' .. id, q .. ':note:' .. id
	look_at_keys(q, '')
	if call('EXISTS', task, files, told) > 0 or running(q, id) or
			call('ZSCORE', q .. ':queue', id) then
		if call('TYPE', task).ok == 'hash' and call('HGET', task, 'token') == token or
				call('TYPE', told).ok == 'stream' and last_note(q, id).token == token then
			-- A WAIT that follows is about what this call has written.
			call('HINCRBY', q .. ':numbers', 'repeated', 1)
			return 0
		end
		refuse('EEXIST', 'a task with the id ' .. id .. ' is there already')
	end
	local numbers = call('HMGET', q .. ':numbers', 'clock', 'wall', 'cap', 'classes', 'arrivals',
		'bytes', 'tasks_max', 'bytes_max', 'waiting:' .. kind)
	local classes = tonumber(numbers[4] or 8)
	if tonumber(kind) >= classes and tonumber(kind) < 8 then
		refuse('ECLASS', 'there is no class ' .. kind .. ': the scheduler has ' ..
			whole(classes) .. ' classes, from 0 on')
	end
	local bytes, has = #a[6], tonumber(numbers[6] or 0)
	for i = 7, #a do
		bytes = bytes + #a[i]
	end
	check_room(q, bytes, has, numbers[7], numbers[8])
	local number = whole(tonumber(numbers[5] or 0) + 1)
	call('HSET', q .. ':numbers', 'arrivals', number, 'bytes', whole(has + bytes),
		'waiting:' .. kind, whole(tonumber(numbers[9] or 0) + 1))
	call('HSET', task, 'kind', kind, 'token', token, 'attempts', '0', 'attempts_max', a[5],
		'submitted', whole(now_us()), 'command', a[6])
	call('HSET', q .. ':sizes', id, bytes)
	call('ZADD', q .. ':kept', in_ms(q, keep_ms, numbers), id)
	for i = 7, #a, 2 do
		call('HSET', files, a[i], a[i + 1])
	end
	call('XADD', told, '*', 'what', 'waiting', 'value', '-1', 'text', '', 'epoch', '0')
	call('ZADD', q .. ':queue', number, id)
	call('XADD', q .. ':in', '*', 'id', id, 'number', number, 'kind', kind)
	return 1
end

-- Refuses if the task is not there, or is not this submitter's. Returns whether the task is over.
local function is_over(q, id, token)
	local owner = call('HGET', q .. ':task:' .. id, 'token')
	local last = owner and {} or last_note(q, id)
	if owner ~= token and last.token ~= token then
		refuse('ENOENT', 'there is no task ' .. id .. ' of this submitter')
	end
	return not owner
end

-- id, token, keep_ms
function F.keep(q, a)
	local ended = is_over(q, a[1], a[2])
	call('ZADD', q .. ':kept', in_ms(q, a[3]), a[1])
	return ended and 0 or 1
end

-- id, token
function F.withdraw(q, a)
	local id = a[1]
	if is_over(q, id, a[2]) then
		return 0
	end
	local run = running(q, id)
	if run and run.owner ~= '' then
		check_backend(q, run.owner)
		call('HSET', q .. ':task:' .. id, 'withdrawn', '1')
		order(q, run.owner, 'stop', id, run.epoch, 'withdrawn')
	else
		over(q, id, run, 'withdrawn', '0', '', run and run.epoch)
	end
	return 1
end

-- id, token: the submitter has read the last note.
function F.forget(q, a)
	if call('EXISTS', q .. ':note:' .. a[1]) == 0 then
		return 0
	end
	if not is_over(q, a[1], a[2]) then
		refuse('EBUSY', 'the task ' .. a[1] .. ' is not over')
	end
	return drop_note(q, a[1])
end

-- ---- The scheduler's ----

local function fence(q, epoch)
	if call('GET', q .. ':epoch') ~= epoch then
		refuse('ESTALE', 'another scheduler leads')
	end
end

-- Deletes what the scheduler has read, but for the last hundred entries or so.
local function trim_read(q, read_in, read_done)
	call('XTRIM', q .. ':in', 'MINID', '~', read_in, 'LIMIT', TRIMMED)
	call('XTRIM', q .. ':done', 'MINID', '~', read_done, 'LIMIT', TRIMMED)
end

-- A lease has no end of its own. A candidate that has seen the same renewal for as long as the lease
-- lasts, by its own clock, takes it over.
local function set_lease(q, token, lease_ms)
	local renewals = call('HINCRBY', q .. ':numbers', 'renewals', 1)
	call('SET', q .. ':lease:scheduler', token .. ':' .. lease_ms .. ':' .. renewals)
end

-- token, lease_ms, classes, effects_max, tasks_max, bytes_max, the lease that has not been renewed
-- for too long ('': none): returns the epoch, the clock, the ends of q:in and q:done, how many
-- backends live; or, if another scheduler leads, its lease, and how long that lasts.
function F.lead(q, a)
	local lease = call('GET', q .. ':lease:scheduler')
	local token, lease_ms = string.match(lease or '', '^([^:]*):(%d+):%d+$')
	if token and token ~= a[1] and lease ~= a[7] then
		return {'0', lease, lease_ms}
	end
	local epoch = new_epoch(q)
	set_lease(q, a[1], a[2])
	call('SET', q .. ':epoch', epoch)
	call('HSET', q .. ':numbers', 'classes', a[3], 'effects_max', a[4], 'tasks_max', a[5],
		'bytes_max', a[6])
	set_clock(q, clock_us(q), a[2] * 1000)
	return {epoch, whole(clock_us(q)), last_id(q .. ':in'), last_id(q .. ':done'),
		whole(live_backends(q))}
end

-- epoch, cursor ('0' at first): some of the tasks that run. Returns the next cursor ('0': all were
-- read), and of each task id, number, kind, assigned, started. A task may come twice.
function F.runs(q, a)
	fence(q, a[1])
	local found, runs = call('HSCAN', q .. ':run', a[2], 'COUNT', RUNS), {}
	for i = 1, #found[2], 2 do
		local run = running(q, found[2][i])
		for _, value in ipairs({found[2][i], run.number, run.kind, run.assigned, run.started}) do
			runs[#runs + 1] = value
		end
	end
	return {found[1], runs}
end

-- epoch, number: the tasks that wait and arrived after that number, PAGE at most. Returns the end of
-- q:in, which holds later arrivals if the page is not full; and of each task id, number, kind, and
-- when it was told to start at the latest ('' if it was not told).
function F.waiting(q, a)
	fence(q, a[1])
	local found, page = call('ZRANGEBYSCORE', q .. ':queue', '(' .. a[2], '+inf', 'WITHSCORES',
		'LIMIT', 0, PAGE), {}
	for i = 1, #found, 2 do
		local fields = call('HMGET', q .. ':task:' .. found[i], 'kind', 'told')
		page[2 * i - 1], page[2 * i] = found[i], found[i + 1]
		page[2 * i + 1], page[2 * i + 2] = fields[1] or INTERACTIVE, fields[2] or ''
	end
	return {last_id(q .. ':in'), page, #found / 2 < PAGE and 1 or 0}
end

local moves = {}

function moves.start(q, id, assigned, may_run, at)
	local task = q .. ':task:' .. id
	local number = call('ZSCORE', q .. ':queue', id)
	local fields = call('HMGET', task, 'kind', 'attempts')
	local kind = fields[1]
	if not number then
		local run = running(q, id)
		return run ~= nil and run.started == at
	end
	if not kind then
		over(q, id, nil, 'failed', '0', 'nobody kept the task')
		return false
	end
	local epoch = new_epoch(q)
	set_running(q, id, {kind = kind, assigned = assigned, epoch = epoch, started = at,
		number = number, owner = ''})
	dequeue(q, id, kind)
	call('HSET', task, 'may_run', may_run, 'attempts', whole(tonumber(fields[2] or 0) + 1))
	call('XADD', q .. ':out', '*', 'id', id, 'epoch', epoch)
	note(q, id, 'started', may_run, '', epoch)
	return true
end

function moves.shorten(q, id, assigned, may_run, at)
	local run = running(q, id)
	if not run then
		return true
	end
	run.assigned = assigned
	set_running(q, id, run)
	call('HSET', q .. ':task:' .. id, 'may_run', may_run)
	note(q, id, 'shortened', may_run, '', run.epoch)
	if run.owner ~= '' then
		order(q, run.owner, 'shorten', id, run.epoch, may_run)
	elseif may_run == '0' then
		over(q, id, run, 'done', '-1', 'stopped', run.epoch)
	end
	return true
end

function moves.halt(q, id)
	local run = running(q, id)
	if run and run.owner ~= '' then
		order(q, run.owner, 'stop', id, run.epoch, 'halted')
	elseif run then
		over(q, id, run, 'done', '-1', 'halted', run.epoch)
	end
	return true
end

function moves.deny(q, id, reason)
	if call('ZSCORE', q .. ':queue', id) then
		over(q, id, nil, 'denied', '0', reason)
	end
	return true
end

function moves.estimate(q, id, at_most, _, at)
	if call('ZSCORE', q .. ':queue', id) then
		note(q, id, 'waiting', at_most)
		call('HSET', q .. ':task:' .. id, 'told', at_most == '-1' and at_most or
			whole(at + at_most))
	end
	return true
end

-- epoch, how far q:in and q:done were read, then moves, 5 arguments each. Returns the ids of tasks
-- that should have started, and are gone.
function F.admit(q, a)
	fence(q, a[1])
	look_at_keys(q, '')
	call('HLEN', q .. ':run')
	local gone = {}
	for i = 4, #a, 5 do
		check_task(q, a[i + 1])
	end
	for i = 4, #a, 5 do
		if not moves[a[i]](q, a[i + 1], a[i + 2], a[i + 3], a[i + 4]) then
			gone[#gone + 1] = a[i + 1]
		end
	end
	trim_read(q, a[2], a[3])
	return gone
end

-- Nobody keeps the task any more. A task that runs stays: its backend keeps it.
local function end_kept(q, id)
	if running(q, id) then
		return keep_at_least(q, id, KEPT_MS)
	end
	if call('ZSCORE', q .. ':queue', id) then
		over(q, id, nil, 'failed', '0', 'nobody kept the task')
	end
	drop_note(q, id)
end

-- epoch, how far q:in and q:done were read, token, lease_ms, how many us have passed since the last
-- sweep by the leader's clock: renews the lease, looks after backends, and after tasks that nobody
-- keeps. Returns the clock, how many backends live, and how many more are to be looked after.
function F.sweep(q, a)
	fence(q, a[1])
	set_lease(q, a[4], a[5])
	local clock = call('HMGET', q .. ':numbers', 'clock', 'cap')
	local cap = tonumber(clock[2] or 0)
	set_clock(q, tonumber(clock[1] or 0) + math.min(tonumber(a[6]), cap), cap)
	trim_read(q, a[2], a[3])
	local past, touched = '(' .. in_ms(q, 0), 0
	for _, name in ipairs(call('ZRANGEBYSCORE', q .. ':backends', '-inf', past, 'LIMIT', 0, LOST)) do
		if touched >= LOST then
			break
		end
		touched = touched + lose_backend(q, name)
	end
	for _, id in ipairs(call('ZRANGEBYSCORE', q .. ':kept', '-inf', past, 'LIMIT', 0, DUE)) do
		end_kept(q, id)
	end
	local more = call('ZCOUNT', q .. ':backends', '-inf', past) +
		call('ZCOUNT', q .. ':kept', '-inf', past)
	return {whole(clock_us(q)), whole(live_backends(q)), whole(more)}
end

-- epoch, token: leads no more.
function F.resign(q, a)
	fence(q, a[1])
	if string.match(call('GET', q .. ':lease:scheduler') or '', '^[^:]*') == a[2] then
		call('DEL', q .. ':lease:scheduler')
	end
	return 1
end

-- ---- The backend's ----

-- name, address, lease_ms, then id and epoch of the task that the backend runs, if any. Returns
-- whether this task is still the backend's.
function F.renew(q, a)
	local name, id = a[1], a[4]
	check_backend(q, name)
	if call('EXISTS', q .. ':out') == 0 or #call('XINFO', 'GROUPS', q .. ':out') == 0 then
		call('XGROUP', 'CREATE', q .. ':out', GROUP, '0', 'MKSTREAM')
	end
	keep_alive(q, name, a[3])
	-- The backend may have tasks that it does not run: the answer of a take was lost; or the
	-- server came back without its last second, and with a task that this backend has finished.
	lose_tasks(q, name, id)
	if not id then
		return 1
	end
	local run = running(q, id)
	if not run or run.epoch ~= a[5] then
		return 0
	end
	keep_at_least(q, id, KEPT_MS)
	return 1
end

-- name, address, lease_ms, entry of q:out, id, epoch: nothing if the task is another's, or over.
function F.take(q, a)
	local name, id, epoch = a[1], a[5], a[6]
	local run = running(q, id)
	local fields = look_at_keys(q, name, id, 'command', 'token', 'may_run', 'attempts', 'kind')
	local files = call('HGETALL', q .. ':files:' .. id)
	if not call('ZSCORE', q .. ':backends', name) then
		keep_alive(q, name, a[3])
	end
	call('XACK', q .. ':out', GROUP, a[4])
	call('XDEL', q .. ':out', a[4])
	if not run or run.epoch ~= epoch or run.owner ~= '' and run.owner ~= name then
		return {}
	end
	if not fields[1] then
		over(q, id, run, 'failed', '0', 'nobody kept the task', epoch)
		return {}
	end
	run.owner = name
	set_running(q, id, run)
	note(q, id, 'running', fields[4], a[2], epoch)
	return {fields, files, last_id(q .. ':orders:' .. name)}
end

-- Refuses if the task does not run under this epoch. Returns the epoch of the effect that it has
-- had, if any.
local function check_held(q, id, epoch, run)
	if not run or run.epoch ~= epoch then
		refuse('ESTALE', 'the task ' .. id .. ' is another backend\'s, or over')
	end
	return look_at_keys(q, run.owner, id, 'effect')[1]
end

local function have_effect(q, id, epoch, data)
	if call('EXISTS', q .. ':task:' .. id) == 0 then
		refuse('ESTALE', 'nobody kept the task ' .. id)
	end
	add_effect(q, tonumber(call('HGET', q .. ':numbers', 'effects_max') or 0), 'id', id,
		'epoch', epoch, 'data', data)
end

-- id, epoch, data: at most once for each task.
function F.effect(q, a)
	local had = check_held(q, a[1], a[2], running(q, a[1]))
	if had and had ~= a[2] then
		refuse('EALREADY', 'the task ' .. a[1] .. ' has had its effect')
	end
	if not had then
		have_effect(q, a[1], a[2], a[3])
		call('HSET', q .. ':task:' .. a[1], 'effect', a[2])
	end
	return 1
end

-- The answer of the first call was lost.
local function has_finished(q, id, epoch)
	local last = last_note(q, id)
	return last.what == 'done' and last.epoch == epoch
end

-- id, epoch, status, reason, whether the backend reads its orders (1: it has to be woken), and maybe
-- the data of an effect, which happens with it.
function F.finish(q, a)
	local id, epoch = a[1], a[2]
	local run = running(q, id)
	if not run and has_finished(q, id, epoch) then
		return 0
	end
	local had = check_held(q, id, epoch, run)
	if a[6] and not had then
		have_effect(q, id, epoch, a[6])
	end
	over(q, id, run, 'done', a[3], a[4], epoch)
	if a[5] == '1' then
		order(q, run.owner, 'wake', id, epoch, '')
	end
	return 1
end

-- name
function F.leave(q, a)
	lose_backend(q, a[1])
	return 1
end

-- ---- The operator's ----

-- How many us ago that was by the server's clock.
local function since(us)
	return us and whole(math.max(now_us() - tonumber(us), 0)) or '0'
end

-- The reader that has acknowledged least, and how many readers there are.
local function slowest_reader(q)
	local readers, slowest = call('HGETALL', q .. ':readers'), nil
	for i = 1, #readers, 2 do
		if not slowest or is_later(readers[slowest + 1], readers[i + 1]) then
			slowest = i
		end
	end
	return slowest and readers[slowest] or '', #readers / 2
end

-- Returns the numbers in the order of redis_stats.c, the name of the reader that has acknowledged
-- least, and how many tasks of each kind wait. Writes nothing.
function F.stats(q)
	local first, submitted = call('ZRANGE', q .. ':queue', 0, 0)[1], nil
	if first then
		check_task(q, first)
		submitted = call('HGET', q .. ':task:' .. first, 'submitted')
	end
	local numbers = call('HMGET', q .. ':numbers', 'arrivals', 'done', 'denied', 'failed',
		'withdrawn', 'retries', 'effects_dropped', 'bytes', 'classes', 'tasks_max', 'bytes_max',
		'effects_max', 'wall')
	local lease = call('GET', q .. ':lease:scheduler')
	local slowest, readers = slowest_reader(q)
	local found = {call('ZCARD', q .. ':queue'), since(submitted), call('HLEN', q .. ':run'),
		live_backends(q), lease and call('GET', q .. ':epoch') or '0',
		lease and string.match(lease, '^[^:]*:(%d+):') or '0', since(table.remove(numbers)),
		call('XLEN', q .. ':effects'), readers}
	for i = 1, 12 do
		found[#found + 1] = numbers[i] or '0'
	end
	local waiting = {}
	for kind = 0, 9 do
		waiting[kind + 1] = call('HGET', q .. ':numbers', 'waiting:' .. kind) or '0'
	end
	return {found, slowest, waiting}
end
