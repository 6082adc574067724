-- Tells of one limit: remaining and reset; or, where it has to wait, -1 - remaining, wait and reset.
local function tell(wait, remaining, reset)
  if wait == 0 then
    reply[size + 1], reply[size + 2] = remaining, reset
    size = size + 2
  else
    reply[size + 1], reply[size + 2], reply[size + 3] = -1 - remaining, wait, reset
    size = size + 3
  end
end

-- Decides a request of one subject: the whole cost or nothing. Returns whether it fits.
local function decide(set, key, cost)
  if set.is_outside then
    for _ = 1, #set do
      tell(OUTSIDE_CALENDAR, 0, 0)
    end
    return false
  end
  local fits = true
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
  for i = 1, #set do
    local limit = set[i]
    tell(limit.waits, limit.algorithm.left(limit))
  end
  return fits
end
