
-- ==== Resources over machines (remote.h) ====
--
--   q:remote:in:P      stream {node, number, name, data}: partition P's tasks that are not over
--   q:remote:state:P   hash name -> state
--   q:remote:owners    hash P -> epoch:node
--   q:remote:own:N     zset P -> epoch: what node N owns; N may be '': what nobody owns
--   q:remote:shares    zset node -> how many partitions it owns: the nodes with a lease
--   q:remote:lost      set: the nodes without a lease, and '', that have partitions to be taken
--   q:remote:leases    zset node -> its last renewal: nodes that own
--   q:remote:keeps     zset node -> its last renewal: all nodes
--   q:remote:spans     hash node -> lease_ms:keep_ms
--   q:remote:to:N      stream: what node N is told: answers, messages, "look at the owners",
--                      "messages are lost"
--   q:remote:seq:N     the last number that was accepted from node N
--   q:remote:effects   stream {name, task, epoch, data}
--   q:remote:readers   hash name -> up to which effect the reader has acknowledged
--   q:remote:numbers   hash: the number of partitions, how many were ever owned, the last epoch, the
--                      last renewal, the effects dropped, the schema of these keys
--
-- A partition is owned by the node that q:remote:owners names. A lease has no end on the server, and
-- no key expires, so that no jump of the server's clock ends anything. Each renewal has a number. A
-- node that has seen no later number of another node for as long as the other's lease lasts, by its
-- own clock, says so in its next remote_balance, and takes the other's partitions; after keep_ms it
-- ends what the server keeps for the other. While no node that owns lives, nothing is ended.
--
-- A task is over when its entry is deleted from the partition's stream. A consumer group would
-- deliver by XREADGROUP, a write that no fence guards; so an owner reads by XREAD, and remote_commit
-- deletes.

local REMOTE_TYPES = {
	[':remote:owners'] = 'hash', [':remote:own:'] = 'zset', [':remote:shares'] = 'zset',
	[':remote:lost'] = 'set', [':remote:leases'] = 'zset', [':remote:keeps'] = 'zset',
	[':remote:spans'] = 'hash', [':remote:numbers'] = 'hash',
	[':remote:effects'] = 'stream', [':remote:readers'] = 'hash',
}
local MOVED = 250 -- partitions that one call moves
local WATCHED = 64 -- nodes that have not renewed for longest, of whom a node is told
local TOLD = 100000 -- entries that a node may leave unread before it gets no more messages

-- Deletes what the node has heard, but for the last hundred entries or so.
local function trim_told(r, node, position)
	call('XTRIM', r .. ':to:' .. node, 'MINID', '~', position, 'LIMIT', TRIMMED)
end

local function tell_node(r, node, ...)
	-- A node that is gone has no stream; another program's key there hinders nobody else.
	call_unless_foreign('XADD', r .. ':to:' .. node, 'NOMKSTREAM', '*', ...)
end

-- A stream that is full gets no more messages. Where one is dropped, 'lost' stands in the stream,
-- once for those that follow each other. Answers are always told, since futures wait for them; the
-- node bounds their number.
local function send_message(r, node, name, data)
	local key = r .. ':to:' .. node
	local unread = call_unless_foreign('XLEN', key)
	if not unread then
		return -- another program's key
	end
	if unread < TOLD then
		tell_node(r, node, 'what', 'message', 'name', name, 'data', data)
	elseif call('XREVRANGE', key, '+', '-', 'COUNT', 1)[1][2][2] ~= 'lost' then
		tell_node(r, node, 'what', 'lost')
	end
end

local function check_type(key, kind)
	local is = call('TYPE', key).ok
	if is ~= 'none' and is ~= kind then
		refuse('EFOREIGN', 'the key ' .. key .. ' holds a ' .. is .. ', not a ' .. kind ..
			': another program uses the name of this space')
	end
end

-- ---- Who owns what ----

local function own_key(r, node)
	return r .. ':own:' .. node
end

local function set_share(r, node)
	call('ZADD', r .. ':shares', 'XX', call('ZCARD', own_key(r, node)), node)
end

-- to: '' is nobody.
local function set_owner(r, partition, from, to)
	local epoch = new_epoch(r)
	call('ZREM', own_key(r, from), partition)
	call('ZADD', own_key(r, to), epoch, partition)
	call('HSET', r .. ':owners', partition, epoch .. ':' .. to)
	set_share(r, from)
	set_share(r, to)
	if to == '' then
		call('SADD', r .. ':lost', '')
	end
end

