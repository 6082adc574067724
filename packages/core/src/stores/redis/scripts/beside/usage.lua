-- What limits with overage count in a window is billed, and what any limit counts. Part of accounts.lua, whose locals it uses. The account
-- says of each window that runs what its quota is: OPEN. Once it is over, what exceeds that is kept, whatever plan the subject has by
-- then: CLOSED. The twin of stores/memory/beside/billed-windows.ts: change both.

-- When an entry of a limit is forgotten if it is kept for a window from now.
local function after_window(limit)
  local algorithm = complete(limit.algorithm)
  return now + ceil((algorithm.window_of or algorithm.counts_for)(limit))
end

-- How long it matters what a top-up paid: two windows, and as much longer as a month can be than another.
local function billed_for(limit)
  local algorithm = complete(limit.algorithm)
  return ceil(2.25 * (algorithm.window_of or algorithm.counts_for)(limit))
end

-- Each limit with overage of one window has entries, since they exceed their quotas by other units. This says which of them it is.
local function nth_of(set, limit)
  local nth = 0
  for i = 1, #set do
    if set[i] == limit then break end
    if set[i].overage and set[i].id == limit.id then nth = nth + 1 end
  end
  return nth
end

-- The latest entry of a kind about a limit, and its position.
local function entry_of(entries, kind, limit, nth)
  for n = entries and #entries or 0, 1, -1 do
    local entry = entries[n]
    if entry.kind == kind and is_on(entry, limit) and unpack_bytes('>I2', entry.id, 11) == nth then return entry, n end
  end
end

local function closed_entry(id, limit_id, window, ends)
  return {
    id = id, says = pack_bytes('>I6', floor(window.start / 1000)), kind = CLOSED, limit = limit_id, time = window.ends,
    left = window.units, used = window.over, ends = ends,
  }
end

-- The latest window in which a limit counted units, if that is over, but not for a whole window.
local function closed_window(limit)
  local algorithm = limit.algorithm
  local units, start, ends = algorithm.closed(limit)
  if not units then return nil end
  local is_recent = algorithm.is_recent
  -- A window that the next request begins is not over before it has begun: the latest one is kept for as long as it was.
  if is_recent and is_recent(limit, ends) or not is_recent and now < ends + limit.window then
    return { units = units, start = start, ends = ends }
  end
end

