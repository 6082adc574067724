-- What is kept of other plans. The latest parts stay as they are, and older ones are merged.

local function units_in(part, value)
  local algorithm = complete(part.algorithm)
  local _, a, b, c = unpack_bytes(algorithm.packing, value, part.from)
  return algorithm.units_in(a, b, c, value, part.from + STATE_ID + algorithm.size)
end

-- A limit's position among those that a group's units will be charged to.
local function find_in(group, part)
  return leasing.find(group.ids, pack_bytes('>I4', part.id), STATE_ID)
end

-- Whether units of a limit are on lease, reserved or in a place: in a group that ends after this time.
local function is_leased(set, part, after)
  for i = 1, set.leases and #set.leases or 0 do
    local group = set.leases[i]
    if group.ends > after and find_in(group, part) then return true end
  end
  return false
end

-- Merges a part with those before it. Units on lease that have ended and wait for its limit go with it.
local function merge(set, merged, part)
  local units, groups = units_in(part, set.value), set.leases
  local last, ends = part.last, part.ends
  for i = groups and #groups or 0, 1, -1 do
    local group = groups[i]
    local at = group.ends <= now and find_in(group, part)
    if at then
      units, last = units + group.out, max(last, group.ends - leasing.lag_of(group))
      ends = max(ends, floor(group.expires / 1000000))
      group.ids, group.is_changed = leasing.without(group.ids, at, STATE_ID), true
      if group.ids == '' then table.remove(groups, i) end
    end
  end
  if units == 0 then return merged end
  if merged then
    units, last, ends = max(units, merged.units), max(last, merged.last), max(ends, merged.ends)
  end
  return { units = min(units, MOST_UNITS), last = last, ends = ends }
end

-- The parts of other plans that still count, and the merged part if there is one.
local function others_of(set)
  local found, own, others, count = parts_of(set.value), {}, {}, 0
  local merged = found.merged and not has_ended(found.merged) and found.merged or nil
  for i = 1, #set do
    own[set[i].id] = true
    if set[i].other_id then own[set[i].other_id] = true end
  end
  -- What was of the set until now may say nothing.
  local function says_something(part, i)
    return i > found.latest or units_in(part, set.value) > 0 or is_leased(set, part, 0)
  end
  for i = 1, #found do
    local part = found[i]
    local in_flight = part.algorithm.in_flight
    if not own[part.id] and not has_ended(part) and says_something(part, i) then
      if not in_flight then count = count + 1 end
      if in_flight or count <= MOST_OTHERS or is_leased(set, part, now) then
        others[#others + 1] = part
      else
        merged = merge(set, merged, part)
      end
    end
  end
  return others, merged
end

-- Packs the parts of other plans, to be put behind those of the set. Also returns when the last of them stops counting.
local function pack_others(set)
  local others, merged = others_of(set)
  local kept, latest, last, ends = {}, 0, nil, nil
  for i = 1, #others do
    local part = others[i]
    if part.last ~= last or part.ends ~= ends then
      last, ends = part.last, part.ends
      kept[#kept + 1] = pack_bytes(OTHERS_FORMAT, 0, last, ends)
    end
    latest = max(latest, ends)
    kept[#kept + 1] = sub(set.value, part.from, part.to)
  end
  if merged then
    latest = max(latest, merged.ends)
    kept[#kept + 1] = pack_bytes(OTHERS_FORMAT, 0, merged.last, merged.ends)
    kept[#kept + 1] = pack_bytes(MERGED_FORMAT, MERGED, merged.units)
  end
  return concat(kept), latest
end
