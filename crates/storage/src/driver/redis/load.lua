-- What a writer or reader must see. ARGV[3]: how many numbers to reserve; then what is wanted:
--   h space name           the head of a log
--   r space                the index row of a space: ordinal, revision, body
--   v space name n         a value's header
--   v space name w         … and its body, or all items
--   v space name t         … the same, but of a long list nothing: that is read without a script
--   v space name i from to … or these items of a list
--   v space name d         … or of the body what holds the dates of a dated value, and nothing of a list
--   v space name s n key…  … or, of a list counted as a set, 1 for each fingerprint that it has
--   m bytes                nothing behind the values that have so many bytes
-- The answer: the time, the first number reserved, and for each thing a list of texts, empty where it is absent.

local long = 1000
local next_argument = 4
local function take()
  next_argument = next_argument + 1
  return ARGV[next_argument - 1]
end

local function with_items(header, key, from, to)
  local found = call('LRANGE', key, from, to)
  table.insert(found, 1, header)
  return found
end

local function membership(header, key, fingerprints)
  local found = {header}
  for first = 1, #fingerprints, 1000 do
    local counts = call('HMGET', key, unpack(fingerprints, first, math.min(first + 999, #fingerprints)))
    for place = 1, #counts do found[#found + 1] = counts[place] and '1' or '0' end
  end
  return found
end

local function value(space, name, what)
  local from, to, fingerprints = '0', '-1', {}
  if what == 'i' then from, to = take(), take() end
  if what == 's' then for place = 1, tonumber(take()) do fingerprints[place] = take() end end
  local header = call('HGET', at('v', space), name)
  if not header then return {} end
  if what == 'n' then return {header} end
  local _, length, _, _, id, counted = parts(header)
  if id == '0' then
    local body = call('HGET', at('b', space), name)
    -- A cut may part a character; dates have none that is not ASCII.
    if body and what == 'd' then body = string.match(string.sub(body, 1, 80), '^[^\128-\255]*') end
    return body and {header, body} or {header}
  end
  if what == 'd' then return {header} end
  if what == 't' and tonumber(length) > long then return {header} end
  if what == 's' and counted == '1' then return membership(header, list('f', space, id), fingerprints) end
  return with_items(header, list('l', space, id), from, to)
end

local function row(space)
  local ordinal = call('HGET', prefix .. 'by_space', space)
  if not ordinal then return {} end
  local found = call('HMGET', prefix .. 'row:' .. ordinal, 'revision', 'body')
  return {ordinal, found[1], found[2]}
end

local first = '0'
local reserved = tonumber(ARGV[3])
if reserved > 0 then first = text(call('INCRBY', counter, ARGV[3]) - reserved + 1) end
local answer, most = {}, nil
local bytes = 0
while next_argument <= #ARGV and not (most and bytes >= most) do
  local kind, space = take(), take()
  if kind == 'h' then
    local head = call('HGET', at('g', space), take())
    answer[#answer + 1] = head and {head} or {}
  elseif kind == 'r' then
    answer[#answer + 1] = row(space)
  elseif kind == 'm' then
    most = tonumber(space)
  else
    local name = take()
    local found = value(space, name, take())
    answer[#answer + 1] = found
    for place = 2, #found do bytes = bytes + #found[place] end
  end
end
return {now, tonumber(first), answer}
