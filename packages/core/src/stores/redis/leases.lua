--[[
  Units on lease, which processes have taken in advance, reserved units, and units in places, which are used at a time
  that was booked. They are kept beside the limits' states: nobody else can take them, and they enter the states when
  they are reported as used, or at their end; reserved ones come back at their end. They stand at the end of a value,
  behind a state id of 1: leases that end together are a group, of the same limits, the oldest first. A reservation or a
  place is a lease in a group of another kind, which the lag tells.

  Group         7 bytes: end in µs; 7 bytes: lag, how long before the end its units count as used, in µs; or 2^51 of
                reservations; or of places 2^50 plus their slack, how long before the end their time is, in µs; 7 bytes:
                when nothing of it counts any more, in µs; 2 bytes: number of limits; 4 bytes: number of leases; 7
                bytes: units that are out, of all its leases; then the state ids of the limits that these units have not
                entered, and its leases
  Lease         12 bytes: id; 5 bytes: units that are out; 5 bytes: units told as used

  A group can have a thousand leases. So they stay in the value, where one search finds a lease, until their group
  changes: only then it has them as text of its own, `leases`. Each copy would cost as much as all else.
]]
local GROUP, GROUP_FORMAT = 34, '>I7I7I7I2I4I7'
local LEASE, LEASE_FORMAT = 22, '>c12I5I5'
local PLACE, RESERVED = 2 ^ 50, 2 ^ 51
local find = string.find

-- Where a piece that begins like this is in a list of pieces of one size.
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
  return pack_bytes('>I4', limit.id)
end

-- The leases of a group as text, which is to be changed.
local function own_leases(groups, group)
  group.leases = group.leases or sub(groups.value, group.from, group.to)
  return group.leases
end

local function lag_of(group)
  return group.lag < PLACE and group.lag or 0
end

-- When what is out at the end counts as used.
local function entry_of(group)
  return group.ends - lag_of(group)
end

-- What is out of a group that has ended enters the limits of the set. Limits of other plans wait until they are loaded.
local function enter_group(set, group)
  for i = 1, #set do
    if find_piece(group.ids, id_of(set[i]), STATE_ID) then
      -- Units that drain together enter as of the time of their place: else the level would drain nothing while it waits
      -- to be used, and the line would be slower than the limit.
      local slack = group.lag >= PLACE and complete(set[i].algorithm).flow and group.lag - PLACE or 0
      enter(set[i], group.out, now - entry_of(group) + slack)
    end
  end
  for i = 1, #set do
    local at = find_piece(group.ids, id_of(set[i]), STATE_ID)
    if at then group.ids = without_piece(group.ids, at, STATE_ID) end
  end
  group.leases = ''
end

-- Counts for each limit how many units are on lease, and when the last of them come back.
local function count_leased(set)
  for i = 1, #set do
    local limit, id, leased, ends = set[i], id_of(set[i]), 0, 0
    for j = 1, #set.leases do
      local group = set.leases[j]
      if group.ends > now and find_piece(group.ids, id, STATE_ID) then
        leased, ends = leased + group.out, max(ends, group.ends)
      end
    end
    limit.leased, limit.lease_ends = leased > 0 and leased or nil, ends
  end
end

-- Loads the leases that begin at `at` in the set's value, which was written at `last`.
local function load_leases(set, at, last)
  local value, back = set.value, max(last - now, 0)
  local groups = { value = value, at = at, count = 0, latest = 0 }
  at = at + STATE_ID
  while at <= #value do
    local ends, lag, expires, limits, leases, out = unpack_bytes(GROUP_FORMAT, value, at)
    local from = at + GROUP + STATE_ID * limits
    local group = {
      ends = ends - back, lag = lag, expires = expires - back, out = out,
      ids = sub(value, at + GROUP, from - 1), head = at, from = from, to = from + LEASE * leases - 1,
    }
    groups.count, groups.latest, at = groups.count + 1, max(groups.latest, expires), group.to + 1
    if back > 0 then own_leases(groups, group) end
    -- Also what counts no more: it can be in the window of what still does.
    if group.ends <= now and lag ~= RESERVED then enter_group(set, group) end
    if group.expires > now and group.ids ~= '' then groups[#groups + 1] = group end
  end
  set.leases = groups
  count_leased(set)
end

-- Forgets the leases of the subject before.
local function clear_leases(set)
  set.leases = false
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

-- Whether all groups are as they stand in the value.
local function are_same(groups)
  for i = 1, #groups do
    if groups[i].leases then return false end
  end
  return #groups == groups.count
end

-- When the last of the units stop counting.
local function latest_of(groups)
  local latest = 0
  for i = 1, #groups do
    latest = max(latest, groups[i].expires)
  end
  return latest
end

-- Puts the groups behind other pieces of a value.
local function pack_leases(groups, pieces)
  local from, to
  if #groups > 0 then pieces[#pieces + 1] = pack_bytes('>I4', ON_LEASE) end
  for i = 1, #groups + 1 do
    local group = groups[i]
    if from and (not group or group.leases or group.head ~= to + 1) then
      pieces[#pieces + 1], from = sub(groups.value, from, to), nil
    end
    if group and group.leases then
      pieces[#pieces + 1] = pack_bytes(GROUP_FORMAT, group.ends, group.lag, group.expires, #group.ids / STATE_ID,
        #group.leases / LEASE, group.out)
      pieces[#pieces + 1] = group.ids
      pieces[#pieces + 1] = group.leases
    elseif group then
      from, to = from or group.head, group.to
    end
  end
end

return {
  load = load_leases, clear = clear_leases, wait = wait_beside, left = left_beside,
  are_same = are_same, latest = latest_of, pack = pack_leases, own = own_leases, enter = enter, count = count_leased,
  find = find_piece, without = without_piece, id_of = id_of, size = LEASE, format = LEASE_FORMAT,
  lag_of = lag_of, entry_of = entry_of, PLACE = PLACE, RESERVED = RESERVED, complete = complete,
}
