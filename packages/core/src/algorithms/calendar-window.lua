--[[
  calendar_window: a counter on the calendar. The twin of calendar-window.ts: change both, the law of one truth
  compares them. Redis knows no time zones, so the caller sends four consecutive starts of windows, and the one
  that Redis's own clock is in counts.

  Params        quota, four starts in µs since 1970
  State         5 bytes: units used in the window of the last write
]]
local calendar_window = { code = 2, format = 'I5', size = 5 }

function calendar_window.prepare(quota, ...)
  local starts, start, ends = { ... }, nil, nil
  for i = 1, 3 do
    if now >= starts[i] and now < starts[i + 1] then
      start, ends = starts[i], starts[i + 1]
    end
  end
  return {
    kernel = calendar_window, mark = 0, waits = 0,
    quota = quota, start = start, ends = ends,
    count = 0,
  }
end

function calendar_window.load(limit, last, count)
  local start = limit.start
  limit.count = start and (last >= start or now < last) and count or 0
end

function calendar_window.start(limit)
  limit.count = 0
end

function calendar_window.wait(limit, cost)
  local quota = limit.quota
  if not limit.ends then return OUTSIDE_CALENDAR end
  if limit.count + cost <= quota then return 0 end
  if cost > quota then return NEVER end
  return limit.ends - now
end

function calendar_window.take(limit, cost)
  limit.count = limit.count + cost
end

function calendar_window.left(limit)
  local count = limit.count
  local reset = count > 0 and limit.ends - now or 0
  return max(limit.quota - count, 0), reset
end

function calendar_window.save(limit)
  return limit.count
end

function calendar_window.lifetime(limit)
  return limit.ends - now
end

-- @refund
function calendar_window.give(limit, units, at)
  local before = limit.count
  if at >= limit.start then
    limit.count = max(before - units, 0)
  end
  return limit.count < before
end
