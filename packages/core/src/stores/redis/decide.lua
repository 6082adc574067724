-- What an answer is made of. `take` is whether units are taken, or only looked at.
local take = ARGV[2] == 'take'
local reply, size = { now, 0, 0, 0 }, 1

-- Adds what the limits of a set are after a request.
local function tell(set)
  local at = size
  for i = 1, #set do
    local limit = set[i]
    reply[at + 1] = limit.waits
    reply[at + 2], reply[at + 3] = limit.algorithm.left(limit)
    at = at + 3
  end
  size = at
end

-- The same where the calendar sent does not reach now: nothing is known.
local function tell_outside(set)
  for _ = 1, #set do
    reply[size + 1], reply[size + 2], reply[size + 3] = OUTSIDE_CALENDAR, 0, 0
    size = size + 3
  end
end

-- Whether the cost fits.
local function find_waits(set, cost)
  local fits = true
  for i = 1, #set do
    local limit = set[i]
    local wait = limit.algorithm.wait(limit, cost)
    limit.waits = wait
    if wait ~= 0 then fits = false end
  end
  return fits
end

local function take_units(set, cost)
  for i = 1, #set do
    set[i].algorithm.take(set[i], cost)
  end
end

-- A request of one subject that takes all of its cost or nothing.
local function decide(set, key, cost)
  if set.is_outside then return tell_outside(set) end
  load_limits(set, call('GET', key))
  local fits = find_waits(set, cost)
  if take then
    if fits then
      take_units(set, cost)
      save_limits(set, key)
    elseif set.written > now + CLOCK_WENT_BACK then
      save_limits(set, key)
    end
  end
  tell(set)
end
