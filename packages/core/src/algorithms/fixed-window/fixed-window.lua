--[[
  fixed_window: a counter whose window opens with the first request. The twin of fixed-window.ts: change both,
  law 5 (one truth) compares them.

  Params        quota, window in µs
  State         6 bytes: the window's age at the last write, in µs; 5 bytes: units used in it
]]
local fixed_window = { code = 1, format = 'I6I5', size = 11 }

function fixed_window.prepare(quota, window)
  return {
    algorithm = fixed_window, id = 0, waits = 0,
    quota = quota, window = window,
    age = 0, count = 0, latest_age = 0, latest_count = 0,
  }
end

-- latest_age and latest_count are of the latest window, also after it has closed.
function fixed_window.load(limit, last, age, count)
  if now > last then age = age + now - last end
  limit.latest_age, limit.latest_count = age, count
  if count == 0 or age >= limit.window then
    age, count = 0, 0
  end
  limit.age, limit.count = age, count
end

function fixed_window.start(limit)
  limit.age, limit.count, limit.latest_age, limit.latest_count = 0, 0, 0, 0
end

function fixed_window.wait(limit, cost)
  local quota = limit.quota
  if limit.count + cost <= quota then return 0 end
  if cost > quota then return NEVER end
  return limit.window - limit.age
end

local counter = fixed_window
-- @include algorithms/calendar-window/calendar-window.counter.lua

-- The window of now, if it has begun: units, start and end.
function fixed_window.running(limit)
  local start = now - limit.age
  if limit.count > 0 then return limit.count, start, start + limit.window end
end

-- The window in which units were counted last, if it is over.
function fixed_window.closed(limit)
  local start = now - limit.latest_age
  if limit.count == 0 and limit.latest_count > 0 then return limit.latest_count, start, start + limit.window end
end

function fixed_window.left(limit)
  local count = limit.count
  local reset = count > 0 and limit.window - limit.age or 0
  return max(limit.quota - count, 0), reset
end

function fixed_window.save(limit)
  return limit.age, limit.count
end

-- What counts overage is kept for one more window, to be billed.
function fixed_window.lifetime(limit)
  return limit.count > 0 and limit.window - limit.age + (limit.overage and limit.window or 0) or 0
end

-- @part quick
function fixed_window.quick(quota, window)
  return function(cost, last, age, count)
    if last and now > last then age = age + now - last end
    if not last or count == 0 or age >= window then
      age, count = 0, 0
    end
    local left, remaining = window - age, quota - count - cost
    if remaining >= 0 then return remaining, left, left, age, count + cost end
    if cost > quota then return nil end
    return -1 - max(quota - count, 0), left, left
  end
end

-- @part force
function fixed_window.force(limit, used)
  local granted = 0
  for i = 1, #used, 2 do
    local units, age = used[i], used[i + 1]
    if age < limit.window then
      units = units_that_fit(units, limit.count)
      if limit.count == 0 and units > 0 then limit.age = age end
      limit.count = limit.count + units
    end
    granted = granted + units
  end
  return granted
end

-- If the latest window had closed by then, the units open another.
function fixed_window.enter(limit, units, age)
  if limit.latest_count == 0 or limit.latest_age - age >= limit.window then
    limit.latest_age, limit.latest_count = age, 0
  end
  limit.latest_count = limit.latest_count + units_that_fit(units, limit.latest_count)
  local is_open = limit.latest_age < limit.window
  limit.age, limit.count = is_open and limit.latest_age or 0, is_open and limit.latest_count or 0
end

function fixed_window.counts_for(limit)
  return limit.window
end

function fixed_window.units_in(_, count) return count end

function fixed_window.state_of(_, units) return 0, units end

-- @part refund
function fixed_window.give(limit, units, at)
  local before = limit.count
  if at == EARLIEST or at >= now - limit.age then
    limit.count = max(before - units, 0)
  end
  return limit.count < before
end
