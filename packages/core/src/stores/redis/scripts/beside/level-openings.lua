-- Places of limits whose units drain together. The twin of stores/memory/beside/level-openings.ts: change both.
-- A bucket rounds its level at every write, so a place's time may seem to be this late, in µs.
local ROUNDING = 2

-- The spots in line: the first is before all places, and each other one is after a place. There is a list for each of a spot's
-- numbers, since tables cost more: when it begins; the level from then on; what was lost before because the level had run dry;
-- when it last stopped being dry, or NEVER; the units from then on, or from now on, with the cost; and for how much more the
-- places after it have room, together with what was lost.
local function spots_of(groups, limit, beside, cost)
  local level, most, per_us = limit.algorithm.flow(limit)
  local coming, to_come = coming_of(groups, beside)
  local kept, spare = beside.kept, ROUNDING * per_us
  local due = beside.held - kept - to_come
  local lost, since, units, from, n = 0, NEVER, kept + due + cost, 0, 1
  level = level + due
  local froms, levels, losts, sinces, sums, rooms = { 0 }, { level }, { 0 }, { NEVER }, { units }, {}
  for i = 1, #coming, 2 do
    local time, own = coming[i], coming[i + 1]
    level, from = level - (time - from) * per_us, time
    if level < 0 then
      if level < -spare then lost, since, units = lost - level, time, kept + cost end
      level = 0
    end
    rooms[n] = most - kept - level - own + lost
    level, units, n = level + own, units + own, n + 1
    froms[n], levels[n], losts[n], sinces[n], sums[n] = time, level, lost, since, units
  end
  rooms[n] = math.huge
  for i = n - 1, 1, -1 do
    if rooms[i + 1] < rooms[i] then rooms[i] = rooms[i + 1] end
  end
  return { count = n, from = froms, level = levels, lost = losts, since = sinces, units = sums, room = rooms }
end

-- What tells the first spot from a time on.
local function in_spots(limit, spots, cost)
  local _, most, per_us = limit.algorithm.flow(limit)
  local spare, n = ROUNDING * per_us, 1
  return function(us)
    while n <= spots.count do
      local from, till, room = spots.from[n], spots.from[n + 1] or math.huge, spots.room[n] - cost + spare
      if till >= us and room >= spots.lost[n] then
        local fits, units = spots.since[n], spots.units[n]
        if fits == NEVER then
          fits = limit.algorithm.place(limit, units)
        else
          fits = fits + ceil(max(units - most, 0) / per_us)
        end
        local time = max(fits, from, us)
        local lost = spots.lost[n] + max((time - from) * per_us - spots.level[n], 0)
        if time <= till and room >= lost then return time end
      end
      n = n + 1
    end
    return NEVER
  end
end

local function opening_in_level(groups, limit, beside, cost)
  local level, most, per_us = limit.algorithm.flow(limit)
  local last, spare, find_in_spots = beside.last, ROUNDING * per_us, nil
  if beside.kept + cost > most then return any_from(NEVER) end
  local ends = limit.algorithm.place(limit, beside.held + cost)
  if last <= 0 or level + beside.held - last * per_us >= most - spare then return any_from(ends) end
  local sure = max(ends, last + ceil(cost / per_us))
  return {
    least = 0,
    from = function(us)
      if us >= sure then return us end
      find_in_spots = find_in_spots or in_spots(limit, spots_of(groups, limit, beside, cost), cost)
      return find_in_spots(us)
    end,
  }
end
