-- Finds and adds the rows of groups: leases, reservations and places.
local id_of, own_leases, find_piece = leasing.id_of, leasing.own, leasing.find
local LEASE, LEASE_FORMAT, entry_of = leasing.size, leasing.format, leasing.entry_of
local find = string.find

-- The group that has a row at this place of the value.
local function group_at(groups, at)
  for i = 1, #groups do
    local group = groups[i]
    local is_in = not group.leases and at >= group.from and at <= group.to
    if is_in and (at - group.from) % LEASE == 0 then return i end
  end
end

-- The group of a living row, and where the row is in it.
local function find_row(groups, id)
  local at = find(groups.value, id, groups.at, true)
  while at do
    local i = group_at(groups, at)
    if i then
      own_leases(groups, groups[i])
      return i, at - groups[i].from + 1
    end
    at = find(groups.value, id, at + 1, true)
  end
  for j = 1, #groups do
    at = groups[j].leases and find_piece(groups[j].leases, id, LEASE)
    if at then return j, at end
  end
end

local function no_leases()
  return { value = '', at = 1, count = 0, latest = 0 }
end

-- Puts a row of some units into the group of its end and lag, with limits that are all those of the set that come back
-- with time. Those of requests in flight do not stand in groups.
local function add_row(set, id, units, lag, ends, expires)
  local ids = ''
  for i = 1, #set do
    local own = id_of(set[i])
    if not set[i].algorithm.in_flight and not find_piece(ids, own, STATE_ID) then ids = ids .. own end
  end
  if ids == '' then return end
  set.leases = set.leases or no_leases()
  local groups, place, found = set.leases, 1, nil
  local made = { ends = ends, lag = lag, expires = 0, out = 0, ids = ids, leases = '' }
  for i = 1, #groups do
    local group = groups[i]
    if group.ends == ends and group.lag == lag and group.ids == ids then found = group end
    if entry_of(group) <= entry_of(made) then place = i + 1 end
  end
  if not found then
    found = made
    table.insert(groups, place, found)
  end
  found.expires, found.out = max(found.expires, expires), found.out + units
  found.leases = own_leases(groups, found) .. pack_bytes(LEASE_FORMAT, id, units, 0)
end
