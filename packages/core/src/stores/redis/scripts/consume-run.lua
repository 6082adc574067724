--[[
  consume-run: like consume, for requests with one subject each that all have the same cost and the same limit, their set's
  only one. It is much cheaper: Redis runs a script from its first line every time, and this one is short. There is one such
  script for each algorithm.

  KEYS[i]       the subjects, each once
  ARGV[1]       now in µs; empty means Redis's own TIME (tests pass a clock)
  ARGV[2]       how often the first subjects are asked, separated by blanks; those after them are asked once. Or look: each
                is asked once, with the same answers, but nothing changes
  ARGV[3]       cost in units (whole, from 1)
  ARGV[4]       time to live in ms
  ARGV[5]       the limit's state id, as in sets.lua
  ARGV[6...]    the limit's parameters. Of billing windows, a text can follow them: for each key, when windows begin on the subject's
                billing day, as in sets.lua. Empty: all as in the parameters

  Returns       like consume, for a run

  State         like consume
  Complexity    O(n) for n subjects: each is read once, and written once if it is allowed
]]
-- @include shared/prelude.lua
-- @include shared/value.lua

-- A text plus 0 is its number, without a function call.
local id, ttl, cost, take = ARGV[5] + 0, ARGV[4], ARGV[3] + 0, ARGV[2] ~= 'look'
-- The build inserts what quick.lua describes, for this one algorithm: `take_quickly`, which decides for the limit; `entry` and
-- `entry_packing`, an entry's size and packing; PACKING and SIZE of a value without entries.
-- @include quick
-- The packing of a whole value: entries that stay, and a last one.
local whole_packing = entry and PACKING .. 'c0' .. entry_packing or PACKING
entry = entry or 0

local reply, size, keys, count, times = { now, 0, 0 }, 1, KEYS, #KEYS, nil
if take and ARGV[2] ~= '' then
  times = {}
  for number in string.gmatch(ARGV[2], '%d+') do
    times[#times + 1] = tonumber(number)
  end
end
local new_end = min(floor((now + ttl * 1000) / 1000000), LAST_END)
-- Where Redis refuses something, the general way tells why.
local try = redis.pcall
local values = count == 1 and { try('GET', keys[1]) } or try('MGET', unpack(keys))

-- The next subject, and how many requests for it are still to be decided.
local at, left = 1, times and times[1] or 1
local decide_generally, set, days, move

while at <= count do
  -- What is common. Stops where something is not.
  for i = at, take and take_quickly and count or 0 do
    local old, ends, told, due = values[i], 0, size, left - 1
    local found_format, last, found, a, b, c, fourth
    if old then
      if #old < SIZE then break end
      found_format, last, ends, found, a, b, c, fourth = unpack_bytes(PACKING, old)
      if found ~= id or found_format ~= FORMAT or #old ~= SIZE + b * entry then break end
    end
    local remaining, reset, needed, d, e, f, log, time, units = take_quickly(cost, last, a, b, c, old, SIZE + 1, fourth)
    if not remaining then break end
    reply[told + 1], reply[told + 2], told = remaining, reset, told + 2
    if remaining < 0 then
      if last > now + CLOCK_WENT_BACK then break end
      -- The first denial holds for all that follow.
      reply[told + 1], told, due = needed, told + 1, 0
    else
      -- @include quick/run-again.lua
      local keep = ends * 1000000 >= now + needed
      local key, value = keys[i], pack_bytes(whole_packing, FORMAT, now, keep and ends or new_end, id, d, e, f, log, time, units)
      -- @include quick/write.lua
      if not is_written then break end
    end
    size = told
    if due > 0 then
      left = due
      break
    end
    at, left = i + 1, times and times[i + 1] or 1
  end

  if at <= count then
    -- The value holds more than this limit, or something else, or the cost can never fit: decide in the general way.
    if not set then
      -- @include shared/general-of-one.lua
      decide_generally, set = decide_in_turn, make_set({ { limit }, ttl, false, false, false, { 1 } })
      days, move = ARGV[15] and ARGV[15] ~= '' and billing_days(ARGV[15]), set_billing_day
    end
    if days then move(set, days[at]) end
    decide_generally(set, keys[at], cost, left)
    at, left = at + 1, times and times[at + 1] or 1
  end
end
if set then return reply end
-- @include shared/text-reply.lua
