-- What the groups beside the limits have of reservations and places.
local function is_place(group)
  return group.lag >= PLACE and group.lag < RESERVED
end

-- When the time of the places of a group comes.
local function time_of(group)
  return group.ends - (group.lag - PLACE)
end

-- How many rows the groups have that `is_counted`.
local function count_rows(groups, is_counted)
  local rows = 0
  for i = 1, groups and #groups or 0 do
    local group = groups[i]
    if is_counted(group) then rows = rows + (group.leases and #group.leases or group.to - group.from + 1) / LEASE end
  end
  return rows
end

local function is_to_come(group) return is_place(group) and time_of(group) > now end
local function is_open(group) return group.lag == RESERVED and group.ends > now end

-- What a request is told to wait where too many reservations are open, in µs. Nobody knows when one of them ends.
local FULL_WAIT = 1000000

-- Whether each key has room for another reservation. `tells`: where it has none, its first limit has to wait.
local function has_room(parts, hold, tells)
  local has = true
  for i = 1, #parts do
    local set = parts[i].set
    if count_rows(set.leases, is_open) >= hold.most then
      has = false
      if tells then set[1].waits = FULL_WAIT end
    end
  end
  return has
end
