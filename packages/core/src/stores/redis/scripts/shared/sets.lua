--[[
  Limit sets. The build puts two things before this file. `make` makes an algorithm by its name, on request with what counts
  earlier units: force, enter and counts_for. NAMES lists the names.

  The sets come as one JSON list, since one argument is cheaper than many on both sides. A set is [limits, time to live in ms
  as text]. A limit is [its algorithm's name, the id under which its state is kept, parameters ...].

  That id is the state id, 32 bits: 4 bits algorithm code, then the window: 2 bits unit (ms, s, min) and 26 bits length. A
  calendar window has 28 bits hash instead. A bucket beside a slower one of the same window has another id: 4 bits algorithm
  code, 2 bits with the value 3, and 26 bits hash. A set with such buckets has a third member: the state ids of all its limits.
]]
-- How a stored value's parts compare with a set. PLAIN: exactly the set's parts, in order. OTHERS_BEHIND: the same, followed by
-- other parts. MIXED: anything else.
local PLAIN, OTHERS_BEHIND, MIXED = 0, 1, 2

local algorithms = {}

local function algorithm_of(name, with_force)
  local algorithm = make(name, with_force)
  algorithm.packing = '>I4' .. algorithm.format
  algorithm.first_packing = HEADER_FORMAT .. 'I4' .. algorithm.format
  algorithms[name] = algorithm
  return algorithm
end

-- Adds what counts units of earlier, which most runs do not need.
local function complete(algorithm)
  for name, known in pairs(algorithm.force and {} or algorithms) do
    if known == algorithm then
      for member, value in pairs(make(name, true)) do
        algorithm[member] = algorithm[member] or value
      end
    end
  end
  return algorithm
end

-- Makes a set, which is used for one subject after another. `is_outside`: one of its calendars does not cover now.
local function make_set(described, with_force)
  local lists, ttl, state_ids = described[1], described[2], described[3]
  local set = {
    described = described, ttl = ttl, lifetime = tonumber(ttl) * 1000, is_outside = false,
    value = false, ends = 0, layout = PLAIN, missing = 0, written = 0, leases = false, before = false, is_shorter = false,
    in_flight = nil,
  }
  for i = 1, #lists do
    local name, id, a, b, c, d, e = unpack(lists[i])
    local limit = (algorithms[name] or algorithm_of(name, with_force)).prepare(a, b, c, d, e)
    if not limit then
      set.is_outside, limit = true, {}
    end
    limit.id, limit.state_id, set[i] = id, state_ids and state_ids[i] or id, limit
    if limit.algorithm and limit.algorithm.in_flight then set.in_flight = i end
  end
  return set
end

local function make_sets(described, with_force)
  local sets = {}
  for i = 1, #described do
    sets[i] = make_set(described[i], with_force)
  end
  return sets
end