-- The node's partitions of epochs up to `old` get later epochs. Returns how many.
local function renew_epochs(r, node, old)
	local found = call('ZRANGEBYSCORE', own_key(r, node), '-inf', old, 'LIMIT', 0, MOVED)
	for _, partition in ipairs(found) do
		set_owner(r, partition, node, node)
	end
	return #found
end

-- The node takes partitions of lost nodes, and those that nobody has owned yet, `most` in all.
local function take_free(r, node, partitions, most)
	local lost = call('SRANDMEMBER', r .. ':lost')
	-- Ends: each round takes partitions, or ends a lost node.
	while lost and most > 0 do
		local found = call('ZRANGE', own_key(r, lost), 0, most - 1)
		for _, partition in ipairs(found) do
			set_owner(r, partition, lost, node)
		end
		most = most - #found
		if call('ZCARD', own_key(r, lost)) == 0 then
			call('SREM', r .. ':lost', lost)
		end
		lost = call('SRANDMEMBER', r .. ':lost')
	end
	local given = tonumber(call('HGET', r .. ':numbers', 'given') or 0)
	local last = math.min(partitions, given + most)
	for i = given, last - 1 do
		set_owner(r, whole(i), '', node)
	end
	call('HSET', r .. ':numbers', 'given', whole(last))
	return lost ~= false or last < partitions
end

-- How many partitions `node` should give to others: the largest and the smallest share differ by 1.
local function surplus_of(r, node, partitions)
	local share = math.ceil(partitions / call('ZCARD', r .. ':shares'))
	local smallest = tonumber(call('ZRANGE', r .. ':shares', 0, 0, 'WITHSCORES')[2])
	local owned = tonumber(call('ZSCORE', r .. ':shares', node))
	if owned > share then
		return owned - share
	end
	return owned > smallest + 1 and 1 or 0
end

-- ---- Leases ----

-- The node has not renewed since that renewal, for as long as its lease (or its keep) lasts.
local function end_span(r, kind, node, renewal)
	if tonumber(call('ZSCORE', r .. ':' .. kind, node) or 0) ~= tonumber(renewal) then
		return
	end
	call('ZREM', r .. ':' .. kind, node)
	if kind == 'leases' then
		call('ZREM', r .. ':shares', node)
		if call('EXISTS', own_key(r, node)) == 1 then
			call('SADD', r .. ':lost', node)
		end
	else
		call('HDEL', r .. ':spans', node)
		call('UNLINK', r .. ':to:' .. node, r .. ':seq:' .. node)
	end
end

local function end_spans(r, a, from)
	for i = from, #a, 3 do
		end_span(r, a[i] == 'leases' and 'leases' or 'keeps', a[i + 1], a[i + 2])
	end
end

