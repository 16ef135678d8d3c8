-- One commit. ARGV[3]: the step of activity; then guards and writes, each an opcode and its operands.
-- Guards come first: one that fails ends the script with 'retry' before anything is written.
-- The answer: 'done', whether there is trash to burn, and one answer for each write that has one.

local step = tonumber(ARGV[3])
local next_argument = 4
local answers, woken, has_trash = {}, {}, 0

local function take()
  next_argument = next_argument + 1
  return ARGV[next_argument - 1]
end

local function take_many(count)
  local taken = {}
  for place = 1, count do taken[place] = take() end
  return taken
end

local function header_of(space, name) return call('HGET', at('v', space), name) end

local guards = {
  -- The log's head is still this one; '' is none.
  ['head?'] = function()
    local space, name, seen = take(), take(), take()
    return (call('HGET', at('g', space), name) or '') == seen
  end,
  -- The value's header is still this one, and the value has not died since.
  ['value?'] = function()
    local space, name, seen, was_live = take(), take(), take(), take() == '1'
    local header = header_of(space, name) or ''
    return header == seen and (header == '' or is_live(end_of(header)) == was_live)
  end,
  -- The value lives and has this version, whatever its end.
  ['version?'] = function()
    local space, name, seen = take(), take(), take()
    local header = header_of(space, name)
    if not header then return false end
    local _, _, version, ends = parts(header)
    return version == seen and is_live(ends)
  end,
  -- Nothing was erased near this space since the number was reserved.
  ['floor?'] = function()
    local space, reserved = take(), tonumber(take())
    return tonumber(call('HGET', prefix .. 'floor', string.sub(space, 1, 3)) or '0') < reserved
  end,
  -- The index row of the space is still this one; '' is none.
  ['row?'] = function()
    local space, seen, revision = take(), take(), take()
    local ordinal = call('HGET', prefix .. 'by_space', space) or ''
    return ordinal == seen and (ordinal == '' or call('HGET', prefix .. 'row:' .. ordinal, 'revision') == revision)
  end,
}

local function wake(space, name) woken[space .. ' ' .. name] = true end

-- Index rows ------------------------------------------------------------------------------------------------------

local function indexes(row) return string.gmatch(call('HGET', row, 'indexes') or '', '%S+') end

local function note_activity(space)
  local ordinal = call('HGET', prefix .. 'by_space', space)
  if not ordinal then return end
  local row = prefix .. 'row:' .. ordinal
  if now - tonumber(call('HGET', row, 'active')) < step then return end
  call('HSET', row, 'active', text(now))
  for index in indexes(row) do call('ZADD', at('active', index), text(now), ordinal) end
end

local function remove_row(ordinal)
  local row = prefix .. 'row:' .. ordinal
  for index in indexes(row) do
    call('ZREM', at('active', index), ordinal)
    call('ZREM', at('made', index), ordinal)
  end
  local old = call('HMGET', row, 'id', 'space')
  if old[1] then call('HDEL', prefix .. 'by_id', old[1]) end
  if old[2] then call('HDEL', prefix .. 'by_space', old[2]) end
  call('UNLINK', row)
end

-- Logs ------------------------------------------------------------------------------------------------------------

local function record(stored_at, id, body) return stored_at .. ' ' .. #id .. ' ' .. id .. body end

local function head_of(space, name)
  local head = call('HGET', at('g', space), name)
  if head then return string.match(head, '^(%d+) (%d+)$') end
end

local function set_head(space, name, generation, last)
  call('HSET', at('g', space), name, generation .. ' ' .. text(last))
end

