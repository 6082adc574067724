-- Lines of places: groups whose rows have their own times. The twin of stores/memory/beside/place-line.ts: change both.
local function is_place(group)
  return group.lag >= PLACE and group.lag < RESERVED
end

-- The text with a group's rows, and where they begin in it.
local function rows_of(groups, group)
  if group.leases then return group.leases, 1 end
  return groups.value, group.from
end

local function count_rows(group)
  return (group.leases and #group.leases or group.to - group.from + 1) / group.size
end

-- When the time of a line's nth place comes, and its units.
local function place_at(groups, group, n)
  local rows, from = rows_of(groups, group)
  local time, _, out = unpack_bytes(PLACE_FORMAT, rows, from + PLACE_ROW * (n - 1))
  return group.base + time, out
end

-- How many of a line's places have their time by then.
local function places_until(groups, group, time)
  local from, to = 0, count_rows(group)
  while from < to do
    local middle = floor((from + to) / 2)
    if place_at(groups, group, middle + 1) <= time then from = middle + 1 else to = middle end
  end
  return from
end

-- Replaces the rows of a line and the units they hold, and forgets what openings.lua had read of the old rows.
local function set_places(groups, group, rows, out)
  group.leases, group.out, group.coming = rows, out, nil
  if rows == '' then return end
  local ends = place_at(groups, group, #rows / PLACE_ROW) + group.lag - PLACE
  group.ends, group.expires = ends, group.expires + ends - group.ends
end

-- Parts a line into one of the places that have ended, and one of the others; each can be nil. Notes what has ended.
local function part_line(groups, group, ended)
  local slack, count, parted, out = group.lag - PLACE, count_rows(group), 0, 0
  while parted < count do
    local time, units = place_at(groups, group, parted + 1)
    if time + slack > now then break end
    local before = parted > 0 and ended[#ended]
    if before and before.entry == time + slack then
      before.units = before.units + units
    else
      ended[#ended + 1] = { group = group, entry = time + slack, units = units, slack = slack, order = #ended }
    end
    parted, out = parted + 1, out + units
  end
  if parted == 0 then return nil, group end
  if parted == count then return group end
  local from, ends = group.from + PLACE_ROW * parted, ended[#ended].entry
  local living = {
    ends = group.ends, lag = group.lag, expires = group.expires, out = group.out - out, ids = group.ids,
    base = group.base, size = PLACE_ROW, from = from, to = group.to, is_changed = true,
  }
  group.to, group.out, group.is_changed = from - 1, out, true
  group.ends, group.expires = ends, group.expires + ends - group.ends
  return group, living
end

-- Adds the places of a line to a list.
local function add_places(groups, line, list)
  for n = 1, count_rows(line) do
    local rows, from = rows_of(groups, line)
    local time, id, out, told = unpack_bytes(PLACE_FORMAT, rows, from + PLACE_ROW * (n - 1))
    list[#list + 1] = { time = line.base + time, id = id, out = out, told = told }
  end
end

-- Puts the places of another line into a line, in the order of their times.
local function join_lines(groups, line, other)
  local places, rows = {}, {}
  add_places(groups, line, places)
  add_places(groups, other, places)
  table.sort(places, function(a, b) return a.time < b.time end)
  local counts_for = max(line.expires - line.ends, other.expires - other.ends)
  line.base = min(line.base, other.base)
  for n = 1, #places do
    local place = places[n]
    rows[n] = pack_bytes(PLACE_FORMAT, place.time - line.base, place.id, place.out, place.told)
  end
  set_places(groups, line, concat(rows), line.out + other.out)
  line.expires = line.ends + counts_for
end
