
-- ---- Names ----

function F.version()
	return VERSION
end

local function run(name, keys, args)
	local good, result = pcall(function()
		check_types(keys[1], string.sub(name, 1, 7) == 'remote_' and REMOTE_TYPES or TYPES)
		return F[name](keys[1], args)
	end)
	if good then
		return result
	end
	return redis.error_reply(type(result) == 'table' and result.err or tostring(result))
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
	redis.register_function({function_name = 'baton_version', callback = F.version,
		flags = {'no-writes'}})
	for i = 1, #NAMES do
		redis.register_function({function_name = 'baton_' .. NAMES[i],
			callback = function(keys, args)
				return run(NAMES[i], keys, args)
			end,
			flags = i == #NAMES and {'no-writes'} or i > NEED_MEMORY and {'allow-oom'} or {}})
	end
else
	return run(table.remove(ARGV, 1), KEYS, ARGV)
end
