-- Where a cost can have a place of a limit whose units drain together. The twin of stores/memory/level-line.ts, which
-- explains it: change both. A bucket rounds its level at every write, so the time of a place may seem to be this late.
local ROUNDING = 2

-- The spots in line: before all places, and behind each; and the room that each place has. `due`: units of places whose
-- time has come; `kept`: units on lease and reserved.
local function spots_of(limit, places, cost, due, kept)
  local level, most, per_us = limit.algorithm.flow(limit)
  local lost, units, start, since = 0, kept + due + cost, NEVER, kept + cost
  level = level + due
  local before = { from = 0, fits = limit.algorithm.place(limit, units), level = level, lost = lost }
  local spots, rooms = { before }, {}
  for i = 1, #places do
    local time, own = time_of(places[i]) - now, places[i].out
    local drained = (time - spots[i].from) * per_us
    if drained > level + ROUNDING * per_us then
      lost, start, since = lost + (drained - level), time, kept + cost
    end
    level = max(level - drained, 0)
    rooms[i] = most - kept - level - own + lost
    level, units, since = level + own, units + own, since + own
    local fits = start == NEVER and limit.algorithm.place(limit, units) or start + ceil(max(since - most, 0) / per_us)
    spots[i + 1] = { from = time, fits = fits, level = level, lost = lost }
  end
  return spots, rooms
end

local function time_in_level(limit, places, cost, due, kept, from)
  local _, most, per_us = limit.algorithm.flow(limit)
  if kept + cost > most then return NEVER end
  local spots, rooms = spots_of(limit, places, cost, due, kept)
  local spare, found, room = ROUNDING * per_us, NEVER, math.huge
  for i = #places + 1, 1, -1 do
    local spot, ends = spots[i], places[i] and time_of(places[i]) - now or math.huge
    local time = max(spot.fits, spot.from, from)
    local lost = spot.lost + max((time - spot.from) * per_us - spot.level, 0)
    if time <= ends and room >= cost + lost - spare then found = time end
    room = min(room, rooms[i - 1] or math.huge)
  end
  return found
end
