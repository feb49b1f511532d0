-- Keep what a session remembers at one version, unless the same or something newer is kept already.
--
-- KEYS[1]  the session's hash
-- ARGV     epoch, version, how long to keep it (ms), the values (JSON)
-- gives    1 where it was written, 0 where something as new stands there
local held = redis.call('HMGET', KEYS[1], 'epoch', 'version')
if held[1] and held[2] then
    if held[1] > ARGV[1] then
        return 0
    end
    if held[1] == ARGV[1] and tonumber(held[2]) >= tonumber(ARGV[2]) then
        return 0
    end
end
redis.call('HSET', KEYS[1], 'epoch', ARGV[1], 'version', ARGV[2], 'values', ARGV[4])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1
