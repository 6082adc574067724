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
-- @include quick in flight
local take_slot = quick_in_flight(quota)
local IN_FLIGHT, IN_FLIGHT_FORMAT, IN_FLIGHT_PACKING = 16, '>I4I2I4I6', 'I4I2I4I6c0I3I6I6c0'
-- A whole value: the limit, whose entries but the last one are a text, and the requests in flight.
-- A number of no bytes is packed as nothing: so each limit has three.
local whole_packing = PACKING .. (entry and 'c0' .. entry_packing or string.rep('I0', 3 - NUMBERS)) .. IN_FLIGHT_PACKING
local has_entries = entry ~= nil
entry = entry or 0

local reply, size, keys, count = { now, 0, 0, 0 }, 1, KEYS, #asked / 3
local new_end = min(floor((now + ttl * 1000) / 1000000), LAST_END)
-- Where Redis refuses something, the general way tells why.
local try = redis.pcall
local values = #keys == 1 and { try('GET', keys[1]) } or try('MGET', unpack(keys))

local general

local function make_general()
  local take = true
  -- @include shared/general-of-one.lua
  local set = make_set({ { limit, { 'concurrent', slots_id, quota, tonumber(ARGV[9]) } }, ttl })
  return function(key, units, times)
    return decide_slots(set, key, units, times)
  end
end

-- The numbers of a value: of the limit, and of the requests in flight, and where the rows of these begin. Nothing if it has other parts.
local function read_value(value)
  if #value < SIZE + IN_FLIGHT then return nil end
  local found_format, last, ends, found, a, b, c = unpack_bytes(PACKING, value)
  local at = SIZE + b * entry + 1
  if found ~= id or found_format ~= FORMAT or #value < at + IN_FLIGHT - 1 then return nil end
  local found_slots, rows, total, soonest = unpack_bytes(IN_FLIGHT_FORMAT, value, at)
  if found_slots ~= slots_id then return nil end
  return last, ends, a, b, c, rows, total, soonest, at + IN_FLIGHT
end

-- Gives the requests for one subject their slots and units, `times` of them at most. Returns how many are left, which the
-- general way must decide.
local function take_slots(key, old, times)
  local value, keep, left, told = old, old and true, times, size
  while left > 0 do
    local last, ends, a, b, c, rows, total, soonest, at
    if value then
      last, ends, a, b, c, rows, total, soonest, at = read_value(value)
      if not last then break end
    else
      ends = 0
    end
    local free, last_slot, kept, before, own, number, row_ends, behind
    free, last_slot, kept, rows, total, soonest, before, own, number, row_ends, behind = take_slot(cost, last, rows, total, soonest, value, at)
    if not free then break end
    local remaining, reset, needed, d, e, f, log, time, units = take_quickly(cost, last, a, b, c, value, SIZE + 1)
    if not remaining or remaining < 0 then break end
    if needed < kept then needed = kept end
    keep = keep and ends * 1000000 >= now + needed
    ends = keep and ends or new_end
    if has_entries then
      value = pack_bytes(whole_packing, FORMAT, now, ends, id, d, e, f, log, time, units,
        slots_id, rows, total, soonest, before, own, number, row_ends, behind)
    else
      value = pack_bytes(whole_packing, FORMAT, now, ends, id, d, e or 0, f or 0,
        slots_id, rows, total, soonest, before, own, number, row_ends, behind)
    end
    reply[told + 1], reply[told + 2], reply[told + 3], reply[told + 4] = remaining, reset, free, last_slot
    told, left = told + 4, left - 1
  end
  if left == times then return times end
  -- @include quick/write.lua
  if not is_written then return times end
  size = told
  return left
end

-- Tells of slots that were given back. Returns false where the general way must.
local function release_slots(key, value)
  if not value then return false end
  local last, _, _, _, _, rows, total, soonest, at = read_value(value)
  if not last then return false end
  local free, number, _, count, held_now, ends, before, own, own_number, row_ends, behind =
    take_slot(-1, last, rows, total, soonest, value, at)
  if not free then return false end
  local saved = pack_bytes('>' .. IN_FLIGHT_PACKING, slots_id, count, held_now, ends, before, own, own_number, row_ends, behind)
  if try('SETRANGE', key, format('%d', at - IN_FLIGHT - 1), saved) ~= #value then return false end
  reply[size + 1], reply[size + 2], size = free, number, size + 2
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
