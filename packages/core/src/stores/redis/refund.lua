--[[
  refund: gives units back to every limit of each request's subjects, unless they have come back by themselves.
  A subject whose key is gone is not created again, and no limit falls below 0 units used.

  KEYS[i]       the subjects of the requests, in order. A request with an id has one key more, after its subjects: it
                holds the answer that was given to this id
  ARGV[1]       now in µs; empty means Redis's own TIME (tests pass a clock)
  ARGV[2]       limit sets, as sets.lua says
  ARGV[3]       how long an id is remembered, in ms
  ARGV[4...]    for each request: number of its subjects, whether it has an id (1 or 0), then for each subject: limit
                set (from 1), and for each limit of that set: units, when they were taken (µs; -1: the earliest of those
                that count), and `remaining` and `reset` of the answer to their request

  Returns       now, then for each request: 1 when units were given back, 0 when there were none to give, -2 when the
                calendar sent does not cover now and nothing was done, or an error text

  State         as consume
  Complexity    O(n) for n subjects: a GET and a SET each; the log looks at the entries since the units were taken
]]
-- @include prelude.lua
local EARLIEST = -1 -- as in implementation.ts
-- @include algorithms
-- @include value.lua
-- @include write.lua
-- @include sets.lua
-- @include subject.lua
-- @include apart.lua

local sets, at = make_sets(cjson.decode(ARGV[2])), 4
local reply, request = { now }, 0

local function next_key()
  request = request + 1
  return KEYS[request]
end

-- Reads one request. A part has its key, its set, and `first`: where its receipts begin in ARGV.
local function read_parts()
  local parts, has_id = {}, ARGV[at + 1] == '1'
  local count = tonumber(ARGV[at])
  at = at + 2
  for i = 1, count do
    local set = sets[tonumber(ARGV[at])]
    parts[i] = { key = next_key(), set = set, first = at + 1 }
    at = at + 1 + 4 * #set
  end
  return parts, has_id and next_key()
end

-- Loads a subject. Returns whether it has states that these limits can give units back to.
local function load_part(part)
  local set, value = part.set, call('GET', part.key)
  if not value then return false end
  load_limits(set, value)
  if set.missing == #set then return false end
  for i = 1, #set do
    if set[i].is_other then return false end
  end
  return true
end

local function give_part(part)
  local set, given, told = part.set, false, part.first
  for i = 1, #set do
    local limit, units = set[i], tonumber(ARGV[told])
    if units > 0 then
      local taken_at, remaining, reset = ARGV[told + 1], ARGV[told + 2], ARGV[told + 3]
      given = limit.algorithm.give(limit, units, tonumber(taken_at), tonumber(remaining), tonumber(reset)) or given
    end
    told = told + 4
  end
  save_limits(set, part.key)
  return given
end

local function give_back(parts, id_key)
  if is_outside(parts) then return OUTSIDE_CALENDAR end
  local remembered = id_key and call('GET', id_key)
  if remembered then return tonumber(remembered) or error(FOREIGN, 0) end
  set_apart(parts)
  local known, changed, given = {}, {}, false
  for i = 1, #parts do
    known[i] = load_part(parts[i])
  end
  for i = 1, #parts do
    local part = parts[i]
    -- A subject can be in several parts of a request: load it again after a change.
    if changed[part.key] then known[i] = load_part(part) end
    changed[part.key] = true
    if known[i] then given = give_part(part) or given end
  end
  if id_key then call('SET', id_key, given and '1' or '0', 'PX', ARGV[3]) end
  return given and 1 or 0
end

while at < #ARGV do
  local parts, id_key = read_parts()
  local ok, result = pcall(give_back, parts, id_key)
  reply[#reply + 1] = ok and result or message(result)
end
return reply
