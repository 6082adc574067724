-- Code for values whose parts are not in the order of the set's limits, because the subject's plan has changed. The twin of
-- stores/memory/other-limits.ts: change both, law 5 (one truth) compares them.
local OTHERS, OTHERS_FORMAT, MERGED, MERGED_FORMAT = 15, '>I4I7I4', 2, '>I4I5'
-- As many parts of other plans are kept; and the most units that are counted of those of before.
local MOST_OTHERS, MOST_UNITS = 64, 2 ^ 40 - 1
local UNIT_MS = { [0] = 1, 1000, 60000, 3600000 }
local by_code = {}
for i = 1, #NAMES do
  local algorithm = algorithms[NAMES[i]] or algorithm_of(NAMES[i])
  by_code[algorithm.code] = algorithm
end

local known = { value = false }

-- The parts of a value in order, each with its algorithm, its state id, its first and last byte, and the time of the
-- write and the end of its group. Also how many of them are of the last write, the merged part, and where the units on
-- lease begin.
local function parts_of(value)
  if known.value == value then return known end
  local _, last, ends = unpack_bytes(HEADER_FORMAT, value)
  local at, found = HEADER + 1, { value = value }
  while at <= #value do
    local id, from = unpack_bytes('>I4', value, at), at
    if id == ON_LEASE then
      found.leases = at
      break
    elseif id == 0 then
      found.latest = found.latest or #found
      id, last, ends = unpack_bytes(OTHERS_FORMAT, value, at)
      at = at + OTHERS
    elseif id == MERGED then
      local units
      id, units, at = unpack_bytes(MERGED_FORMAT, value, at)
      found.merged = { units = units, last = last, ends = ends }
    else
      local algorithm = by_code[floor(id / 2 ^ 28)] or error(FOREIGN, 0)
      at = at + STATE_ID + algorithm.size
      if algorithm.tail_size then
        local window = id % 2 ^ 26 * UNIT_MS[floor(id / 2 ^ 26) % 4] * 1000
        at = at + algorithm.tail_size(window, unpack_bytes('>' .. algorithm.format, value, at - algorithm.size))
      end
      found[#found + 1] = { algorithm = algorithm, id = id, from = from, to = at - 1, last = last, ends = ends }
    end
  end
  found.latest = found.latest or #found
  known = found
  return found
end

local function find_leases(value)
  return parts_of(value).leases
end

-- Where the part with this state id begins, and when it was written.
local function find_part(value, wanted)
  local found = parts_of(value)
  for i = 1, #found do
    if found[i].id == wanted then return found[i].from, found[i].last end
  end
end

-- An end was rounded down to whole seconds, so it holds for one second more.
local function has_ended(part)
  return (part.ends + 1) * 1000000 <= now
end

-- Starts a limit that has no part. It can be one of those that are merged: so it has used as much as any of them, and as
-- late. A client gains nothing by moving among many plans, and may be let in later.
local function start(set, limit)
  local merged, algorithm = parts_of(set.value).merged, limit.algorithm
  if not merged or has_ended(merged) or algorithm.in_flight then return algorithm.start(limit) end
  if merged.last > set.written then set.written = merged.last end
  local a, b, c, tail = complete(algorithm).state_of(limit, merged.units, merged.last)
  algorithm.load(limit, merged.last, a, b, c, tail, 1)
end

-- @include other-parts.lua
