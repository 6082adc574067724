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
        id = id, says = pack_bytes('>I6', floor(closed.start / 1000)), kind = CLOSED, limit = limit.id, time = closed.ends,
        left = closed.units, used = closed.over, ends = after_window(limit), order = #account + 1,
      }
    end
  end
  set.account, set.has_account = account, true
end

-- What a limit has counted: units, units beyond the quota, start and end of the window of now, and of the latest one that is over.
local function usage_of(set, limit)
  local units, start, ends = limit.algorithm.running(limit)
  local closed, is_recent = limit.closed, limit.algorithm.is_recent
  for n = set.account and not closed and #set.account or 0, 1, -1 do
    local entry = set.account[n]
    if entry.kind == CLOSED and is_on(entry, limit) and entry.id == closed_id(set, limit, entry.limit) then
      if is_recent and not is_recent(limit, entry.time) then break end
      closed = { units = entry.left, over = entry.used, start = unpack_bytes('>I6', entry.says) * 1000, ends = entry.time }
      break
    end
  end
  local over = limit.overage and units and (limit.pots and over_of or limit.algorithm.over)(limit) or 0
  local usage = { units or 0, over, start or 0, ends or 0, 0, 0, 0, 0 }
  if closed then usage[5], usage[6], usage[7], usage[8] = closed.units, closed.over, floor(closed.start / 1000) * 1000, closed.ends end
  return usage
end
