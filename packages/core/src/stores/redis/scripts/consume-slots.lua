--[[
  consume-slots: the same as consume, for requests of one subject each that all have the same cost, the same set of one
  limit and a limit of requests in flight, and the same holder; and for releases of such subjects. Much cheaper: Redis runs
  a script from its first line every time, and this one is short. There is one such script per algorithm.

  KEYS[i]       the subjects that are asked, each once, then those of releases, each once; no subject is in both
  ARGV[1]       now in µs; empty means Redis's own TIME (tests pass a clock)
  ARGV[2]       cost in units (whole, from 1)
  ARGV[3]       time to live in ms
  ARGV[4]       the holder
  ARGV[5]       JSON list, for each subject that is asked: slots held, number of the last slot that the holder knows of, how
                many times it is asked
  ARGV[6]       JSON list, for each release: slots held, and that number
  ARGV[7]       state id of the requests in flight, as sets.lua says
  ARGV[8]       how many may be in flight
  ARGV[9]       what a denied request is told to wait, in µs
  ARGV[10]      state id of the limit
  ARGV[11...]   the parameters of the limit, at most five

  Returns       as consume, for a run that asks and then one of releases

  State         as consume
  Complexity    O(n) for n subjects: each is read once, and written once if it changes
]]
-- @include shared/prelude.lua
-- @include shared/value.lua

local id, slots_id, ttl, cost, quota = ARGV[10] + 0, ARGV[7] + 0, ARGV[3], ARGV[2] + 0, ARGV[8] + 0
local asked, released = cjson.decode(ARGV[5]), cjson.decode(ARGV[6])
holder = ARGV[4]
-- @include quick
local SLOTS, SLOTS_FORMAT, ROW, KEPT, KEPT_MS = 16, '>I4I2I4I6', 21, 14000000, 14000
-- A whole value: the limit, whose entries but the last one are a text, the requests in flight, the rows up to the numbers of
-- the holder's own, these, and the rows behind.
-- A number of no bytes is packed as nothing: so each limit has three.
local whole_packing = PACKING .. (entry and 'c0' .. entry_packing or string.rep('I0', 3 - NUMBERS)) .. 'I4I2I4I6c0I3I6I6c0'
local has_entries = entry ~= nil
entry = entry or 0

local reply, size, keys, count = { now, 0, 0, 0 }, 1, KEYS, #asked / 3
local new_end = min(floor((now + ttl * 1000) / 1000000), LAST_END)
local own_ends = floor(now / 1000) + KEPT_MS
-- Where Redis refuses something, the general way tells why.
local try = redis.pcall
local values = #keys == 1 and { try('GET', keys[1]) } or try('MGET', unpack(keys))

-- Where the row of the holder begins in a value, or nothing.
local function find_row(value, from)
  local row = string.find(value, holder, from, true)
  while row and (row - from) % ROW > 0 do
    row = string.find(value, holder, row + 1, true)
  end
  return row
end

local general

local function make_general()
  local take = true
  -- @include shared/write.lua
  -- @include algorithms
  -- @include shared/sets.lua
  -- @include shared/subject.lua
  -- @include shared/decide.lua
  -- @include quick/in-turn.lua
  local limit = { algorithm_name, id, unpack(ARGV, 11) }
  for i = 3, #limit do
    limit[i] = tonumber(limit[i])
  end
  local set = make_set({ { limit, { 'concurrent', slots_id, quota, tonumber(ARGV[9]) } }, ttl })
  return function(key, units, times)
    return decide_slots(set, key, units, times)
  end
end

local function write_whole(key, value, saved, keep)
  if not value then return try('SET', key, saved, 'PX', ttl, 'NX') end
  if keep and #saved == #value then return try('SETRANGE', key, '0', saved) == #saved and { ok = true } end
  if keep then return try('SET', key, saved, 'KEEPTTL') end
  return try('SET', key, saved, 'PX', ttl)
end

