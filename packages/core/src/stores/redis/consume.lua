--[[
  consume: takes units from every limit of each request's subject, wholly or not at all.

  KEYS[i]       the subjects of the requests, in order; a key that occurs twice is charged twice, in order
  ARGV[1]       now in µs; empty means Redis's own TIME (tests pass a clock)
  ARGV[2]       take, or look: answer the same and change nothing
  ARGV[3]       limit sets, as subject.lua says
  ARGV[4...]    runs of requests, to the end: limit set (from 1), cost in units (whole, from 1), number of requests;
                or 0, how many of the requests that follow are one, which takes from all its subjects or none, 1

  Returns       now, then for each request either, for each limit of its sets: wait, remaining, reset; or one
                error text, when that request could not be decided; the others are not affected
    wait        µs until the cost fits: 0 it does (and was taken if every limit says 0), -1 it never can,
                -2 the calendar sent does not reach now: send it again with another
    remaining   units left after this
    reset       µs until another unit is there if nobody consumes; 0 when nothing is used

  State         one string a key, as value.lua says, gone when the longest window is over
  Complexity    O(n) for n requests: a GET each, and a SET for each that is allowed; two GETs where several are one
]]
-- @include algorithms
-- @include value.lua
-- @include subject.lua

local take = ARGV[2] == 'take'
local sets, run = read_sets(ARGV[3]), 4
local reply, size = { now, 0, 0, 0 }, 1
local request, run_left = 0, 0

-- Whether the cost fits.
local function decide(set, key, cost, may_take)
  local blob, fits = call('GET', key), true
  load_limits(set, blob)
  for i = 1, #set do
    local limit = set[i]
    local wait = limit.kernel.wait(limit, cost)
    limit.waits = wait
    if wait ~= 0 then fits = false end
  end
  if fits and may_take then
    for i = 1, #set do
      set[i].kernel.take(set[i], cost)
    end
    save_limits(set, key)
  elseif take and written > now + CLOCK_WENT_BACK then
    save_limits(set, key)
  end
  for i = 1, #set do
    local limit = set[i]
    reply[size + 1] = limit.waits
    reply[size + 2], reply[size + 3] = limit.kernel.left(limit)
    size = size + 3
  end
  return fits
end

-- Several subjects of one request: looked at first, and where all have room, taken from.
local function decide_together(count)
  local asks, first_size = {}, size
  while #asks < count do
    run = run + 3
    for _ = 1, tonumber(ARGV[run + 2]) do
      request = request + 1
      asks[#asks + 1] = { sets[tonumber(ARGV[run])], KEYS[request], tonumber(ARGV[run + 1]) }
    end
  end
  local decided, err = pcall(function()
    local fit = true
    for i = 1, count do
      fit = decide(unpack(asks[i])) and fit
    end
    if not take or not fit then return end
    size = first_size
    for i = 1, count do
      local set, key, cost = unpack(asks[i])
      decide(set, key, cost, true)
    end
  end)
  if not decided then
    size = first_size + 1
    reply[size] = message(err)
  end
end

-- Goes on where it stopped: an error ends it at one request, and the next call takes up the one after.
local function serve()
  while run < #ARGV do
    if run_left == 0 then run_left = tonumber(ARGV[run + 2]) end
    local set, cost = sets[tonumber(ARGV[run])], tonumber(ARGV[run + 1])
    if not set then
      run_left = 0
      decide_together(cost)
    end
    while run_left > 0 do
      request, run_left = request + 1, run_left - 1
      decide(set, KEYS[request], cost, take)
    end
    run = run + 3
  end
end

repeat
  local served, err = pcall(serve)
  if not served then
    size = size + 1
    reply[size] = message(err)
    if run_left == 0 then run = run + 3 end
  end
until served
return reply
