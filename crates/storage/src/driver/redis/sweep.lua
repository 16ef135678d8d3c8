-- Erases at most ARGV[3] expired values of the space whose values end first. The answer is how many there were,
-- or -1 where no value has ended.

local due = call('ZRANGEBYSCORE', prefix .. 'expiring', '-inf', text(now), 'LIMIT', 0, 1)
local space = due[1]
if not space then return -1 end
local dead = call('ZRANGEBYSCORE', at('x', space), '-inf', text(now), 'LIMIT', 0, ARGV[3])
for _, name in ipairs(dead) do erase(space, name, call('HGET', at('v', space), name)) end
if #dead > 0 then raise_floor(space) end
local following = call('ZRANGE', at('x', space), 0, 0, 'WITHSCORES')
if following[2] then
  call('ZADD', prefix .. 'expiring', following[2], space)
else
  call('ZREM', prefix .. 'expiring', space)
end
return #dead
