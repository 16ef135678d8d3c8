-- Compares the parts of one space with each other: space, 'g' for its logs or 'v' and some names for those values.
-- The answer: for each difference the name and what is wrong.

local space, answer = ARGV[3], {}
local function report(name, reason)
  answer[#answer + 1] = name
  answer[#answer + 1] = reason
end

local function check_log(name, head)
  local last = string.match(head, '^%d+ (%d+)$')
  if not last then return report(name, 'its head "' .. head .. '" is not two numbers') end
  local entries = call('LLEN', log('e', space, name))
  local ids = call('HLEN', log('i', space, name))
  if entries ~= tonumber(last) then report(name, 'it has ' .. entries .. ' entries, its head says ' .. last) end
  if ids ~= entries then report(name, 'it has ' .. entries .. ' entries and ' .. ids .. ' ids') end
end

local function check_value(name)
  local header = call('HGET', at('v', space), name)
  if not header then return end
  local kind, length, _, ends, id = parts(header)
  if not kind then return report(name, 'its header "' .. header .. '" has not six parts') end
  if id ~= '0' then
    local items = call('LLEN', list('l', space, id))
    if items ~= tonumber(length) then report(name, 'it has ' .. items .. ' items, its header says ' .. length) end
  elseif call('HEXISTS', at('b', space), name) == 0 then
    report(name, 'its body is missing')
  end
  if not call('ZSCORE', at('n', space), name) then report(name, 'it is not among the names') end
  if ends ~= '-' and not call('ZSCORE', at('x', space), name) then report(name, 'its end is not noted') end
end

if ARGV[4] == 'g' then
  local heads = call('HGETALL', at('g', space))
  for place = 1, #heads, 2 do check_log(heads[place], heads[place + 1]) end
else
  for place = 5, #ARGV do check_value(ARGV[place]) end
end
return answer
