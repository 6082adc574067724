--[[
  calendar_window: a counter for each calendar window. The twin of calendar-window.ts: change both, law 5 (one truth)
  compares them. Redis has no time zones. So the caller sends four consecutive window starts, and the script picks the
  window that Redis's own clock is in.

  Params        quota, four starts in µs since 1970; state id of the same limit for subjects with a billing day, 0 if there is none
  State         5 bytes: units used in the window of the last write
]]
local calendar_window = { code = 2, format = 'I5', size = 5 }

-- Returns nil when now is outside the starts that were sent.
function calendar_window.prepare(quota, ...)
  local starts, start, ends = { ... }, nil, nil
  for i = 1, 3 do
    if now >= starts[i] and now < starts[i + 1] then
      start, ends = starts[i], starts[i + 1]
    end
  end
  if not start then return nil end
  return {
    algorithm = calendar_window, id = 0, waits = 0,
    quota = quota, start = start, ends = ends, second = starts[2], third = starts[3], starts = starts,
    other_id = starts[5] ~= 0 and starts[5],
    count = 0, latest_count = 0,
  }
end

function calendar_window.load(limit, last, count)
  limit.latest_count, limit.last = count, last
  limit.count = (last >= limit.start or now < last) and count or 0
end

function calendar_window.start(limit)
  limit.count, limit.latest_count, limit.last = 0, 0, now
end

function calendar_window.wait(limit, cost)
  local quota = limit.quota
  if limit.count + cost <= quota then return 0 end
  if cost > quota then return NEVER end
  return limit.ends - now
end

local counter = calendar_window
-- @include algorithms/calendar-window/calendar-window.counter.lua

-- @include algorithms/calendar-window/calendar-window.common.lua

-- The window in which units were counted last, if it is over.
function calendar_window.closed(limit)
  local last, starts = limit.last, limit.starts
  for i = 1, limit.latest_count > 0 and last < limit.start and 3 or 0 do
    if last >= starts[i] and last < starts[i + 1] then return limit.latest_count, starts[i], starts[i + 1] end
  end
end

function calendar_window.left(limit)
  local count = limit.count
  local reset = count > 0 and limit.ends - now or 0
  return max(limit.quota - count, 0), reset
end

function calendar_window.save(limit)
  return limit.count
end

-- What counts overage is kept for one more window, to be billed.
function calendar_window.lifetime(limit)
  return limit.count > 0 and limit.ends - now + (limit.overage and limit.third - limit.second or 0) or 0
end

-- @part quick
-- Returns nil when now is outside the starts that were sent.
function calendar_window.quick(quota, first, second, third, fourth)
  local start, ends = first, second
  if now >= third then
    start, ends = third, fourth
  elseif now >= second then
    start, ends = second, third
  end
  if now < start or now >= ends then return nil end
  local left = ends - now
  return function(cost, last, count)
    if not last or last < start and now >= last then count = 0 end
    local remaining = quota - count - cost
    if remaining >= 0 then return remaining, left, left, count + cost end
    if cost > quota then return nil end
    return -1 - max(quota - count, 0), left, left
  end
end

-- @part force
-- @include algorithms/calendar-window/calendar-window.force.lua

-- To the end of this window or of the next, whose lengths differ by less than half.
function calendar_window.counts_for(limit)
  return 2 * (limit.third - limit.second)
end

function calendar_window.window_of(limit)
  return limit.third - limit.second
end

function calendar_window.units_in(count) return count end

function calendar_window.state_of(_, units) return units end

-- @part refund
-- @include algorithms/calendar-window/calendar-window.refund.lua