-- The numbers of a value: of the limit; where the rows begin, their number, the slots that they hold, and when the first of them
-- ends; of the holder's row its slots and its number; and the texts before and behind these. Nothing if it is not a common value.
local function read_value(value)
  if #value < SIZE + SLOTS then return nil end
  local found_format, last, ends, found, a, b, c = unpack_bytes(PACKING, value)
  local at = SIZE + b * entry + 1
  local from = at + SLOTS
  if found ~= id or found_format ~= FORMAT or last > now or #value < from - 1 then return nil end
  local found_slots, rows, total, soonest = unpack_bytes(SLOTS_FORMAT, value, at)
  if found_slots ~= slots_id or #value ~= from + rows * ROW - 1 or rows > 0 and soonest * 1000 <= now then return nil end
  local row = find_row(value, from)
  if not row then return last, ends, a, b, c, rows, total, soonest, 0, 0, sub(value, from) .. holder, '' end
  local own, number = unpack_bytes('>I3I6', value, row + 6)
  return last, ends, a, b, c, rows - 1, total, soonest, own, number, sub(value, from, row + 5), sub(value, row + ROW)
end

-- Gives the requests for one subject their slots and units, `times` of them at most. Returns how many are left, which the
-- general way must decide.
local function take_slots(key, old, times)
  local value, keeps, left, told = old, old and true, times, size
  while left > 0 do
    local last, ends, a, b, c, rows, total, soonest, own, number, before, behind
    if value then
      last, ends, a, b, c, rows, total, soonest, own, number, before, behind = read_value(value)
      if not last then break end
    else
      ends, rows, total, own, number, before, behind = 0, 0, 0, 0, 0, holder, ''
    end
    total, own = total - own, number > known and held + number - known or held
    total = total + own + 1
    if total > quota then break end
    local remaining, reset, needed, d, e, f, log, time, units = take_quickly(cost, last, a, b, c, value, SIZE + 1)
    if not remaining or remaining < 0 then break end
    number = (number > known and number or known) + 1
    if needed < KEPT then needed = KEPT end
    if rows == 0 or own_ends < soonest then soonest = own_ends end
    keeps = keeps and ends * 1000000 >= now + needed
    ends = keeps and ends or new_end
    if has_entries then
      value = pack_bytes(whole_packing, FORMAT, now, ends, id, d, e, f, log, time, units,
        slots_id, rows + 1, total, soonest, before, own + 1, number, own_ends, behind)
    else
      value = pack_bytes(whole_packing, FORMAT, now, ends, id, d, e or 0, f or 0,
        slots_id, rows + 1, total, soonest, before, own + 1, number, own_ends, behind)
    end
    reply[told + 1], reply[told + 2], reply[told + 3], reply[told + 4] = remaining, reset, quota - total, number
    told, left = told + 4, left - 1
  end
  if left == times then return times end
  local done = write_whole(key, old, value, keeps)
  if not done or done.err then return times end
  size = told
  return left
end

-- Tells of slots that were given back. Returns false where the general way must.
local function release_slots(key, value)
  if not value or #value < SIZE + SLOTS then return false end
  local found_format, last, _, found, _, b = unpack_bytes(PACKING, value)
  local at = SIZE + b * entry + 1
  if found ~= id or found_format ~= FORMAT or last > now or #value < at + SLOTS - 1 then return false end
  local found_slots, rows, total, soonest = unpack_bytes(SLOTS_FORMAT, value, at)
  local from = at + SLOTS
  if found_slots ~= slots_id or #value ~= from + rows * ROW - 1 or rows == 0 or soonest * 1000 <= now then return false end
  local row = find_row(value, from)
  if not row then return false end
  local before, number, row_ends = unpack_bytes('>I3I6I6', value, row + 6)
  local own = number > known and held + number - known or held
  total, number = total - before + own, max(number, known)
  local saved = pack_bytes('>I4I2I4I6c0I3I6', slots_id, rows, total, soonest, sub(value, from, row + 5), own, number)
  if try('SETRANGE', key, format('%d', at - 1), saved) ~= #value then return false end
  reply[size + 1], reply[size + 2], size = max(quota - total, 0), number, size + 2
  return true
end

for i = 1, count do
  held, known = asked[3 * i - 2], asked[3 * i - 1]
  -- An algorithm can be without a quick way.
  local left = take_quickly and take_slots(keys[i], values[i], asked[3 * i]) or asked[3 * i]
  if left > 0 then
    general = general or make_general()
    general(keys[i], cost, left)
  end
end
for i = 1, #released / 2 do
  held, known = released[2 * i - 1], released[2 * i]
  if not release_slots(keys[count + i], values[count + i]) then
    general = general or make_general()
    general(keys[count + i], -1, 1)
  end
end
if general then return reply end
-- @include shared/text-reply.lua
