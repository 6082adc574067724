-- Groups of places, among those of leases and reservations.
local function is_place(group)
  return group.lag >= PLACE and group.lag < RESERVED
end

-- When the time of the places of a group comes.
local function time_of(group)
  return group.ends - (group.lag - PLACE)
end

