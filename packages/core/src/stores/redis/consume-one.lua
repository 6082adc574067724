--[[
  consume-one: what consume does, for one request of one subject that has one limit, at a fraction of the cost: a
  script is run from its first line every time, and this is little of one. There is one for each algorithm.

  KEYS[1]       the subject
  ARGV[1]       now in µs; empty means Redis's own TIME (tests pass a clock)
  ARGV[2]       take, or look: answer the same and change nothing
  ARGV[3]       cost in units (whole, from 1)
  ARGV[4]       time to live in ms
  ARGV[5]       mark of the limit, as subject.lua says
  ARGV[6...]    its parameters, at most five

  Returns       now, wait, remaining, reset, as consume; or nothing at all when the value is not just that of this
                limit: then consume is to be asked

  State         as consume
  Complexity    O(1): a GET, and a SET when it is allowed
]]
-- @include algorithm
-- @include value.lua

local key, mark, ttl, old = KEYS[1], tonumber(ARGV[5]), ARGV[4], call('GET', KEYS[1])
local packing, size = HEADER_FORMAT .. 'I4' .. kernel.format, HEADER + MARK + kernel.size
local limit = kernel.prepare(
  tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8]), tonumber(ARGV[9]), tonumber(ARGV[10])
)

local ends, first, low = 0, 0, 0
local last, found, a, b, c
if old then
  if #old < size then return {} end
  first, last, low, found, a, b, c = unpack_bytes(packing, old)
  if floor(first / 16) ~= FORMAT or found ~= mark then return {} end
  if (kernel.load(limit, last, a, b, c, old, size + 1) or size + 1) ~= #old + 1 then return {} end
  ends = read_ends(first, last, low)
else
  kernel.start(limit)
end

local cost = tonumber(ARGV[3])
local wait = kernel.wait(limit, cost)
if ARGV[2] == 'take' and (wait == 0 or last and last > now + CLOCK_WENT_BACK) then
  if wait == 0 then kernel.take(limit, cost) end
  local keep = ends * 1000000 >= now + kernel.lifetime(limit)
  if not keep then first, low = pack_ends(floor((now + ttl * 1000) / 1000000)) end
  local value = pack_bytes(packing, first, now, low, mark, kernel.save(limit))
  if kernel.with_tail then value = kernel.with_tail(limit, value) end
  write(key, value, old, keep, ttl)
end
return { now, wait, kernel.left(limit) }