-- Of the nodes that have not renewed for longest: leases or keeps, node, renewal, how long it lasts.
local function add_watched(watched, r, kind, node)
	local found = call('ZRANGE', r .. ':' .. kind, 0, WATCHED - 1, 'WITHSCORES')
	for i = 1, #found, 2 do
		local lease_ms, keep_ms = string.match(call('HGET', r .. ':spans', found[i]) or '0:0',
			'^(%d+):(%d+)$')
		if found[i] ~= node then
			for _, value in ipairs({kind, found[i], found[i + 1],
					kind == 'leases' and lease_ms or keep_ms}) do
				watched[#watched + 1] = value
			end
		end
	end
end

-- Tells the nodes that own most partitions to give some away now. The other nodes find out at their
-- next renewal.
local function tell_largest(r, node)
	for _, other in ipairs(call('ZREVRANGE', r .. ':shares', 0, WATCHED - 1)) do
		if other ~= node then
			tell_node(r, other, 'what', 'balance')
		end
	end
end

-- node, lease_ms, keep_ms, partitions, owns ('1' or '0'), old, seen, position, number, then leases
-- that are over: leases or keeps, node, renewal: joins, renews the lease, takes the partitions of
-- nodes that are lost. old: the node has dropped what it owned up to this epoch ('0': nothing; '':
-- all that it owns), so that these epochs end. seen: the last epoch that it knows to be its own.
-- Returns whether the server knew the node, the last number that it has submitted, up to which epoch
-- its epochs have ended ('0': none has), how many partitions are too many, what the node owns beyond
-- `seen`, MOVED partitions at most, whether there is more, and which leases to watch.
function F.remote_balance(q, a)
	local r, node, partitions, old = q .. ':remote', a[1], tonumber(a[4]), a[6]
	local had = call('HGET', r .. ':numbers', 'partitions')
	if had and had ~= a[4] then
		refuse('EPARTITIONS', 'the space has ' .. had .. ' partitions, not ' .. a[4])
	end
	check_type(r .. ':to:' .. node, 'stream')
	check_type(r .. ':seq:' .. node, 'string')
	check_type(own_key(r, node), 'zset')
	local known = call('EXISTS', r .. ':to:' .. node, r .. ':seq:' .. node) == 2
	call('HSET', r .. ':numbers', 'partitions', a[4])
	if not known then
		call('XADD', r .. ':to:' .. node, '*', 'what', 'hello')
		call('SET', r .. ':seq:' .. node, a[9])
	end
	local renewal = call('HINCRBY', r .. ':numbers', 'renewals', 1)
	call('ZADD', r .. ':keeps', renewal, node)
	call('HSET', r .. ':spans', node, a[2] .. ':' .. a[3])
	trim_told(r, node, a[8])
	local answer = {known and 1 or 0, call('GET', r .. ':seq:' .. node), '0', 0, {}, 0, {}}
	if a[5] ~= '1' then
		return answer
	end
	end_spans(r, a, 10)
	local joins = not call('ZSCORE', r .. ':leases', node)
	call('ZADD', r .. ':leases', renewal, node)
	call('ZADD', r .. ':shares', call('ZCARD', own_key(r, node)), node)
	call('SREM', r .. ':lost', node)
	if joins then
		tell_largest(r, node)
	end
	if joins or old == '' then
		old = call('HGET', r .. ':numbers', 'epoch') or '0'
	end
	local more = take_free(r, node, partitions, MOVED - renew_epochs(r, node, old))
	local seen = whole(math.max(tonumber(old), tonumber(a[7])))
	local own = call('ZRANGEBYSCORE', own_key(r, node), '(' .. seen, '+inf', 'WITHSCORES',
		'LIMIT', 0, MOVED)
	more = more or #own == 2 * MOVED or call('ZCOUNT', own_key(r, node), '-inf', old) > 0
	answer[3], answer[4], answer[5], answer[6] = old, surplus_of(r, node, partitions), own,
		more and 1 or 0
	add_watched(answer[7], r, 'leases', node)
	add_watched(answer[7], r, 'keeps', node)
	return answer
end

-- Gives the partition to the node that owns least, or to nobody. Returns to whom.
local function give(r, partition, node)
	local to = ''
	for _, other in ipairs(call('ZRANGE', r .. ':shares', 0, 1)) do
		if to == '' and other ~= node then
			to = other
		end
	end
	set_owner(r, partition, node, to)
	return to
end

local function tell_heirs(r, heirs)
	for heir in pairs(heirs) do
		if heir ~= '' then
			tell_node(r, heir, 'what', 'balance')
		end
	end
end

-- node, then pairs of partition and epoch of which the node has nothing in work any more.
function F.remote_release(q, a)
	local r, node, heirs = q .. ':remote', a[1], {}
	for i = 2, #a, 2 do
		if call('HGET', r .. ':owners', a[i]) == a[i + 1] .. ':' .. node then
			heirs[give(r, a[i], node)] = true
		end
	end
	tell_heirs(r, heirs)
	return 1
end

local function delete_if_empty(key)
	if call('TYPE', key).ok == 'stream' and call('XLEN', key) == 0 then
		call('DEL', key)
	end
end

-- node, then leases that are over, as for remote_balance: leaves for good. Returns how many
-- partitions are left to the node, which calls again. The last node to leave deletes the empty
-- streams.
function F.remote_leave(q, a)
	local r, node, heirs = q .. ':remote', a[1], {}
	end_spans(r, a, 2)
	call('ZREM', r .. ':leases', node)
	call('ZREM', r .. ':shares', node)
	local last = call('ZCARD', r .. ':shares') == 0
	for _, partition in ipairs(call('ZRANGE', own_key(r, node), 0, MOVED - 1)) do
		heirs[give(r, partition, node)] = true
		if last then
			delete_if_empty(r .. ':in:' .. partition)
		end
	end
	tell_heirs(r, heirs)
	local left = call('ZCARD', own_key(r, node))
	if left > 0 then
		call('SADD', r .. ':lost', node)
		return left
	end
	call('SREM', r .. ':lost', node)
	call('ZREM', r .. ':keeps', node)
	call('HDEL', r .. ':spans', node)
	call('UNLINK', r .. ':to:' .. node, r .. ':seq:' .. node)
	call('SREM', r .. ':lost', '')
	if last and call('SCARD', r .. ':lost') == 0 then
		call('UNLINK', r .. ':owners', own_key(r, ''))
		call('HDEL', r .. ':numbers', 'given')
	elseif call('EXISTS', own_key(r, '')) == 1 then
		call('SADD', r .. ':lost', '')
	end
	return 0
end

-- node, position, the last number that the node knows to be accepted, then partition, number, name,
-- data. Returns the last number that is accepted now; a task that was accepted before is not
-- accepted again. A server that has lost its last second knows a lower number than the node: it
-- accepts no task then, and the node submits again all tasks after the number that is returned.
function F.remote_submit(q, a)
	local r, node, checked = q .. ':remote', a[1], {}
	local accepted = call('GET', r .. ':seq:' .. node)
	if not accepted then
		refuse('ESTALE', 'the server does not know the node ' .. node .. ' any more')
	end
	if tonumber(accepted) < tonumber(a[3]) then
		return accepted
	end
	for i = 4, #a, 4 do
		if not checked[a[i]] then
			check_type(r .. ':in:' .. a[i], 'stream')
			checked[a[i]] = true
		end
	end
	for i = 4, #a, 4 do
		if tonumber(a[i + 1]) > tonumber(accepted) then
			call('XADD', r .. ':in:' .. a[i], '*', 'node', node, 'number', a[i + 1],
				'name', a[i + 2], 'data', a[i + 3])
			accepted = a[i + 1]
		end
	end
	call('SET', r .. ':seq:' .. node, accepted)
	trim_told(r, node, a[2])
	return accepted
end

-- node: the last number that is accepted.
function F.remote_number(q, a)
	local accepted = call('GET', q .. ':remote:seq:' .. a[1])
	if not accepted then
		refuse('ESTALE', 'the server does not know the node ' .. a[1] .. ' any more')
	end
	return accepted
end

-- Pairs of partition and name. Returns the states of these names.
function F.remote_states(q, a)
	local states = {}
	for i = 1, #a, 2 do
		states[#states + 1] = call('HGET', q .. ':remote:state:' .. a[i], a[i + 1])
	end
	return states
end

-- One task of remote_commit, whose arguments begin at i: partition, epoch, entry, name, whether the
-- state changes ('set', 'delete', ''), state, node to answer, number, status, answer, how many
-- effects, how many messages, then these. Returns where the next task's begin.
local function commit_one(r, a, i, effects_max, apply)
	local partition, epoch, entry, name, change = a[i], a[i + 1], a[i + 2], a[i + 3], a[i + 4]
	local effects, messages = tonumber(a[i + 10]), tonumber(a[i + 11])
	local rest = i + 12
	if not apply or call('XDEL', r .. ':in:' .. partition, entry) == 0 then
		return rest + effects + 2 * messages
	end
	if change == 'set' then
		call('HSET', r .. ':state:' .. partition, name, a[i + 5])
	elseif change == 'delete' then
		call('HDEL', r .. ':state:' .. partition, name)
	end
	for _ = 1, effects do
		add_effect(r, tonumber(effects_max), 'name', name, 'task', entry, 'epoch', epoch,
			'data', a[rest])
		rest = rest + 1
	end
	for _ = 1, messages do
		send_message(r, a[rest], name, a[rest + 1])
		rest = rest + 2
	end
	if a[i + 6] ~= '' then
		tell_node(r, a[i + 6], 'what', 'answer', 'number', a[i + 7], 'status', a[i + 8],
			'data', a[i + 9])
	end
	return rest
end

-- node, position, effects_max, number of tasks, then the tasks (commit_one). Returns the partitions
-- that are another node's, or this node's under a later epoch: of their tasks nothing has happened.
function F.remote_commit(q, a)
	local r, node, owned, stale = q .. ':remote', a[1], {}, {}
	local at = 5
	for _ = 1, tonumber(a[4]) do
		local partition = a[at]
		local key = partition .. ':' .. a[at + 1]
		if owned[key] == nil then
			owned[key] = call('HGET', r .. ':owners', partition) ==
				a[at + 1] .. ':' .. node
			check_type(r .. ':state:' .. partition, 'hash')
			check_type(r .. ':in:' .. partition, 'stream')
			if not owned[key] then
				stale[#stale + 1] = partition
			end
		end
		at = at + 12 + tonumber(a[at + 10]) + 2 * tonumber(a[at + 11])
	end
	at = 5
	for _ = 1, tonumber(a[4]) do
		at = commit_one(r, a, at, a[3], owned[a[at] .. ':' .. a[at + 1]])
	end
	trim_told(r, node, a[2])
	return stale
end
