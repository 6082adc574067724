--[[
  When a cost can have a place in one limit, in µs from now: before all places that still get their units in time. Units of
  leases and reservations are never waited for. The twin of stores/memory/beside/level-openings.ts and place-line.ts, which
  explain it: change both.

  An opening has `least`, before which there is no place, and `from(us)`: the first place at or after `us`, or NEVER. Each call
  passes a later time.
]]
local function any_from(least)
  return { least = least, from = function(us) return least == NEVER and NEVER or max(least, us) end }
end

-- What is beside a limit. `held`: all units; `kept`: those of leases and reservations; `last`: when the last place comes; and
-- the lines.
local function beside_of(groups, limit)
  local beside = { held = 0, kept = 0, last = -1, lines = {} }
  for i = 1, groups and #groups or 0 do
    local group = groups[i]
    if group.ends > now and find_limit(group.ids, limit) then
      beside.held = beside.held + group.out
      if group.base then
        beside.lines[#beside.lines + 1] = group
        beside.last = max(beside.last, group.ends - (group.lag - PLACE) - now)
      else
        beside.kept = beside.kept + group.out
      end
    end
  end
  return beside
end

-- Rows are read many at once: each call costs as much as reading some of them.
local AT_ONCE = 16
local READ = 'I6I6I6I5I5'
local READ_MANY = '>' .. string.rep(READ, AT_ONCE)

-- The places of a line that are to come: two numbers each, in how many µs it comes, and its units.
local function coming_of_line(groups, line)
  local rows, from = rows_of(groups, line)
  local coming, shift, left = {}, line.base - now, count_rows(line) - places_until(groups, line, now)
  local at = from + PLACE_ROW * (count_rows(line) - left)
  while left > 0 do
    local many = min(left, AT_ONCE)
    local read = { unpack_bytes(many == AT_ONCE and READ_MANY or '>' .. string.rep(READ, many), rows, at) }
    for i = 1, 5 * many, 5 do
      local n = #coming
      coming[n + 1], coming[n + 2] = read[i] + shift, read[i + 3]
    end
    at, left = at + PLACE_ROW * many, left - many
  end
  return coming
end

-- The same of all lines, in the order of their times; and all their units.
local function coming_of(groups, beside)
  local lines, coming, units = beside.lines, nil, 0
  for i = 1, #lines do
    lines[i].coming = lines[i].coming or coming_of_line(groups, lines[i])
  end
  coming = lines[1].coming
  if #lines > 1 then
    local all = {}
    for i = 1, #lines do
      for n = 1, #lines[i].coming, 2 do
        all[#all + 1] = { lines[i].coming[n], lines[i].coming[n + 1] }
      end
    end
    table.sort(all, function(a, b) return a[1] < b[1] end)
    coming = {}
    for n = 1, #all do
      coming[2 * n - 1], coming[2 * n] = all[n][1], all[n][2]
    end
  end
  for n = 2, #coming, 2 do
    units = units + coming[n]
  end
  return coming, units
end

-- @include beside/level-openings.lua

local function is_within(us, most)
  return us ~= NEVER and us <= most
end

local function wait_for(limit, units)
  return behind_short(limit, units, limit.algorithm.wait(limit, units), 0)
end

local function opening_of(groups, limit, cost)
  local algorithm, beside = complete(limit.algorithm), beside_of(groups, limit)
  if algorithm.flow then return opening_in_level(groups, limit, beside, cost) end
  local ends = wait_for(limit, beside.held + cost)
  -- Most often it cannot go before the last place, and so before none.
  if not is_within(ends, beside.last) then return any_from(ends) end
  local coming, to_come = coming_of(groups, beside)
  local left, can_wait, units = algorithm.left_in and algorithm.left_in(limit), {}, beside.held - to_come
  for n = 1, #coming, 2 do
    units = units + coming[n + 1]
    if left then
      can_wait[n] = left(coming[n]) - units >= cost
    else
      can_wait[n] = is_within(wait_for(limit, units + cost), coming[n])
    end
  end
  local n = #coming - 1
  while n > 0 and can_wait[n] do
    units, n = units - coming[n + 1], n - 2
  end
  return any_from(wait_for(limit, units + cost))
end
