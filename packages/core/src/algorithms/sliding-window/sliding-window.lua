--[[
  sliding_window: two counters, the previous one weighted by its overlap. The twin of sliding-window.ts: change
  both, law 5 (one truth) compares them.

  Params        quota, window in µs
  State         5 bytes: units used in the window of the last write; 5 bytes: units used in the window before it
]]
local sliding_window = { code = 3, format = 'I5I5', size = 10 }
-- The most that five bytes hold.
local MOST_UNITS = 2 ^ 40 - 1

-- How many units those of the previous window still count as, when `left` µs of the current window remain.
local function weighted(units, left, window)
  return ceil(units * left / window)
end

-- How much of the current window is left, in µs, when the previous window's `units` count as no more than `room`.
local function left_when_within(room, units, window)
  local left = floor(room * window / units)
  while weighted(units, left, window) > room do
    left = left - 1
  end
  return left
end

function sliding_window.prepare(quota, window)
  -- fmod, because Lua's own % divides and loses digits
  local start = now - fmod(now, window)
  return {
    algorithm = sliding_window, id = 0, waits = 0,
    quota = quota, window = window,
    start = start, to_come = start + window - now,
    current = 0, previous = 0, weight = 0,
  }
end

function sliding_window.load(limit, last, current, previous)
  local start = limit.start
  if last < start then
    current, previous = 0, last >= start - limit.window and current or 0
  elseif last >= start + limit.window then
    -- The clock went back over a window's edge, and will reach it again. So what was used on either side counts as used now.
    current, previous = min(current + previous, MOST_UNITS), 0
  end
  limit.current, limit.previous = current, previous
  limit.weight = weighted(previous, limit.to_come, limit.window)
end

function sliding_window.start(limit)
  limit.current, limit.previous, limit.weight = 0, 0, 0
end

function sliding_window.wait(limit, cost)
  local quota, window = limit.quota, limit.window
  if limit.current + limit.weight + cost <= quota then return 0 end
  if cost > quota then return NEVER end
  local room = quota - cost - limit.current
  if room < 0 then
    return limit.to_come + window - left_when_within(quota - cost, limit.current, window)
  end
  return limit.to_come - left_when_within(room, limit.previous, window)
end

function sliding_window.take(limit, cost)
  limit.current = limit.current + cost
end

function sliding_window.left(limit)
  local remaining = limit.quota - limit.current - limit.weight
  if remaining < 0 then remaining = 0 end
  if remaining >= limit.quota then return remaining, 0 end
  return remaining, sliding_window.wait(limit, remaining + 1)
end

function sliding_window.save(limit)
  return limit.current, limit.previous
end

function sliding_window.lifetime(limit)
  if limit.current > 0 then return limit.to_come + limit.window end
  return limit.previous > 0 and limit.to_come or 0
end

-- @part quick
-- @include algorithms/sliding-window/sliding-window.quick.lua
-- @part force
function sliding_window.force(limit, used)
  local granted = 0
  for i = 1, #used, 2 do
    local units, at = used[i], now - used[i + 1]
    if at >= limit.start then
      units = units_that_fit(units, limit.current)
      limit.current = limit.current + units
    elseif at >= limit.start - limit.window then
      units = units_that_fit(units, limit.previous)
      limit.previous = limit.previous + units
    end
    granted = granted + units
  end
  limit.weight = weighted(limit.previous, limit.to_come, limit.window)
  return granted
end

-- With less and less weight in the window that follows.
function sliding_window.counts_for(limit)
  return 2 * limit.window
end

function sliding_window.units_in(current, previous) return current + previous end

function sliding_window.state_of(_, units) return units, 0 end

-- @part refund
function sliding_window.give(limit, units, at)
  local before = limit.current + limit.previous
  if at == EARLIEST then
    -- Takes them from the previous window first: what is left in the current one will weigh in the next.
    local of_previous = min(units, limit.previous)
    limit.previous = limit.previous - of_previous
    limit.current = max(limit.current - (units - of_previous), 0)
  elseif at >= limit.start then
    limit.current = max(limit.current - units, 0)
  elseif at >= limit.start - limit.window then
    limit.previous = max(limit.previous - units, 0)
  end
  return limit.current + limit.previous < before
end
