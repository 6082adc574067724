-- Locals, since each use of a global is a search in a table.
local call, unpack_bytes, pack_bytes = redis.call, struct.unpack, struct.pack
local floor, ceil, max, min, fmod = math.floor, math.ceil, math.max, math.min, math.fmod
local sub, format, concat = string.sub, string.format, table.concat

local NEVER, OUTSIDE_CALENDAR = -1, -2
-- In µs. If the clock went back by more, even a denial rewrites the state. Otherwise it would not age until then.
local CLOCK_WENT_BACK = 1000000

-- The one clock of a run, in µs: Redis's own, unless a test passes one.
local now = tonumber(ARGV[1])
local IS_TEST = now ~= nil
if not now then
  local time = call('TIME')
  now = time[1] * 1000000 + time[2]
end

-- The holder that reports its slots with the current request, and its numbers. Nil: none.
local holder, held, known
