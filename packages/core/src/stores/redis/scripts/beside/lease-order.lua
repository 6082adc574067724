-- Decides requests with the grant `lease`: reports of leases, reservations and places, and a wish for the next lease.
-- @include beside/lease-rows.lua
local enter, count_leased, lag_of = leasing.enter, leasing.count, leasing.lag_of

-- Keeps what a report leaves of a row. Returns how many of its units were used since the last report, and whether anything
-- changed.
local function settle_report(groups, report, i, n)
  local group = groups[i]
  local out, told = row_at(groups, group, n)
  local entered = max(min(report.used - told, out), 0)
  local left = min(out - entered, report.left)
  if left == out then return 0, false end
  local row = ''
  if left > 0 then
    if group.base then row = pack_bytes('>I6', place_at(groups, group, n) - group.base) end
    row = row .. pack_bytes(LEASE_FORMAT, report.id, left, told + entered)
  end
  if not change_row(groups, group, n, row, group.out - out + left) then table.remove(groups, i) end
  return entered, true
end

-- Settles the reports. Returns whether anything changed, and whether all leases with used or remaining units are known.
local function settle_reports(set, reports)
  local groups, used, has_changed, is_known = set.leases or no_leases(), {}, false, true
  for n = 1, #reports do
    local report = reports[n]
    local i, row = find_row(groups, report.id)
    if i then
      local lag, ends, ids = lag_of(groups[i]), groups[i].ends, groups[i].ids
      local entered, changes = settle_report(groups, report, i, row)
      has_changed = has_changed or changes
      used[n] = { units = entered, age = lag > 0 and max(now - ends + lag, 0) or 0, ids = ids }
    else
      is_known = is_known and report.left == 0 and report.used == 0
      used[n] = { units = 0, age = 0 }
    end
  end
  table.sort(used, function(a, b) return a.age > b.age end)
  for n = 1, #used do
    for i = 1, used[n].units > 0 and #set or 0 do
      if find_limit(used[n].ids, set[i]) then enter(set[i], used[n].units, used[n].age) end
    end
  end
  return has_changed, is_known
end

-- Grants a wish. Returns the units, in how many µs their lease ends, and whether it is a new one.
local function grant(set, wish)
  local i, row = find_row(set.leases or no_leases(), wish.id)
  if i then
    local out, _, row_ends = row_at(set.leases, set.leases[i], row)
    return out, row_ends - now, false
  end
  local free = 2 ^ 53
  for j = 1, #set do
    local limit = set[j]
    if not limit.algorithm.in_flight then
      -- Top-ups are not leased: units that enter after the end of their window would not be paid.
      local topped_up = limit.pots and accounts.left(limit) or 0
      free = min(free, (limit.leased and leasing or limit.algorithm).left(limit) - topped_up)
    end
  end
  local grid = max(1000, floor(wish.length / 8))
  local ends = floor((now + wish.length) / grid) * grid
  local units = min(wish.most, floor(free * wish.share))
  if units < max(wish.least, 1) or ends <= now then return 0, 0, false end
  add_row(set, wish.id, units, wish.lag, ends, ends + wish.counts_for)
  return units, ends - now, true
end

local function decide_lease(set, key, order)
  local units, ends_in, is_known = 0, 0, true
  if set.is_outside then
    for _ = 1, #set do
      tell_outside()
      size = size + 1
      reply[size] = 0
    end
  else
    load_limits(set, call('GET', key))
    local has_changed, is_new
    has_changed, is_known = settle_reports(set, order.reports)
    if set.leases then count_leased(set) end
    if order.wish then units, ends_in, is_new = grant(set, order.wish) end
    if is_new then count_leased(set) end
    if has_changed or is_new or set.written > now + CLOCK_WENT_BACK then save_limits(set, key) end
    for i = 1, #set do
      set[i].waits = 0
      tell(set[i])
      size = size + 1
      reply[size] = units
    end
  end
  reply[size + 1], reply[size + 2], size = ends_in, is_known and 1 or 0, size + 2
end

local function next_number()
  at = at + 1
  return tonumber(ARGV[at - 1])
end

local function next_text()
  at = at + 1
  return ARGV[at - 1]
end

-- Reads one request and decides it.
local function read_and_decide()
  request = request + 1
  local set, order = sets[tonumber(ARGV[at + 3])], { reports = {} }
  at = at + 5
  for i = 1, next_number() do
    order.reports[i] = { id = next_text(), used = next_number(), left = next_number() }
  end
  if next_number() == 1 then
    order.wish = {
      id = next_text(), most = next_number(), least = next_number(), share = next_number(),
      length = next_number(), lag = next_number(), counts_for = next_number(),
    }
  end
  decide_or_tell(decide_lease, set, KEYS[request], order)
end
