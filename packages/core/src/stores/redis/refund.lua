--[[
  refund: gives units back to every limit of each request's subject, as far as they have not come back already.
  A subject whose key is gone stays gone, and no limit goes below nothing used.

  KEYS[i]       the subject of request i
  ARGV[1]       now in µs; empty means Redis's own TIME (tests pass a clock)
  ARGV[2]       limit sets, as subject.lua says
  ARGV[3...]    for each request: limit set (from 1), units, when they were taken (µs), then for each limit of the
                set the remaining and the reset that the answer to the request had

  Returns       now, then for each request 1 when units went back, 0 when none were left to (or the calendar
                sent does not reach now), or an error text

  State         as consume
  Complexity    O(n) for n requests: a GET and a SET each; the log looks at the entries since the units were taken
]]
-- @include algorithms
-- @include value.lua
-- @include subject.lua

local sets, at = read_sets(ARGV[2]), 3
local reply = { now }

local function give(set, key, units, taken_at, first)
  local blob = call('GET', key)
  if not blob then return 0 end
  missing = 0
  load_limits(set, blob)
  if missing == #set then return 0 end
  for i = 1, #set do
    if set[i].is_other or set[i].kernel.wait(set[i], 1) == OUTSIDE_CALENDAR then return 0 end
  end
  local given = false
  for i = 1, #set do
    local limit, told = set[i], first + 2 * i - 2
    given = limit.kernel.give(limit, units, taken_at, tonumber(ARGV[told]), tonumber(ARGV[told + 1])) or given
  end
  save_limits(set, key)
  return given and 1 or 0
end

for i = 1, #KEYS do
  local set = sets[tonumber(ARGV[at])]
  local ok, result = pcall(give, set, KEYS[i], tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2]), at + 3)
  reply[i + 1] = ok and result or message(result)
  at = at + 3 + 2 * #set
end
return reply
