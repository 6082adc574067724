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

  Returns       now, wait, remaining, reset, as consume; or now and an error text

  State         as consume
  Complexity    O(1): a GET, and a SET when it is allowed
]]
-- @include prelude.lua
-- @include algorithm
-- @include value.lua

local key, id, ttl, cost = KEYS[1], tonumber(ARGV[5]), ARGV[4], tonumber(ARGV[3])
do
  local old = call('GET', key)
  local packing, size = HEADER_FORMAT .. 'I4' .. algorithm.format, HEADER + STATE_ID + algorithm.size
  local limit = algorithm.prepare(
    tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8]), tonumber(ARGV[9]), tonumber(ARGV[10])
  )
  if not limit then return { now, OUTSIDE_CALENDAR, 0, 0 } end

  local is_just_this, ends, last = true, 0, nil
  if old then
    is_just_this = false
    if #old >= size then
      local found_format, found, a, b, c
      found_format, last, ends, found, a, b, c = unpack_bytes(packing, old)
      if found_format == FORMAT and found == id then
        is_just_this = (algorithm.load(limit, last, a, b, c, old, size + 1) or size + 1) == #old + 1
      end
    end
  else
    algorithm.start(limit)
  end

  if is_just_this then
    local wait = algorithm.wait(limit, cost)
    if ARGV[2] == 'take' and (wait == 0 or last and last > now + CLOCK_WENT_BACK) then
      if wait == 0 then algorithm.take(limit, cost) end
      local keep = ends * 1000000 >= now + algorithm.lifetime(limit)
      if not keep then ends = min(floor((now + ttl * 1000) / 1000000), LAST_END) end
      local value = pack_bytes(packing, FORMAT, now, ends, id, algorithm.save(limit))
      if algorithm.with_tail then value = algorithm.with_tail(limit, value) end
      write(key, value, old, keep, ttl)
    end
    return { now, wait, algorithm.left(limit) }
  end
end

-- The value holds more than this limit, or something else: decide the same way as consume does.
-- @include algorithms
-- @include sets.lua
-- @include subject.lua
-- @include decide.lua

local parameters = { unpack(ARGV, 6) }
for i = 1, #parameters do
  parameters[i] = tonumber(parameters[i])
end
local set = make_set({ { { algorithm_name, id, unpack(parameters) } }, ttl })
local decided, err = pcall(decide, set, key, cost)
if not decided then return { now, message(err) } end
return reply