-- Finds windows that are over.
local function find_closing(set)
  for n = 1, #set.account do
    local open, i = set.account[n], 1
    if open.kind == OPEN then
      while set[i] and not is_on(open, set[i]) do i = i + 1 end
      local limit = set[i]
      local window = limit and closed_window(limit)
      -- What was counted since by requests that open nothing is not billed.
      if window and open.time ~= window.ends then window = nil end
      local known = window and entry_of(set.account, CLOSED, limit, unpack_bytes('>I2', open.id, 11))
      -- After the clock has gone back, a window can end twice.
      if known and known.time == window.ends and known.left >= window.units then
        set.closing = set.closing or {}
        set.closing[#set.closing + 1] = known
      elseif window then
        window.over = max(window.units - open.left - (limit.paid or 0), 0)
        set.closing = set.closing or {}
        set.closing[#set.closing + 1] = closed_entry('closed' .. sub(open.id, 7), open.limit, window, after_window(limit))
      end
    end
  end
end

-- A copy of the account, since it is known as it was read.
local function copied_account(set)
  set.account, set.has_account = { unpack(set.account or {}) }, true
  return set.account
end

-- Keeps the windows that are over. They can still be in the account as open: see forget_stale.
local function close(set)
  local account = copied_account(set)
  for n = 1, #set.closing do
    local closed = set.closing[n]
    for m = #account, 1, -1 do
      if account[m].id == closed.id then table.remove(account, m) end
    end
    account[#account + 1] = closed
  end
end

-- Forgets open windows that are over. Called once those are closed in which units are left.
local function forget_stale(set)
  for n = set.account and #set.account or 0, 1, -1 do
    local entry = set.account[n]
    for i = 1, entry.kind == OPEN and entry.time <= now and #set or 0 do
      if is_on(entry, set[i]) then
        table.remove(copied_account(set), n)
        break
      end
    end
  end
end

local function has_overage_beside(set, limit)
  for i = 1, #set do
    if set[i].overage and set[i].id == limit.id then return true end
  end
  return false
end

-- Notes the quota of a limit in its window of now, if it counts units now: what goes back or is charged late says nothing of the plan
-- that this window is used on.
local function open(set, limit)
  local _, _, ends = limit.algorithm.running(limit)
  if limit.count <= (limit.loaded_count or 0) then return end
  local quota = limit.pots and limit.pots.base or limit.quota
  if not limit.overage then
    if has_overage_beside(set, limit) then return end
    -- A plan that covers what was used in its window leaves nothing to be billed.
    for n = 1, set.account and #set.account or 0 do
      local entry = set.account[n]
      if entry.kind == OPEN and entry.time == ends and is_on(entry, limit) then change(set, entry, max(entry.left, quota), 0) end
    end
    return
  end
  local nth = nth_of(set, limit)
  local known, at = entry_of(set.account, OPEN, limit, nth)
  local is_same = known and known.time > now and known.left >= quota and (limit.algorithm.before or known.time == ends)
  if is_same then return end
  -- The largest quota of the window: what a plan or a rule allowed for a while is not billed.
  if known and known.time == ends then quota = max(quota, known.left) end
  local account = copied_account(set)
  -- It matters longer now what top-ups paid, also those that were booked before.
  for n = 1, #account do
    local entry, lasts = account[n], account[n].time + billed_for(limit)
    if entry.kind == TOP_UP and is_on(entry, limit) and entry.ends < lasts then
      entry.ends, entry.text, set.known = lasts, nil, nil
    end
  end
  if known then table.remove(account, at) end
  account[#account + 1] = {
    id = 'opened' .. pack_bytes('>I4I2', limit.id, nth), says = '000000', kind = OPEN, limit = limit.id, time = ends, left = quota, used = 0,
    ends = now + set.lifetime - KEPT * 1000000,
  }
end

-- Called before a set is saved that counts overage, or has an account.
local function keep_windows(set)
  if set.closing then close(set) end
  forget_stale(set)
  for i = 1, #set do
    local limit = set[i]
    if limit.algorithm.running then open(set, limit) end
  end
  -- States are kept until they are billed, also where another plan is the last to write them.
  set.open_until = 0
  for n = 1, set.account and #set.account or 0 do
    local entry = set.account[n]
    if entry.kind == OPEN then set.open_until = max(set.open_until, entry.ends) end
  end
end

-- What was counted in the window before that of now, with overage. The limit can be of another plan, but the set has no limit with
-- overage beside it.
local function closed_of(set, limit)
  if not limit.overage and has_overage_beside(set, limit) then return nil end
  local nth, is_recent = nth_of(set, limit), limit.algorithm.is_recent
  local entry = entry_of(set.closing, CLOSED, limit, nth)
  if not entry then
    entry = entry_of(set.account, CLOSED, limit, nth)
    if not entry or is_recent and not is_recent(limit, entry.time) then return nil end
  end
  return { units = entry.left, over = entry.used, start = unpack_bytes('>I6', entry.says) * 1000, ends = entry.time }
end

-- @include shared/units-that-fit.lua

-- The time before which units are late, and the window that they are of.
local function late_window(limit, closed, oldest)
  local algorithm = limit.algorithm
  local units, start = algorithm.running(limit)
  if algorithm.before then
    if closed then return start, closed.start, closed.ends end
    return start, algorithm.before(limit)
  end
  if closed then return units and min(closed.ends, start) or closed.ends, closed.start, closed.ends end
  -- No other window is known, so the oldest of them began one. What is not older than a window counts in the one of now.
  local ends = oldest + limit.window
  local bound = units and min(ends, now - limit.window) or ends <= now and ends or oldest
  return bound, oldest, ends
end

-- Bills units that were used in a window that is over with it.
local function bill_late(set, limit, units, closed, start, ends)
  closed = closed or { units = 0, over = 0 }
  local nth = nth_of(set, limit)
  local opened = entry_of(set.account, OPEN, limit, nth)
  -- The account can still have the window's quota.
  local quota = opened and opened.time == ends and opened.left or limit.whole or limit.pots and limit.pots.base or limit.quota
  local slack = closed.over > 0 and 0 or max(quota - closed.units, 0)
  units = units_that_fit(units, closed.units)
  local window = { units = closed.units + units, over = closed.over + max(units - slack, 0), start = start, ends = ends }
  local _, at = entry_of(set.closing, CLOSED, limit, nth)
  set.closing = set.closing or {}
  set.closing[at or #set.closing + 1] =
    closed_entry('closed' .. pack_bytes('>I4I2', limit.id, nth), limit.id, window, after_window(limit))
end

-- Adds units that were used in a window that is over, and are counted only now, to what that counted. They begin no other window: for all
-- limits of this window, they are older than one.
local function close_late(set, all_used)
  local bounds = {}
  for j = 1, #set do
    local limit, used = set[j], all_used[j]
    if limit.overage and used and #used > 0 then
      local closed, oldest, units = closed_of(set, limit), now, 0
      for i = 2, #used, 2 do oldest = min(oldest, now - used[i]) end
      local bound, start, ends = late_window(limit, closed, oldest)
      for i = 1, start and #used or 0, 2 do
        local at = now - used[i + 1]
        if at < bound and at >= start then units = units + used[i] end
      end
      if units > 0 then bill_late(set, limit, units, closed, start, ends) end
      bounds[limit.id] = bound
    end
  end
  for j = 1, #set do
    local used, bound = all_used[j], bounds[set[j].id]
    for i = 2, bound and used and not set[j].algorithm.before and #used or 0, 2 do
      if now - used[i] < bound then used[i] = max(used[i], set[j].window) end
    end
  end
end

-- What a limit has counted: units, units beyond the quota, start and end of the window of now, and of the latest one that is over.
local function usage_of(set, limit)
  local units, start, ends = limit.algorithm.running(limit)
  local closed = closed_of(set, limit)
  local opened = (limit.overage or not has_overage_beside(set, limit)) and entry_of(set.account, OPEN, limit, nth_of(set, limit))
  -- As it would be billed if the window ended now.
  local is_open = units and opened and opened.time == ends
  local over = is_open and max(units - opened.left - (limit.paid or 0), 0) or 0
  local usage = { units or 0, over, start or 0, ends or 0, 0, 0, 0, 0 }
  if closed then usage[5], usage[6], usage[7], usage[8] = closed.units, closed.over, closed.start, closed.ends end
  return usage
end
