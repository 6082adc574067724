--[[
  Units on lease, which processes have taken in advance; reserved units; and units in places, which are used at a booked time.
  They are kept beside the limits' states, where no other request can take them. They enter the states when they are reported
  as used, or at their end. Reserved units come back at their end.

  They are at the end of a value, after a state id of 1, in groups. A group is the leases that end together, for the same
  limits. A reservation is a lease in another kind of group, which the lag shows. A line of places is a group, too.

  Group         7 bytes: end, in µs (a line's end is that of its last place); 7 bytes: lag, how long before the end its units
                count as used, in µs (for reservations 2^51; for places 2^50 plus their slack, which is how long before its
                end each place's time is, in µs); 7 bytes: when nothing of it counts any more, in µs; 2 bytes: number of
                limits; 4 bytes: number of rows; 7 bytes: units that are out, in all rows; then the state ids of the limits
                that these units have not entered; for a line 7 bytes: a time in µs; then the rows
  Lease         12 bytes: id; 5 bytes: units that are out; 5 bytes: units reported as used
  Place         6 bytes: its time, in µs after the line's; then like a lease. The earliest is first

  A group can have a thousand rows. So they stay in the value, where one search finds a row. Only when a group changes, it gets
  them as its own text, `leases`: a copy costs as much as everything else.
]]
local GROUP, GROUP_FORMAT = 34, '>I7I7I7I2I4I7'
local LEASE, LEASE_FORMAT = 22, '>c12I5I5'
local PLACE_ROW, PLACE_FORMAT = 28, '>I6c12I5I5'
local PLACE, RESERVED = 2 ^ 50, 2 ^ 51
local find = string.find

-- The position of the piece that begins like this, in a list of pieces of one size.
local function find_piece(list, wanted, size)
  local at = find(list, wanted, 1, true)
  while at and (at - 1) % size > 0 do
    at = find(list, wanted, at + 1, true)
  end
  return at
end

local function without_piece(list, at, size)
  return sub(list, 1, at - 1) .. sub(list, at + size)
end

-- Units count as used this many µs ago, over the quota if need be.
local function enter(limit, units, age)
  local algorithm = complete(limit.algorithm)
  if algorithm.enter then return algorithm.enter(limit, units, age) end
  algorithm.force(limit, { units, age })
end

local function id_of(limit)
  return pack_bytes('>I4', limit.state_id)
end

-- Where a limit is among the ids of a group, with or without a billing day; nil if it is not.
local function find_limit(ids, limit)
  return find_piece(ids, id_of(limit), STATE_ID) or limit.other_id and find_piece(ids, pack_bytes('>I4', limit.other_id), STATE_ID)
end

-- @include beside/place-lines.lua

-- The rows of a group as text, which is to be changed.
local function own_leases(groups, group)
  group.leases = group.leases or sub(groups.value, group.from, group.to)
  return group.leases
end

local function lag_of(group)
  return group.lag < PLACE and group.lag or 0
end

-- What has ended enters the limits of the set, the oldest first.
local function enter_ended(set, ended)
  if #ended > 1 and ended[1].group ~= ended[#ended].group then
    table.sort(ended, function(a, b)
      if a.entry == b.entry then return a.order < b.order end
      return a.entry < b.entry
    end)
  end
  for n = 1, #ended do
    local one = ended[n]
    for i = 1, #set do
      if find_limit(one.group.ids, set[i]) then
        -- Units that drain together enter as of the time of their place: else the level would drain nothing while it
        -- waits to be used, and the line would be slower than the limit.
        local slack = one.slack > 0 and complete(set[i].algorithm).flow and one.slack or 0
        enter(set[i], one.units, now - one.entry + slack)
      end
    end
  end
end

-- Keeps what has ended for limits of other plans, until they are loaded. Lines of the same limits become one.
local function keep_ended(set, groups, group)
  for i = 1, #set do
    local at = find_limit(group.ids, set[i])
    while at do
      group.ids, group.is_changed = without_piece(group.ids, at, STATE_ID), true
      at = find_limit(group.ids, set[i])
    end
  end
  if group.expires <= now or group.ids == '' then return end
  if not group.base and count_rows(group) > 0 then group.leases = '' end
  for i = 1, group.base and #groups or 0 do
    local other = groups[i]
    if other.base and other.ends <= now and other.lag == group.lag and other.ids == group.ids then
      return join_lines(groups, other, group)
    end
  end
  groups[#groups + 1] = group
end

-- Counts for each limit how many units are on lease, and when the last of them come back.
local function count_leased(set)
  local groups = set.leases
  groups.leased, groups.lease_ends = {}, {}
  for i = 1, #set do
    local limit, leased, ends = set[i], 0, 0
    for j = 1, #groups do
      local group = groups[j]
      if group.ends > now and find_limit(group.ids, limit) then
        leased, ends = leased + group.out, max(ends, group.ends)
      end
    end
    limit.leased, limit.lease_ends = leased > 0 and leased or nil, ends
    groups.leased[i], groups.lease_ends[i] = limit.leased, ends
  end
end

-- Units of a limit that are on lease, and those of its places before this time.
local function held_until(groups, limit, time)
  local units = 0
  for i = 1, #groups do
    local group = groups[i]
    if group.ends > now and group.lag ~= RESERVED and find_limit(group.ids, limit) then
      if group.base then
        for n = 1, places_until(groups, group, time - 1) do
          local _, out = place_at(groups, group, n)
          units = units + out
        end
      else
        units = units + group.out
      end
    end
  end
  return units
end

-- Whether all groups are as they stand in the value.
local function are_same(groups)
  for i = 1, #groups do
    if groups[i].leases or groups[i].is_changed then return false end
  end
  return #groups == groups.count
end

-- The groups of the request before, if they are this subject's, too: many requests of a call can be for one subject, and to
-- read its groups costs more than all else.
local function groups_again(set, text)
  local groups = set.before
  if not groups or groups.value ~= text or not are_same(groups) then return nil end
  for i = 1, #set do
    set[i].leased, set[i].lease_ends = groups.leased[i], groups.lease_ends[i]
  end
  return groups
end

-- Loads the leases that begin at `at` in the set's value, which was written at `last`.
local function load_leases(set, at, last)
  local value, back = sub(set.value, at), max(last - now, 0)
  local again = back == 0 and groups_again(set, value)
  if again then
    set.leases, again.at = again, at
    return
  end
  local groups, ended, over = { value = value, at = at, count = 0, latest = 0 }, {}, {}
  at = 1 + STATE_ID
  while at <= #value do
    local ends, lag, expires, limits, rows, out = unpack_bytes(GROUP_FORMAT, value, at)
    local from = at + GROUP + STATE_ID * limits
    local group = {
      ends = ends - back, lag = lag, expires = expires - back, out = out,
      ids = sub(value, at + GROUP, from - 1), head = at, from = from, size = LEASE, is_changed = back > 0,
    }
    if is_place(group) then
      group.base, group.from, group.size = unpack_bytes('>I7', value, from) - back, from + 7, PLACE_ROW
    end
    group.to = group.from + group.size * rows - 1
    groups.count, groups.latest, at = groups.count + 1, max(groups.latest, expires), group.to + 1
    local line, living = nil, group
    if group.base then
      line, living = part_line(groups, group, ended)
    elseif group.ends <= now then
      line, living = group, nil
      if lag ~= RESERVED then
        ended[#ended + 1] = { group = group, entry = group.ends - lag, units = out, slack = 0, order = #ended }
      end
    end
    over[#over + 1], groups[#groups + 1] = line, living
  end
  enter_ended(set, ended)
  for i = 1, #over do
    keep_ended(set, groups, over[i])
  end
  set.leases = groups
  count_leased(set)
end

-- Puts the leases of the subject before aside.
local function clear_leases(set)
  set.before, set.leases = set.leases, false
  for i = 1, #set do
    set[i].leased = nil
  end
end

-- As `wait` of the algorithm, with units on lease. An upper bound: they may come back earlier than they would if used.
local function wait_beside(limit, cost)
  local algorithm = limit.algorithm
  local wait = algorithm.wait(limit, cost + limit.leased)
  if wait ~= NEVER or algorithm.wait(limit, cost) == NEVER then return wait end
  return limit.lease_ends - now + ceil(complete(algorithm).counts_for(limit))
end

-- As `left` of the algorithm, with units on lease.
local function left_beside(limit)
  local left = limit.algorithm.left(limit)
  left = max(left - limit.leased, 0)
  return left, max(wait_beside(limit, left + 1), 0)
end

-- When the last of the units stop counting.
local function latest_of(groups)
  local latest = 0
  for i = 1, #groups do
    latest = max(latest, groups[i].expires)
  end
  return latest
end

-- Packs the groups. From then on they stand in this text.
local function pack_leases(groups)
  if are_same(groups) then return groups.value end
  local pieces, from, to = {}, nil, nil
  if #groups > 0 then pieces[1] = pack_bytes('>I4', ON_LEASE) end
  for i = 1, #groups + 1 do
    local group = groups[i]
    local is_changed = group and (group.leases or group.is_changed)
    if from and (not group or is_changed or group.head ~= to + 1) then
      pieces[#pieces + 1], from = sub(groups.value, from, to), nil
    end
    if is_changed then
      pieces[#pieces + 1] = pack_bytes(GROUP_FORMAT, group.ends, group.lag, group.expires, #group.ids / STATE_ID,
        count_rows(group), group.out)
      pieces[#pieces + 1] = group.ids
      if group.base then pieces[#pieces + 1] = pack_bytes('>I7', group.base) end
      pieces[#pieces + 1] = own_leases(groups, group)
    elseif group then
      from, to = from or group.head, group.to
    end
  end
  local packed, at = concat(pieces), 1 + STATE_ID
  for i = 1, #groups do
    local group = groups[i]
    local length = group.size * count_rows(group)
    group.head, group.from = at, at + GROUP + #group.ids + (group.base and 7 or 0)
    group.to, group.leases, group.is_changed = group.from + length - 1, nil, false
    at = group.to + 1
  end
  groups.value, groups.count, groups.latest = packed, #groups, latest_of(groups)
  return packed
end

return {
  load = load_leases, clear = clear_leases, wait = wait_beside, left = left_beside,
  are_same = are_same, held_until = held_until, latest = latest_of, pack = pack_leases, own = own_leases, enter = enter, count = count_leased,
  find = find_piece, find_limit = find_limit, without = without_piece, id_of = id_of, size = LEASE, format = LEASE_FORMAT,
  lag_of = lag_of, PLACE = PLACE, RESERVED = RESERVED, complete = complete,
  place_row = PLACE_ROW, place_format = PLACE_FORMAT, is_place = is_place, rows_of = rows_of, count_rows = count_rows,
  place_at = place_at, places_until = places_until, set_places = set_places,
}
