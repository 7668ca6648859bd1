
-- ==== Resources over machines (remote.h) ====
--
--   q:remote:in:P      stream {node, number, name, data}: partition P's tasks that are not over
--   q:remote:state:P   hash name -> state
--   q:remote:owners    hash P -> epoch:node
--   q:remote:nodes     zset node -> when its lease ends (ms)
--   q:remote:to:N      stream: what node N is told: answers, messages, "look at the owners",
--                      "messages are lost"
--   q:remote:seq:N     the last number that was accepted from node N
--   q:remote:effects   stream {name, task, epoch, data}
--   q:remote:readers   hash name -> up to which effect the reader has acknowledged
--   q:remote:numbers   hash: the number of partitions, the last epoch, the effects dropped
--
-- A partition is owned by the node that q:remote:owners names. When that node's lease is over, the
-- next remote_balance of another node takes the partition. A task is over when its entry is deleted
-- from the partition's stream. A consumer group would deliver by XREADGROUP, a write that no fence
-- guards; so an owner reads by XREAD, and remote_commit deletes.

local REMOTE_TYPES = {
	[':remote:owners'] = 'hash', [':remote:nodes'] = 'zset', [':remote:numbers'] = 'hash',
	[':remote:effects'] = 'stream', [':remote:readers'] = 'hash',
}
local TOLD = 100000 -- entries that a node may leave unread before it gets no more messages

local function trim_told(r, node, position)
	call('XTRIM', r .. ':to:' .. node, 'MINID', position)
end

local function tell_node(r, node, ...)
	-- A node that is gone has no stream; another program's key there hinders nobody else.
	redis.pcall('XADD', r .. ':to:' .. node, 'NOMKSTREAM', '*', ...)
end

-- A stream that is full gets no more messages. Where one is dropped, 'lost' stands in the stream,
-- once for those that follow each other. Answers are always told, since futures wait for them; the
-- node bounds their number.
local function send_message(r, node, name, data)
	local key = r .. ':to:' .. node
	local unread = redis.pcall('XLEN', key)
	if type(unread) ~= 'number' then
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

-- The nodes, each with a count of 0; and when the first lease of a node other than `node` ends.
local function live_nodes(r, node)
	local nodes, counts, first = call('ZRANGE', r .. ':nodes', 0, -1, 'WITHSCORES'), {}, nil
	for i = 1, #nodes, 2 do
		counts[nodes[i]] = 0
		if nodes[i] ~= node and not first then
			first = tonumber(nodes[i + 1])
		end
	end
	return counts, first
end

local function read_owners(r)
	local owners, all = {}, call('HGETALL', r .. ':owners')
	for i = 1, #all, 2 do
		local epoch, node = string.match(all[i + 1], '^(%d+):(.*)$')
		owners[all[i]] = {epoch = epoch, node = node}
	end
	return owners
end

local function set_owner(r, partition, node)
	local epoch = new_epoch(r)
	call('HSET', r .. ':owners', partition, epoch .. ':' .. node)
	return epoch
end

-- How many partitions `node` should give to others: the largest and the smallest share differ by 1.
local function surplus_of(node, counts, partitions)
	local nodes, smallest = 0, counts[node]
	for _, count in pairs(counts) do
		nodes = nodes + 1
		smallest = math.min(smallest, count)
	end
	local share = math.ceil(partitions / nodes)
	if counts[node] > share then
		return counts[node] - share
	end
	return counts[node] > smallest + 1 and 1 or 0
end

