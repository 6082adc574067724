-- Finds and adds the rows of groups: leases, reservations and places.
local id_of, own_leases, find_piece, find_limit = leasing.id_of, leasing.own, leasing.find, leasing.find_limit
local rows_of, place_at, places_until, set_places = leasing.rows_of, leasing.place_at, leasing.places_until, leasing.set_places
local LEASE, LEASE_FORMAT = leasing.size, leasing.format
local PLACE_ROW, PLACE_FORMAT, PLACE = leasing.place_row, leasing.place_format, leasing.PLACE
local find = string.find

-- Where the id is in a group's row.
local function id_at(group)
  return group.base and 6 or 0
end

-- The living group with the row whose id is at this position in the value, and the row's number.
local function group_at(groups, at)
  for i = 1, #groups do
    local group = groups[i]
    local behind = at - (group.from or 0) - id_at(group)
    local is_in = not group.leases and at >= group.from and at <= group.to and behind % group.size == 0
    if is_in and group.ends > now then return i, behind / group.size + 1 end
  end
end

-- The living group that has a row with this id, and the row's number.
local function find_row(groups, id)
  local at = find(groups.value, id, 1, true)
  while at do
    local i, n = group_at(groups, at)
    if i then return i, n end
    at = find(groups.value, id, at + 1, true)
  end
  for j = 1, #groups do
    local group = groups[j]
    at = group.leases and find(group.leases, id, 1, true)
    while at and (at - 1 - id_at(group)) % group.size > 0 do
      at = find(group.leases, id, at + 1, true)
    end
    if at and group.ends > now then return j, (at - 1 - id_at(group)) / group.size + 1 end
  end
end

-- The units of a row that are out, those told as used, and when it ends.
local function row_at(groups, group, n)
  local rows, from = rows_of(groups, group)
  local _, out, told = unpack_bytes(LEASE_FORMAT, rows, from + group.size * (n - 1) + id_at(group))
  return out, told, group.base and place_at(groups, group, n) + group.lag - PLACE or group.ends
end

-- Makes the nth row of a group another one, or takes it out. Returns false if none is left.
local function change_row(groups, group, n, row, out)
  local rows, from = own_leases(groups, group), group.size * (n - 1)
  rows = sub(rows, 1, from) .. row .. sub(rows, from + group.size + 1)
  if group.base then set_places(groups, group, rows, out) else group.leases, group.out = rows, out end
  return rows ~= ''
end

local function no_leases()
  return { value = '', at = 1, count = 0, latest = 0 }
end

-- All limits of a set that come back with time, as state ids. Those of requests in flight do not stand in groups, and neither does
-- one that observes and that the units do not fit.
local function ids_of(set)
  local ids = ''
  for i = 1, #set do
    local own = id_of(set[i])
    local is_out = set[i].algorithm.in_flight or set[i].observes and set[i].would_wait ~= 0
    if not is_out and not find_piece(ids, own, STATE_ID) then ids = ids .. own end
  end
  return ids
end

-- Puts a row of some units into the group of its end and lag; of a place into the line of its lag.
local function add_row(set, id, units, lag, ends, expires)
  local ids, is_place = ids_of(set), leasing.is_place({ lag = lag })
  if ids == '' then return end
  set.leases = set.leases or no_leases()
  local groups, found = set.leases, nil
  for i = 1, #groups do
    local group = groups[i]
    local is_same = group.lag == lag and group.ids == ids and group.ends > now
    if is_same and (is_place or group.ends == ends) then found = group end
  end
  if not found then
    found = { ends = ends, lag = lag, expires = expires, out = 0, ids = ids, leases = '', size = LEASE }
    if is_place then found.base, found.size = now, PLACE_ROW end
    groups[#groups + 1] = found
  end
  local rows, row = own_leases(groups, found), pack_bytes(LEASE_FORMAT, id, units, 0)
  if is_place then
    local time = ends - (lag - PLACE)
    local before = PLACE_ROW * places_until(groups, found, time)
    found.expires = found.ends + max(found.expires - found.ends, expires - ends)
    row = pack_bytes('>I6', time - found.base) .. row
    set_places(groups, found, sub(rows, 1, before) .. row .. sub(rows, before + 1), found.out + units)
  else
    found.leases, found.out, found.expires = rows .. row, found.out + units, max(found.expires, expires)
  end
  groups.has_new = true
end
