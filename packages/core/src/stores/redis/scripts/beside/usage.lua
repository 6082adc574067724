-- What limits with overage counted in windows that are over, and what any limit counts. Part of accounts.lua, whose locals it uses.

-- When an entry of a limit is forgotten if it is kept for a window from now.
local function after_window(limit)
  local algorithm = complete(limit.algorithm)
  return now + ceil((algorithm.window_of or algorithm.counts_for)(limit))
end

-- The id of the entry for a closed window. Each limit with overage of one window has an entry, since they exceed their quotas by other
-- units.
local function closed_id(set, limit, id)
  local nth = 0
  for i = 1, #set do
    if set[i] == limit then break end
    if set[i].overage and set[i].id == limit.id then nth = nth + 1 end
  end
  return 'closed' .. pack_bytes('>I4I2', id, nth)
end

-- Keeps what limits counted in their latest windows, which are over.
local function close(set)
  local account = { unpack(set.account or {}) }
  for i = 1, #set do
    local limit, closed = set[i], set[i].closed
    if closed then
      local id = closed_id(set, limit, limit.id)
      for n = #account, 1, -1 do
        if account[n].id == id then table.remove(account, n) end
      end
      account[#account + 1] = {
        id = id, says = pack_bytes('>I6', closed.start / 1000), kind = CLOSED, limit = limit.id, time = closed.ends,
        left = closed.units, used = closed.over, ends = after_window(limit), order = #account + 1,
      }
    end
  end
  set.account, set.has_account = account, true
end

-- The latest window of a limit that is over and kept.
local function kept_of(set, limit)
  for n = set.account and #set.account or 0, 1, -1 do
    local entry = set.account[n]
    if entry.kind == CLOSED and is_on(entry, limit) and entry.id == closed_id(set, limit, entry.limit) then
      return { units = entry.left, over = entry.used, start = unpack_bytes('>I6', entry.says) * 1000, ends = entry.time }
    end
  end
end

-- What a limit counted in its latest window that is over.
local function closed_of(set, limit)
  if limit.closed then return limit.closed end
  local kept, is_recent = kept_of(set, limit), limit.algorithm.is_recent
  return kept and (not is_recent or is_recent(limit, kept.ends)) and kept or nil
end

-- @include shared/units-that-fit.lua

-- Adds units that were used in a window that is over to what that counted: they are billed with it.
local function close_late(set, limit, used)
  local algorithm, closed = limit.algorithm, closed_of(set, limit)
  local _, bound = algorithm.running(limit)
  if not algorithm.before then bound = now - limit.window end
  local oldest, units, start, ends = bound, 0, nil, nil
  for i = 2, #used, 2 do oldest = min(oldest, now - used[i]) end
  if oldest == bound then return end
  if closed then
    start, ends = closed.start, closed.ends
  elseif algorithm.before then
    start, ends = algorithm.before(limit)
  else
    start, ends = oldest, oldest + limit.window
  end
  for i = 1, start and #used or 0, 2 do
    local at = now - used[i + 1]
    if at < bound and at >= start and (algorithm.before or at < ends) then units = units + used[i] end
  end
  if units == 0 then return end
  closed = closed or { units = 0, over = 0 }
  local quota = limit.whole or limit.pots and limit.pots.base or limit.quota
  local slack = closed.over > 0 and 0 or max(quota - closed.units, 0)
  units = units_that_fit(units, closed.units)
  limit.closed, set.closes = {
    units = closed.units + units, over = closed.over + max(units - slack, 0), start = floor(start / 1000) * 1000, ends = ends,
  }, true
end

-- What a limit has counted: units, units beyond the quota, start and end of the window of now, and of the latest one that is over.
local function usage_of(set, limit)
  local units, start, ends = limit.algorithm.running(limit)
  local closed = closed_of(set, limit)
  local over = limit.overage and units and (limit.pots and over_of or limit.algorithm.over)(limit) or 0
  local usage = { units or 0, over, start or 0, ends or 0, 0, 0, 0, 0 }
  if closed then usage[5], usage[6], usage[7], usage[8] = closed.units, closed.over, closed.start, closed.ends end
  return usage
end
