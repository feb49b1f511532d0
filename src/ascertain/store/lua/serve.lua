-- What a session remembers, if it is kept at the needed version or above.
--
-- KEYS[1]  the session's hash
-- ARGV     the needed epoch and version, as the ledger says
-- gives    version and values (JSON), or nothing
local held = redis.call('HMGET', KEYS[1], 'epoch', 'version', 'values')
if not (held[1] and held[2] and held[3]) then
    return false
end
if held[1] ~= ARGV[1] or tonumber(held[2]) < tonumber(ARGV[2]) then
    return false
end
return {held[2], held[3]}
