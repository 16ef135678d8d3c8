-- Part of a log: space, name, from, limit, 'f' or 'b'. The answer: the head, then the entries in that direction.

local space, name = ARGV[3], ARGV[4]
local from, limit = tonumber(ARGV[5]), tonumber(ARGV[6])
local head = call('HGET', at('g', space), name)
if not head then return {} end
local last = tonumber(string.match(head, ' (%d+)$'))
local first, final
if ARGV[7] == 'f' then
  first = math.max(from, 1)
  final = math.min(last, first + limit - 1)
else
  final = math.min(from, last)
  first = math.max(1, final - limit + 1)
end
local answer = {head}
if limit == 0 or first > final then return answer end
local found = call('LRANGE', log('e', space, name), text(first - 1), text(final - 1))
for place = 1, #found do
  answer[place + 1] = found[ARGV[7] == 'f' and place or #found + 1 - place]
end
return answer