-- node, lease_ms, keep_ms, partitions, owns ('1' or '0'), anew, position, number: joins, renews the
-- lease, takes the partitions of nodes that are lost. anew: the node has dropped all that it owned,
-- so that its old epochs end. Returns whether the server knew the node, the last number that it has
-- submitted, in how many ms the next lease of another node ends, how many partitions are too many,
-- and what the node owns.
function F.remote_balance(q, a)
	local r, node, partitions, position = q .. ':remote', a[1], tonumber(a[4]), a[7]
	local had = call('HGET', r .. ':numbers', 'partitions')
	if had and had ~= a[4] then
		refuse('EPARTITIONS', 'the space has ' .. had .. ' partitions, not ' .. a[4])
	end
	check_type(r .. ':to:' .. node, 'stream')
	check_type(r .. ':seq:' .. node, 'string')
	local now = now_us() / 1000
	local known = call('EXISTS', r .. ':to:' .. node, r .. ':seq:' .. node) == 2
	local expires = call('ZSCORE', r .. ':nodes', node)
	local lost = a[6] == '1' or not expires or tonumber(expires) < now
	call('HSET', r .. ':numbers', 'partitions', a[4])
	if not known then
		call('XADD', r .. ':to:' .. node, '*', 'what', 'hello')
		call('SET', r .. ':seq:' .. node, a[8])
	end
	call('PEXPIRE', r .. ':to:' .. node, a[3])
	call('PEXPIRE', r .. ':seq:' .. node, a[3])
	trim_told(r, node, position)
	local answer = {known and 1 or 0, call('GET', r .. ':seq:' .. node), '-1', 0, {}}
	if a[5] ~= '1' then
		return answer
	end
	call('ZREMRANGEBYSCORE', r .. ':nodes', '-inf', '(' .. whole(now))
	call('ZADD', r .. ':nodes', whole(now + tonumber(a[2])), node)
	local counts, first = live_nodes(r, node)
	local owners, own = read_owners(r), answer[5]
	-- A node has joined: those that own too much now give at once.
	for other in pairs(counts) do
		if not expires and other ~= node then
			tell_node(r, other, 'what', 'balance')
		end
	end
	for i = 0, partitions - 1 do
		local partition = whole(i)
		local owner = owners[partition]
		if not owner or not counts[owner.node] or owner.node == node and lost then
			owner = {epoch = set_owner(r, partition, node), node = node}
		end
		if owner.node == node then
			own[#own + 1] = partition
			own[#own + 1] = owner.epoch
		end
		counts[owner.node] = counts[owner.node] + 1
	end
	answer[3] = first and whole(math.max(first - now, 0)) or '-1'
	answer[4] = surplus_of(node, counts, partitions)
	return answer
end

-- Gives the partition to the live node that owns least, or to nobody.
local function give(r, partition, node, counts, told)
	local to = ''
	for other, count in pairs(counts) do
		if other ~= node and (to == '' or count < counts[to] or
				count == counts[to] and other < to) then
			to = other
		end
	end
	set_owner(r, partition, to)
	if to ~= '' then
		counts[to] = counts[to] + 1
		told[to] = true
	end
end

local function count_owned(owners, counts)
	for _, owner in pairs(owners) do
		if counts[owner.node] then
			counts[owner.node] = counts[owner.node] + 1
		end
	end
end

-- node, then pairs of partition and epoch of which the node has nothing in work any more.
function F.remote_release(q, a)
	local r, node, told = q .. ':remote', a[1], {}
	local counts = live_nodes(r, node)
	local owners = read_owners(r)
	count_owned(owners, counts)
	for i = 2, #a, 2 do
		local owner = owners[a[i]]
		if owner and owner.node == node and owner.epoch == a[i + 1] then
			give(r, a[i], node, counts, told)
		end
	end
	for to in pairs(told) do
		tell_node(r, to, 'what', 'balance')
	end
	return 1
end

-- node: leaves for good. The last node to leave deletes the empty streams.
function F.remote_leave(q, a)
	local r, node, told = q .. ':remote', a[1], {}
	call('ZREM', r .. ':nodes', node)
	call('ZREMRANGEBYSCORE', r .. ':nodes', '-inf', '(' .. whole(now_us() / 1000))
	local counts = live_nodes(r, node)
	local owners = read_owners(r)
	count_owned(owners, counts)
	for partition, owner in pairs(owners) do
		if owner.node == node then
			give(r, partition, node, counts, told)
		end
	end
	for to in pairs(told) do
		tell_node(r, to, 'what', 'balance')
	end
	call('DEL', r .. ':to:' .. node, r .. ':seq:' .. node)
	if next(counts) == nil then
		for partition in pairs(owners) do
			if call('TYPE', r .. ':in:' .. partition).ok == 'stream' and
					call('XLEN', r .. ':in:' .. partition) == 0 then
				call('DEL', r .. ':in:' .. partition)
			end
		end
		call('DEL', r .. ':owners')
	end
	return 1
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
	call('SET', r .. ':seq:' .. node, accepted, 'KEEPTTL')
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
