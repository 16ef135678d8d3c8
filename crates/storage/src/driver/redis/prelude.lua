-- What all scripts share. ARGV[1] is the prefix of all keys, ARGV[2] the clock's offset in milliseconds.
-- Stored texts are opaque: bodies are never parsed. Numbers stay below 2^53, where Lua's doubles are exact.

local call = redis.call
local prefix = ARGV[1] .. ':'
local counter = prefix .. 'counter'

local function text(number) return string.format('%.0f', number) end

local time = call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000) + tonumber(ARGV[2])

-- Space keys: values are headers (v) and bodies (b) by name, names in order (n), ends of life (x), ids of lists (s);
-- logs are heads by name (g). A list has items (l) and, once a set, counts of fingerprints (f) under its id.
-- A log has entries (e) and sequences by id (i) under the hash of its name.
local function at(kind, space) return prefix .. kind .. ':' .. space end
local function list(kind, space, id) return prefix .. kind .. ':' .. space .. ':' .. id end
local function log(kind, space, name) return prefix .. kind .. ':' .. space .. ':' .. redis.sha1hex(name) end

-- The parts of a header: kind, length, version, end of life or '-', id of the list or 0, 1 where it is counted as a set.
local function parts(header)
  return string.match(header, '^(%a+) (%d+) (%d+) (%S+) (%d+) (%d)$')
end

local function end_of(header)
  local _, _, _, ends = parts(header)
  return ends
end

local function is_live(ends) return ends == '-' or tonumber(ends) > now end

-- Commands with many arguments, in pieces that Lua's stack takes.
local function spread(command, key, arguments)
  for first = 1, #arguments, 1000 do
    call(command, key, unpack(arguments, first, math.min(first + 999, #arguments)))
  end
end

-- A lease's epoch must exceed all earlier ones of its key, also those that left no value. The counter at the last
-- erasure is kept for groups of spaces, so that nothing of a space remains.
local function raise_floor(space)
  call('HSET', prefix .. 'floor', string.sub(space, 1, 3), call('GET', counter) or '0')
end

local function drop_list(space, id)
  if id ~= '0' then
    call('UNLINK', list('l', space, id), list('f', space, id))
    call('SREM', at('s', space), id)
  end
end

local function erase(space, name, header)
  local _, _, _, ends, id = parts(header)
  drop_list(space, id)
  call('HDEL', at('v', space), name)
  call('HDEL', at('b', space), name)
  call('ZREM', at('n', space), name)
  if ends ~= '-' then call('ZREM', at('x', space), name) end
end
