-- Counts the reservations and places in the groups beside the limits.
local is_place, count_rows = leasing.is_place, leasing.count_rows

local function places_to_come(groups)
  local places = 0
  for i = 1, groups and #groups or 0 do
    local group = groups[i]
    if group.base then places = places + count_rows(group) - places_until(groups, group, now) end
  end
  return places
end

local function open_reservations(groups)
  local reservations = 0
  for i = 1, groups and #groups or 0 do
    local group = groups[i]
    if group.lag == RESERVED and group.ends > now then reservations = reservations + count_rows(group) end
  end
  return reservations
end

-- The wait to return if too many reservations are open, in µs. It is unknown when one of them ends.
local FULL_WAIT = 1000000

-- Whether each key has room for another reservation. With `tells`, the first limit of a key without room gets a wait.
local function has_room(parts, hold, tells)
  local has = true
  for i = 1, #parts do
    local set = parts[i].set
    if open_reservations(set.leases) >= hold.most then
      has = false
      if tells then set[1].waits = FULL_WAIT end
    end
  end
  return has
end
