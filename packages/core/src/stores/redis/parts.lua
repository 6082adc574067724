-- Code for values whose parts are not in the order of the set's limits, because the subject's plan has changed.
local OTHERS, OTHERS_FORMAT = 15, '>I4I7I4'
local UNIT_MS = { [0] = 1, 1000, 60000, 3600000 }
local by_code = {}
for i = 1, #NAMES do
  local algorithm = algorithms[NAMES[i]] or algorithm_of(NAMES[i])
  by_code[algorithm.code] = algorithm
end

-- Calls `visit` for each part with its state id, its first and last byte, and the time of the write and the end of its
-- group. Returns where the units on lease begin, if there are any.
local function each_part(value, visit)
  local _, last, part_ends = unpack_bytes(HEADER_FORMAT, value)
  local at = HEADER + 1
  while at <= #value do
    local id, from = unpack_bytes('>I4', value, at), at
    if id == ON_LEASE then return at end
    if id == 0 then
      id, last, part_ends = unpack_bytes(OTHERS_FORMAT, value, at)
      at = at + OTHERS
    else
      local algorithm = by_code[floor(id / 2 ^ 28)] or error(FOREIGN, 0)
      at = at + STATE_ID + algorithm.size
      if algorithm.tail_size then
        local window = id % 2 ^ 26 * UNIT_MS[floor(id / 2 ^ 26) % 4] * 1000
        at = at + algorithm.tail_size(window, unpack_bytes('>' .. algorithm.format, value, at - algorithm.size))
      end
      visit(id, from, at - 1, last, part_ends)
    end
  end
end

local function find_leases(value)
  return each_part(value, function() end)
end

-- Where the part with this state id begins, and when it was written.
local function find_part(value, wanted)
  local at, last
  each_part(value, function(id, from, _, time)
    if id == wanted and not at then at, last = from, time end
  end)
  return at, last
end

-- Packs the parts of other plans that still count, to be put behind those of the set. Also returns when the last of
-- them stops counting.
local function pack_others(set)
  local own, kept, latest = {}, {}, 0
  local group_last, group_ends
  for i = 1, #set do
    own[set[i].id] = true
  end
  each_part(set.value, function(id, from, to, last, part_ends)
    -- An end was rounded down to whole seconds, so it holds for one second more.
    if own[id] or (part_ends + 1) * 1000000 <= now then return end
    if last ~= group_last or part_ends ~= group_ends then
      group_last, group_ends = last, part_ends
      kept[#kept + 1] = pack_bytes(OTHERS_FORMAT, 0, last, part_ends)
    end
    latest = max(latest, part_ends)
    kept[#kept + 1] = sub(set.value, from, to)
  end)
  return concat(kept), latest
end
