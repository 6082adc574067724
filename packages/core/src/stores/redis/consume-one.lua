--[[
  consume-one: the same as consume, for one request of one subject with one limit. Much cheaper: Redis runs a script
  from its first line every time, and this one is short. There is one such script per algorithm.

  KEYS[1]       the subject
  ARGV[1]       now in µs; empty means Redis's own TIME (tests pass a clock)
  ARGV[2]       take; or look: the same answer, but nothing changes
  ARGV[3]       cost in units (whole, from 1)
  ARGV[4]       time to live in ms
  ARGV[5]       state id of the limit, as sets.lua says
  ARGV[6...]    the parameters of the limit, at most five

  Returns       now, and what consume says of a limit; or now and an error text

  State         as consume
  Complexity    O(1): a GET, and a SET when it is allowed
]]
-- @include prelude.lua
-- @include value.lua
-- @include quick

local key, id, ttl, cost = KEYS[1], tonumber(ARGV[5]), ARGV[4], tonumber(ARGV[3])
do
  local take_quickly, entry = quick(
    tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8]), tonumber(ARGV[9]), tonumber(ARGV[10])
  )
  if not take_quickly then return { now, -1, OUTSIDE_CALENDAR, 0 } end

  if ARGV[2] == 'take' then
    local old, is_just_this, ends = call('GET', key), true, 0
    local found_format, last, found, a, b, c
    if old then
      is_just_this = #old >= SIZE
      if is_just_this then
        found_format, last, ends, found, a, b, c = unpack_bytes(PACKING, old)
        is_just_this = found == id and found_format == FORMAT and #old == SIZE + b * (entry or 0)
      end
    end
    if is_just_this then
      local remaining, reset, lifetime, d, e, f, log, added = take_quickly(cost, last, a, b, c, old, SIZE + 1)
      if remaining and remaining >= 0 then
        local keep = ends * 1000000 >= now + lifetime
        if not keep then ends = min(floor((now + ttl * 1000) / 1000000), LAST_END) end
        local value = pack_bytes(PACKING, FORMAT, now, ends, id, d, e, f)
        if log then value = value .. log .. added end
        write(key, value, old, keep, ttl)
        return { now, remaining, reset }
      end
      if remaining and last <= now + CLOCK_WENT_BACK then return { now, remaining, reset, lifetime } end
    end
  end
end

-- The value holds more than this limit, or something else, or the cost can never fit: decide in the general way.
-- @include algorithms
-- @include sets.lua
-- @include subject.lua
-- @include reply.lua
-- @include decide.lua

local parameters = { unpack(ARGV, 6) }
for i = 1, #parameters do
  parameters[i] = tonumber(parameters[i])
end
local set = make_set({ { { algorithm_name, id, unpack(parameters) } }, ttl })
local decided, err = pcall(decide, set, key, cost)
if not decided then return { now, message(err) } end
return reply
