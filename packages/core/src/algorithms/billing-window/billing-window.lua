--[[
  billing_window: a counter for months or years that begin on the subject's billing day. The twin of billing-window.ts: change both,
  law 5 (one truth) compares them. The end of the window is stored, so that a billing day that was moved takes effect at that end. What is
  left until the next one is a short window, with its share of the quota.

  Params        quota, four starts in µs since 1970; then of the same limit for subjects without a billing day: state id, the
                beginning and end of its window, and the beginning of the one before
  State         5 bytes: units used in the window; 7 bytes: its end in µs, 0 if there is none; 6 bytes: its length in µs; 6 bytes: the
                length that it would have if it were not short, else 0
]]
local billing_window = { code = 7, format = 'I5I7I6I6', size = 24 }

-- No month and no year is as long as this, whatever its billing day.
local function longest_of(window)
  return (window < 200 * 86400000000 and 32 or 367) * 86400000000
end

-- The quota of a window that is `length` long, and would be `full` long.
local function share_of(whole, length, full)
  return ceil(whole * length / full)
end

-- Returns nil when now is outside the starts that were sent.
function billing_window.prepare(quota, first, second, third, fourth, other_id, plain_start, plain_end, plain_before)
  local starts, start, ends = { first, second, third, fourth }, nil, nil
  for i = 1, 3 do
    if now >= starts[i] and now < starts[i + 1] then
      start, ends = starts[i], starts[i + 1]
    end
  end
  if not start then return nil end
  return {
    algorithm = billing_window, id = 0, waits = 0,
    starts = starts, quota = quota, whole = quota, calendar_start = start, calendar_ends = ends, window = third - second, longest = longest_of(third - second),
    other_id = other_id, plain_start = plain_start, plain_end = plain_end, plain_before = plain_before,
    count = 0, latest_count = 0,
  }
end

function billing_window.load(limit, last, count, ends, length, full)
  -- Without an end, it is only known when the units were used.
  local is_open = ends > 0 and now < ends or ends == 0 and (last >= limit.calendar_start or now < last)
  -- The end of a window can be this far away only after the clock has gone back.
  local is_kept = is_open and ends > 0 and ends - now <= 2 * limit.longest
  local start, is_short = limit.calendar_start, not is_open and ends > limit.calendar_start
  limit.latest_count, limit.stored_ends, limit.stored_length, limit.stored_full = count, ends, length, full
  limit.count = is_open and count or 0
  limit.start = is_kept and ends - length or is_open and start or max(start, ends)
  limit.ends = is_kept and ends or limit.calendar_ends
  limit.full = is_kept and full or is_short and limit.ends - start or 0
  limit.quota = limit.full == 0 and limit.whole or share_of(limit.whole, limit.ends - limit.start, limit.full)
end

-- Loads a limit from the part that it had before the subject got a billing day. Returns whether that counts anything now: the window
-- before does if it is billed.
function billing_window.load_plain(limit, last, count, is_billed)
  local start, ends = limit.plain_start, limit.plain_end
  if last < start then
    start, ends = is_billed and limit.plain_before or start, start
  end
  if count == 0 or last < start then return false end
  billing_window.load(limit, last, count, ends, ends - start, 0)
  return true
end

function billing_window.start(limit)
  billing_window.load(limit, now, 0, 0, 0, 0)
end

function billing_window.wait(limit, cost)
  local quota = limit.quota
  if limit.count + cost <= quota then return 0 end
  if cost > max(quota, limit.whole) then return NEVER end
  return limit.ends - now
end

-- The next window, if it is short: its quota, and in how many µs it begins and ends.
function billing_window.short(limit)
  local starts, begins = limit.starts, limit.ends
  for i = 1, 3 do
    if begins > starts[i] and begins < starts[i + 1] then
      return share_of(limit.whole, starts[i + 1] - begins, starts[i + 1] - starts[i]), begins - now, starts[i + 1] - now
    end
  end
end

local counter = billing_window
-- @include algorithms/calendar-window/calendar-window.counter.lua

-- @include algorithms/calendar-window/calendar-window.common.lua

-- The window in which units were counted last, if it is over.
function billing_window.closed(limit)
  local units, ends = limit.latest_count, limit.stored_ends
  if units > 0 and ends > 0 and ends <= now then return units, ends - limit.stored_length, ends end
end

function billing_window.left(limit)
  local count, quota = limit.count, limit.quota
  -- After a short window, there are more units.
  local reset = (count > 0 or quota < limit.whole) and limit.ends - now or 0
  return max(quota - count, 0), reset
end

-- A window in which nothing is counted yet is not stored: the billing day can still be moved.
function billing_window.save(limit)
  if limit.count == 0 and limit.stored_ends <= now then
    return limit.latest_count, limit.stored_ends, limit.stored_length, limit.stored_full
  end
  return limit.count, limit.ends, limit.ends - limit.start, limit.full
end

-- Whether a state still says when the next window begins, for a limit of windows of a length.
function billing_window.still_says(ends, window)
  return ends + longest_of(window) > now
end

-- A window that is over says when the next one begins, whatever the billing day is then.
function billing_window.lifetime(limit)
  local _, ends = billing_window.save(limit)
  return ends > 0 and max(ends - now + limit.longest, 0) or 0
end

-- @part quick
-- Returns nil for windows that are short or over.
function billing_window.quick(quota, _, second, third)
  local longest = (third - second < 200 * 86400000000 and 32 or 367) * 86400000000
  return function(cost, last, count, ends, length, _, _, full)
    if not last or full > 0 or now >= ends or ends - now > 2 * longest then return nil end
    local remaining, left = quota - count - cost, ends - now
    if remaining >= 0 then return remaining, left, left + longest, count + cost, ends, length, full end
    -- More units may not fit the next window, if that is short.
    if cost > 1 then return nil end
    return -1 - max(quota - count, 0), left, left
  end
end

-- @part force
-- @include algorithms/calendar-window/calendar-window.force.lua

-- To the end of this window or of the next, whose lengths differ by less than half.
function billing_window.counts_for(limit)
  return 2 * limit.window
end

function billing_window.window_of(limit)
  return limit.window
end

function billing_window.units_in(count, ends)
  return max(count, ends > 0 and 1 or 0)
end

function billing_window.state_of(_, units)
  return units, 0, 0, 0
end

-- @part refund
-- @include algorithms/calendar-window/calendar-window.refund.lua
