
-- ---- The schema ----
--
-- Programs with different texts of these functions may use one queue at the same time, as long as
-- their schema is the same. So a change of these files keeps the schema if the functions of the text
-- before it still work beside those of the new text: a new function; a new argument, field, note or
-- key that the former functions need not know, and that may be missing. It raises the schema if one
-- of them would misread what the other has written, or leave out what the other counts on: another
-- form of a record, another meaning of a field, an index or a sum that all functions must maintain.
-- The schema of a queue, and that of a space, stand in its own keys (q:numbers, q:remote:numbers).
-- A queue of a former schema is taken over when it is drained, and refused until then. A space never
-- drains, since its names have states: a change of its schema must bring functions that convert it.

local SCHEMA, REMOTE_SCHEMA = 1, 1

-- A queue that is drained gets the new schema. Its effects, readers, epochs and counters stay.
local function take_over(q)
	call('DEL', q .. ':in', q .. ':out', q .. ':done', q .. ':epoch', q .. ':lease:scheduler',
		q .. ':backends', q .. ':sizes')
	call('HDEL', q .. ':numbers', 'bytes')
	call('HSET', q .. ':numbers', 'schema', SCHEMA)
end

-- Returns whether the keys do not say their schema. Keys from before the field are of schema 1.
local function check_schema(r, schema, drains, writes)
	local has = call('HGET', r .. ':numbers', 'schema')
	if not has and call('EXISTS', r .. ':numbers') == 0 then
		return true
	end
	local is = tonumber(has or 1)
	if is > schema then
		refuse('ESCHEMA', 'the keys of ' .. r .. ' are of schema ' .. is .. ', this older ' ..
			'program\'s of schema ' .. schema)
	elseif is < schema and (not drains or
			call('EXISTS', r .. ':queue', r .. ':run', r .. ':kept') > 0) then
		refuse('ESCHEMA', 'the keys of ' .. r .. ' are of schema ' .. is .. ', this program\'s ' ..
			'of schema ' .. schema .. ': the older programs must drain the queue first')
	elseif is < schema and writes then
		take_over(r)
	end
	return not has
end

-- ---- Names ----

function F.version()
	return SCHEMA
end

local function keys_of(name, q, args)
	local reads = name == 'acknowledge' or string.sub(name, 1, 6) == 'reader'
	if string.sub(name, 1, 7) == 'remote_' or reads and args[2] == '1' then
		return q .. ':remote', REMOTE_SCHEMA
	end
	return q, SCHEMA
end

local function text_of(failure)
	return type(failure) == 'table' and failure.err or tostring(failure)
end

local function run(name, keys, args)
	local types = string.sub(name, 1, 7) == 'remote_' and REMOTE_TYPES or TYPES
	local good, result = pcall(function()
		local r, schema = keys_of(name, keys[1], args)
		if not FREQUENT[name] then
			check_types(keys[1], types)
		end
		local writes = name ~= 'stats'
		local fresh = check_schema(r, schema, r == keys[1], writes)
		local answer = F[name](keys[1], args)
		if fresh and writes and call('EXISTS', r .. ':numbers') == 1 then
			call('HSET', r .. ':numbers', 'schema', schema)
		end
		return answer
	end)
	if good then
		return result
	end
	-- Redis does not say which key it is.
	if string.find(text_of(result), 'WRONGTYPE') then
		local fits, foreign = pcall(check_types, keys[1], types)
		result = fits and result or foreign
	end
	return redis.error_reply(text_of(result))
end

-- While the library loads, Redis offers little of Lua: no pairs, no redis.call.
local NAMES = {'submit', 'remote_submit',
	-- These run even when the server has no memory left: what was accepted must be able to end.
	'lead', 'admit', 'effect', 'withdraw', 'forget', 'keep', 'sweep', 'resign', 'runs', 'waiting',
	'reader', 'acknowledge', 'reader_leave', 'renew', 'take', 'finish', 'leave',
	'remote_balance', 'remote_release', 'remote_leave', 'remote_number', 'remote_states',
	'remote_commit',
	-- This one writes nothing, and so runs on a replica, too.
	'stats'}
local NEED_MEMORY = 2

if redis.register_function then
	redis.register_function({function_name = LIBRARY .. '_version', callback = F.version,
		flags = {'no-writes'}})
	for i = 1, #NAMES do
		redis.register_function({function_name = LIBRARY .. '_' .. NAMES[i],
			callback = function(keys, args)
				return run(NAMES[i], keys, args)
			end,
			flags = i == #NAMES and {'no-writes'} or i > NEED_MEMORY and {'allow-oom'} or {}})
	end
else
	return run(table.remove(ARGV, 1), KEYS, ARGV)
end
