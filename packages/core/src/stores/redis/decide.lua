-- The answers are collected in `reply`. `take`: units are taken, else only looked at.
local take = ARGV[2] ~= 'look'
local reply, size = { now, 0, 0, 0 }, 1

-- Decides a request of one subject: the whole cost or nothing.
local function decide(set, key, cost)
  local fits, at = true, size
  if not set.is_outside then
    load_limits(set, call('GET', key))
    for i = 1, #set do
      local limit = set[i]
      local wait = limit.algorithm.wait(limit, cost)
      limit.waits = wait
      if wait ~= 0 then fits = false end
    end
    if take then
      for i = 1, fits and #set or 0 do
        set[i].algorithm.take(set[i], cost)
      end
      if fits or set.written > now + CLOCK_WENT_BACK then save_limits(set, key) end
    end
  end
  for i = 1, #set do
    local limit = set[i]
    if set.is_outside then
      reply[at + 1], reply[at + 2], reply[at + 3] = OUTSIDE_CALENDAR, 0, 0
    else
      reply[at + 1] = limit.waits
      reply[at + 2], reply[at + 3] = limit.algorithm.left(limit)
    end
    at = at + 3
  end
  size = at
end
