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

-- Tells of a limit of a set. What units on lease are worth is told in front: no other number is as low.
local function tell_limit(limit)
  if not limit.leased then return tell(limit.waits, limit.algorithm.left(limit)) end
  size = size + 1
  reply[size] = -2 ^ 52 - limit.leased
  tell(limit.waits, leasing.left(limit))
end

-- Sets how long each limit has to wait for the cost. Returns whether it fits all of them now.
local function find_waits(set, cost)
  local fits = true
  for i = 1, #set do
    local limit = set[i]
    limit.waits = (limit.leased and leasing or limit.algorithm).wait(limit, cost)
    if limit.waits ~= 0 then fits = false end
  end
  return fits
end

-- Decides a request of one subject: the whole cost or nothing. Returns whether it fits.
local function decide(set, key, cost)
  if set.is_outside then
    for _ = 1, #set do
      tell(OUTSIDE_CALENDAR, 0, 0)
    end
    return false
  end
  load_limits(set, call('GET', key))
  local fits = find_waits(set, cost)
  if take and fits then
    for i = 1, #set do
      set[i].algorithm.take(set[i], cost)
    end
    save_limits(set, key)
  elseif take and set.written > now + CLOCK_WENT_BACK then
    save_limits(set, key)
    -- Of a level above the brim: it drains slower from where it was written, and the client must not come too early.
    find_waits(set, cost)
  end
  for i = 1, #set do
    tell_limit(set[i])
  end
  return fits
end
