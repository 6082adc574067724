-- Saves the subject that is loaded into a set of limits.

-- Sets when the set's parts end. The end stays while it is late enough. It comes earlier if a limit no longer counts anything,
-- since that limit's window may be the longest. It comes later than the set's own time to live if a limit of the set counts in billing
-- windows of before. Returns whether it stays.
local function keep_end(set)
  local needed, least = max(set.open_until - now, 0), now
  for i = 1, #set do
    local lifetime = set[i].algorithm.lifetime(set[i])
    if lifetime > needed then needed = lifetime end
    if lifetime < least then least = lifetime end
  end
  local is_longer = needed > set.lifetime
  set.has_own_end = is_longer or least == 0 and not IS_TEST
  if set.has_own_end then
    set.ends = floor((now + needed) / 1000000) + (is_longer and IS_TEST and 3600 or 0)
  elseif set.layout ~= MIXED and set.ends * 1000000 >= now + needed then
    return true
  else
    set.ends = min(floor((now + set.lifetime) / 1000000), LAST_END)
  end
  return false
end

local function pack_own(set)
  local limit = set[1]
  local algorithm = limit.algorithm
  local saved = pack_bytes(algorithm.first_packing, FORMAT, now, set.ends, limit.id, algorithm.save(limit))
  if algorithm.with_tail then saved = algorithm.with_tail(limit, saved) end
  for i = 2, #set do
    limit = set[i]
    algorithm = limit.algorithm
    saved = saved .. pack_bytes(algorithm.packing, limit.id, algorithm.save(limit))
    if algorithm.with_tail then saved = algorithm.with_tail(limit, saved) end
  end
  return saved
end

-- In ms. An end was rounded down to whole seconds, so it holds for one second more. Units on lease end at their own time, in µs.
local function time_to_live(ends, leases_end)
  local ms = (ends + 1) * 1000 - floor(now / 1000)
  if leases_end then ms = max(ms, ceil((leases_end - now) / 1000)) end
  -- All digits are written out, since a large number could be sent with an exponent.
  return format('%.0f', ms)
end

-- Packs the record of denials and the account. Also returns when the later one ends, and whether the time to live stays: it covers
-- both. If one has ended, or was forgotten, it must no longer.
local function pack_behind(set, keep)
  local saved, ends, is_dropped = '', 0, set.record_size > 0 and not set.record or set.account_size > 0 and not set.account
  if set.record then
    records = records or make_records()
    local record_end, must_live = records.end_of(set)
    saved, ends, keep = records.pack(set), record_end, keep and not must_live
  end
  if set.account then
    local packed, account_end, must_live = accounts.pack(set)
    saved, ends, keep = saved .. packed, max(ends, account_end), keep and not must_live
  end
  return saved, ends, keep and not is_dropped, is_dropped
end

local function save_limits(set, key)
  if set.account or set.closing or set.counts_overage then
    accounts = accounts or make_accounts()
    accounts.keep_windows(set)
  end
  local keep, leases, others_end, ttl = keep_end(set), set.leases, 0, set.ttl
  local saved = pack_own(set)
  local behind, record_end, is_dropped = '', 0, false
  if set.record or set.account or set.record_size + set.account_size > 0 then
    behind, record_end, keep, is_dropped = pack_behind(set, keep)
    saved = saved .. behind
  end
  if set.layout ~= PLAIN then
    parts = parts or make_parts()
    local others
    others, others_end = parts.pack_others(set)
    saved = saved .. others
  end
  if leases then
    keep = keep and leasing.latest(leases) == leases.latest
    if keep and set.layout == PLAIN and #saved == leases.at - 1 and leasing.are_same(leases) then
      return call('SETRANGE', key, '0', saved)
    end
    leases.at = #saved + 1
    saved = saved .. leasing.pack(leases)
  end
  if not keep and (set.has_own_end or is_dropped or leases or max(others_end, record_end) > set.ends) then
    ttl = time_to_live(max(set.ends, others_end, record_end), leases and leasing.latest(leases))
  end
  -- Setting the time to live costs as much as the rest of SET, so it is kept while it is long enough. A value of the same length is
  -- cheapest to overwrite in place.
  if not keep then
    call('SET', key, saved, 'PX', ttl)
  elseif #saved == #set.value then
    call('SETRANGE', key, '0', saved)
  else
    call('SET', key, saved, 'KEEPTTL')
  end
end

local function message(err)
  return type(err) == 'table' and err.err or tostring(err)
end