local function append(space, name, entries)
  local generation, last = head_of(space, name)
  if not generation then generation, last = text(call('INCR', counter)), 0 end
  last = tonumber(last)
  local answer, records, stored_at = {tonumber(generation), 0}, {}, text(now)
  local ids = log('i', space, name)
  for place = 1, #entries, 2 do
    local id = entries[place]
    if call('HSETNX', ids, id, text(last + 1)) == 1 then
      last = last + 1
      records[#records + 1] = record(stored_at, id, entries[place + 1])
      answer[#answer + 1] = last
    else
      answer[#answer + 1] = tonumber(call('HGET', ids, id))
    end
  end
  spread('RPUSH', log('e', space, name), records)
  set_head(space, name, generation, last)
  answer[2] = last
  return answer
end

local function redact(space, name, bodies)
  local _, last = head_of(space, name)
  local erased = 0
  for place = 1, #bodies, 2 do
    local seq = tonumber(bodies[place])
    if last and seq >= 1 and seq <= tonumber(last) then
      local key, index = log('e', space, name), text(seq - 1)
      local stored_at, size, rest = string.match(call('LINDEX', key, index), '^(%S+) (%d+) (.*)$')
      call('LSET', key, index, record(stored_at, string.sub(rest, 1, tonumber(size)), bodies[place + 1]))
      erased = erased + 1
    end
  end
  return {erased}
end

local function forget_logs(space)
  local heads, erased = call('HGETALL', at('g', space)), 0
  for place = 1, #heads, 2 do
    erased = erased + tonumber(string.match(heads[place + 1], ' (%d+)$'))
    call('UNLINK', log('e', space, heads[place]), log('i', space, heads[place]))
  end
  call('UNLINK', at('g', space))
  return erased
end

-- Values ----------------------------------------------------------------------------------------------------------

local function put(space, name, header, body)
  local old = header_of(space, name)
  local _, _, _, ends, id = parts(header)
  local old_ends, old_id = '-', '0'
  if old then _, _, _, old_ends, old_id = parts(old) end
  if old_id ~= id then
    drop_list(space, old_id)
    if id ~= '0' then call('SADD', at('s', space), id) end
  end
  call('HSET', at('v', space), name, header)
  if id == '0' then call('HSET', at('b', space), name, body) else call('HDEL', at('b', space), name) end
  if not old then call('ZADD', at('n', space), 0, name) end
  if ends ~= '-' then
    call('ZADD', at('x', space), ends, name)
    call('ZADD', prefix .. 'expiring', 'LT', ends, space)
  elseif old_ends ~= '-' then
    call('ZREM', at('x', space), name)
  end
end

-- All values in one short step: what hangs on single lists is left to be burnt in pieces.
local function forget_values(space)
  local count = call('HLEN', at('v', space))
  if count == 0 then return 0 end
  if call('EXISTS', at('s', space)) == 1 then
    local trash = text(call('INCR', counter))
    call('RENAME', at('s', space), prefix .. 'trash:' .. trash)
    call('SADD', prefix .. 'trash', trash .. ' ' .. space)
    has_trash = 1
  end
  call('UNLINK', at('v', space), at('b', space), at('n', space), at('x', space))
  call('ZREM', prefix .. 'expiring', space)
  raise_floor(space)
  return count
end

local function matches(name, pieces)
  local first, final = #pieces[1] + 1, pieces[#pieces]
  for piece = 2, #pieces - 1 do
    local _, stop = string.find(name, pieces[piece], first, true)
    if not stop then return false end
    first = stop + 1
  end
  return #name - first + 1 >= #final and string.sub(name, #name - #final + 1) == final
end

local function wipe_all(space)
  local dead = call('ZCOUNT', at('x', space), '-inf', text(now))
  return forget_values(space) - dead
end

-- Erases these values, and says how many lived. Their lists go to the set `trash`.
local function erase_all(space, names, trash)
  local headers, ended, lists, alive = call('HMGET', at('v', space), unpack(names)), {}, {}, 0
  for place = 1, #names do
    local _, _, _, ends, id = parts(headers[place])
    if is_live(ends) then alive = alive + 1 end
    if ends ~= '-' then ended[#ended + 1] = names[place] end
    if id ~= '0' then lists[#lists + 1] = id end
  end
  for _, kind in ipairs({'v', 'b'}) do call('HDEL', at(kind, space), unpack(names)) end
  call('ZREM', at('n', space), unpack(names))
  if #ended > 0 then call('ZREM', at('x', space), unpack(ended)) end
  if #lists > 0 then
    call('SREM', at('s', space), unpack(lists))
    call('SADD', trash, unpack(lists))
  end
  return alive
end

local function wipe(space, pieces)
  local bound = pieces[1] == '' and '+' or '[' .. pieces[1] .. '\255'
  if #pieces == 1 then bound = '[' .. pieces[1] end
  local names, erased, trash = call('ZRANGEBYLEX', at('n', space), '[' .. pieces[1], bound), 0, text(call('INCR', counter))
  local key, some = prefix .. 'trash:' .. trash, {}
  for place, name in ipairs(names) do
    if #pieces == 1 or matches(name, pieces) then some[#some + 1] = name end
    if #some == 1000 or (place == #names and #some > 0) then
      erased = erased + erase_all(space, some, key)
      some = {}
    end
  end
  if call('EXISTS', key) == 1 then
    call('SADD', prefix .. 'trash', trash .. ' ' .. space)
    has_trash = 1
  end
  if #names > 0 then raise_floor(space) end
  return erased
end

-- Writes ----------------------------------------------------------------------------------------------------------

local writes = {}

function writes.append()
  local space, name, is_items = take(), take(), take() == '1'
  local answer = append(space, name, take_many(2 * tonumber(take())))
  if is_items then note_activity(space) end
  wake(space, name)
  return answer
end

function writes.redact()
  local space, name = take(), take()
  wake(space, name)
  return redact(space, name, take_many(2 * tonumber(take())))
end

function writes.drop()
  local space, name = take(), take()
  local _, last = head_of(space, name)
  call('UNLINK', log('e', space, name), log('i', space, name))
  call('HDEL', at('g', space), name)
  wake(space, name)
  return {tonumber(last or '0')}
end

function writes.put()
  local space, name, header = take(), take(), take()
  put(space, name, header, take())
end

-- A list is cut to a length, then gets items at its end.
function writes.list()
  local space, id, keep = take(), take(), tonumber(take())
  local key = list('l', space, id)
  if keep == 0 then
    call('UNLINK', key)
  elseif keep < call('LLEN', key) then
    call('LTRIM', key, 0, text(keep - 1))
  end
  spread('RPUSH', key, take_many(tonumber(take())))
end

function writes.item()
  local space, id, index = take(), take(), take()
  call('LSET', list('l', space, id), index, take())
end

-- Fingerprints of items that came (1) or went (-1).
function writes.count()
  local space, id = take(), take()
  local key = list('f', space, id)
  for _ = 1, tonumber(take()) do
    local fingerprint = take()
    if call('HINCRBY', key, fingerprint, take()) == 0 then call('HDEL', key, fingerprint) end
  end
end

function writes.uncount()
  local space = take()
  call('UNLINK', list('f', space, take()))
end

function writes.erase()
  local space, name = take(), take()
  local header = header_of(space, name)
  if not header then return end
  erase(space, name, header)
  raise_floor(space)
end

function writes.wipe()
  local space, is_all = take(), take() == '1'
  local pieces = take_many(tonumber(take()))
  return {is_all and wipe_all(space) or wipe(space, pieces)}
end

function writes.forget()
  local space, items = take(), take()
  local had_items = items ~= '' and call('HEXISTS', at('g', space), items) == 1
  local erased = forget_logs(space) + forget_values(space)
  if had_items then set_head(space, items, text(call('INCR', counter)), 0) end
  woken['*'] = true
  return {erased}
end

-- Where rows of other stores stand here, by space, if their own ordinal was taken.
local placed = {}

function writes.row()
  local space, ordinal, revision, tenant, id, active, body = unpack(take_many(7))
  ordinal = placed[space] or ordinal
  local names = take_many(tonumber(take()))
  local row = prefix .. 'row:' .. ordinal
  if active == '' then active = call('HGET', row, 'active') end
  call('HSET', row, 'body', body, 'revision', revision, 'tenant', tenant, 'id', id, 'space', space,
    'active', active, 'indexes', table.concat(names, ' '))
  call('HSET', prefix .. 'by_space', space, ordinal)
  call('HSET', prefix .. 'by_id', id, ordinal)
  for _, index in ipairs(names) do
    call('ZADD', at('made', index), ordinal, ordinal)
    call('ZADD', at('active', index), active, ordinal)
  end
end

function writes.displace()
  local space, ordinal = take(), take()
  local twin = call('HGET', prefix .. 'by_space', space)
  local holder = call('HGET', prefix .. 'row:' .. ordinal, 'space')
  if holder and holder ~= space then
    placed[space] = twin or string.format('%020d', call('INCR', counter))
  end
  if twin then remove_row(twin) end
end

function writes.untrack()
  local tenant, id = take(), take()
  local ordinal = call('HGET', prefix .. 'by_id', id)
  if not ordinal or call('HGET', prefix .. 'row:' .. ordinal, 'tenant') ~= tenant then return {0} end
  remove_row(ordinal)
  return {1}
end

-- Entries as another store has them; those that are here already are left alone.
function writes.mirror()
  local space, name, generation = take(), take(), take()
  local entries = take_many(4 * tonumber(take()))
  local present, last = head_of(space, name)
  local key, ids = log('e', space, name), log('i', space, name)
  if present ~= generation then
    call('UNLINK', key, ids)
    last = 0
  end
  last = tonumber(last)
  for place = 1, #entries, 4 do
    if tonumber(entries[place]) == last + 1 then
      last = last + 1
      call('HSET', ids, entries[place + 1], text(last))
      call('RPUSH', key, record(entries[place + 2], entries[place + 1], entries[place + 3]))
    end
  end
  set_head(space, name, generation, last)
  woken['*'] = true
end

function writes.raise()
  local number = take()
  if tonumber(call('GET', counter) or '0') < tonumber(number) then call('SET', counter, number) end
end

while next_argument <= #ARGV do
  local code = take()
  local guard = guards[code]
  if guard then
    if not guard() then return {'retry', 0, {}} end
  else
    local answer = writes[code]()
    if answer then answers[#answers + 1] = answer end
  end
end
for message in pairs(woken) do call('PUBLISH', prefix .. 'wake', message) end
return {'done', has_trash, answers}
