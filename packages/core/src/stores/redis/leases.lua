--[[
  Units on lease, which processes have taken in advance. They are kept beside the limits' states: nobody else can take
  them, and they enter the states when they are reported as used, or when their lease ends. They stand at the end of a
  value, behind a state id of 1: leases that end together are a group, of the same limits, the oldest first.

  Group         7 bytes: end in µs; 7 bytes: lag, how long before the end its units count as used, in µs; 7 bytes: when
                nothing of it counts any more, in µs; 2 bytes: number of limits; 4 bytes: number of leases; 7 bytes:
                units that are out, of all its leases; then the state ids of the limits that these units have not
                entered, and its leases
  Lease         12 bytes: id; 5 bytes: units that are out; 5 bytes: units told as used

  Both lists stay text, in which a piece is found by one search: a group can have a thousand leases.
]]
local GROUP, GROUP_FORMAT = 34, '>I7I7I7I2I4I7'
local LEASE, LEASE_FORMAT = 22, '>c12I5I5'
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

-- Adds what counts units of earlier, which most runs do not need.
local function complete(algorithm)
  for name, known in pairs(algorithm.force and {} or algorithms) do
    if known == algorithm then
      local whole = make(name, true)
      algorithm.force, algorithm.enter, algorithm.counts_for = whole.force, whole.enter, whole.counts_for
    end
  end
  return algorithm
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

-- What is out of a group that has ended enters the limits of the set. Limits of other plans wait until they are loaded.
local function enter_group(set, group)
  for i = 1, #set do
    if find_piece(group.ids, id_of(set[i]), STATE_ID) then
      enter(set[i], group.out, now - (group.ends - group.lag))
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
  local value, groups, back = set.value, {}, max(last - now, 0)
  at = at + STATE_ID
  while at <= #value do
    local ends, lag, expires, limits, leases, out = unpack_bytes(GROUP_FORMAT, value, at)
    local ids_end = at + GROUP + STATE_ID * limits
    at = ids_end + LEASE * leases
    local group = {
      ends = ends - back, lag = lag, expires = expires - back, out = out,
      ids = sub(value, ids_end - STATE_ID * limits, ids_end - 1), leases = sub(value, ids_end, at - 1),
    }
    -- Also what counts no more: it can be in the window of what still does.
    if group.ends <= now then enter_group(set, group) end
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

-- Also returns when the last of the units stop counting, in seconds.
local function pack_leases(groups)
  local packed, latest = {}, 0
  for i = 1, #groups do
    local group = groups[i]
    latest = max(latest, group.expires)
    packed[i] = pack_bytes(GROUP_FORMAT, group.ends, group.lag, group.expires, #group.ids / STATE_ID,
      #group.leases / LEASE, group.out) .. group.ids .. group.leases
  end
  if #groups == 0 then return '', 0 end
  return pack_bytes('>I4', ON_LEASE) .. concat(packed), min(floor(latest / 1000000), LAST_END)
end
