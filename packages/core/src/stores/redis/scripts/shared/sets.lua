--[[
  Limit sets. The build puts two things before this file. `make` makes an algorithm by its name, on request with what counts
  earlier units: force, enter and counts_for. NAMES lists the names.

  The sets come as one JSON list, since one argument is cheaper than many on both sides. A set is [limits, time to live in ms
  as text]. A limit is [its algorithm's name, the id under which its state is kept, parameters ...].

  That id is the state id, 32 bits: 1 bit for what is watched, 3 bits algorithm code, then the window: 2 bits unit (ms, s, min) and
  26 bits length. A calendar window has 28 bits hash instead. A bucket beside a slower one of the same window has another id: the
  same first 4 bits, 2 bits with the value 3, and 26 bits hash. A set with such buckets has a third member: the state ids of all its limits.

  A set whose denials can block has a fourth member: how many, within how many µs, and a list of how long blocks last, in µs. A set
  with limits that deny nothing has a fifth: their positions, from 1 if they observe, and negative if they have overage. A set of a subject
  with a billing day has a sixth: the positions of the limits that begin on it. Members in between can be false.
]]
-- How a stored value's parts compare with a set. PLAIN: exactly the set's parts, in order. OTHERS_BEHIND: the same, followed by
-- other parts. MIXED: anything else.
local PLAIN, OTHERS_BEHIND, MIXED = 0, 1, 2

local algorithms = {}
-- The highest bit of a state id: its limit is watched.
local WATCHED = 2 ^ 31

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

-- Makes the limit at a position of a set. Returns nil if its calendar does not cover now.
local function make_limit(set, i, list, with_force)
  local name, id, a, b, c, d, e, f, g, h, k = unpack(list)
  local limit = (algorithms[name] or algorithm_of(name, with_force)).prepare(a, b, c, d, e, f, g, h, k)
  if not limit then
    set.is_outside, limit = true, {}
  end
  local state_ids, other_id = set.described[3], limit.other_id
  limit.id, limit.state_id, set[i] = id, state_ids and state_ids[i] or id, limit
  -- What is watched is kept apart under both ids.
  if other_id then limit.other_id = other_id + (id >= WATCHED and WATCHED or 0) end
  if limit.algorithm and limit.algorithm.in_flight then set.in_flight = i end
end

local function mark_lenient(set)
  for i = 1, set.lenient and #set.lenient or 0 do
    local at = set.lenient[i]
    if at > 0 then set[at].observes = true else set[-at].overage, set.counts_overage = true, true end
  end
end

-- Reads when windows begin: for each key and limit with a billing day four numbers to the base 36. The first start, then the
-- lengths of three windows, in minutes, or with a dash in front in ms.
local function billing_days(text)
  local days = {}
  for key in string.gmatch(text, '[^;]+') do
    local numbers = {}
    for dash, number in string.gmatch(key, '(%-?)(%w+)') do
      local us = tonumber(number, 36) * (dash == '' and 60000000 or 1000)
      numbers[#numbers + 1] = #numbers % 4 > 0 and numbers[#numbers] + us or us
    end
    days[#days + 1] = numbers
  end
  return days
end

-- Gives a set the billing day of another subject. Without one, its own day again.
local function set_billing_day(set, numbers)
  local positions, lists = set.described[6], set.described[1]
  for n = 1, #positions do
    local at = positions[n]
    local list = { unpack(lists[at]) }
    for i = 1, numbers and 4 or 0 do
      list[3 + i] = numbers[4 * n - 4 + i]
    end
    make_limit(set, at, list)
  end
  mark_lenient(set)
  set.is_outside = false
  for i = 1, #set do
    set.is_outside = set.is_outside or not set[i].algorithm
  end
end

-- Makes a set, which is used for one subject after another. `is_outside`: one of its calendars does not cover now.
local function make_set(described, with_force)
  local lists, ttl = described[1], described[2]
  local set = {
    described = described, ttl = ttl, lifetime = tonumber(ttl) * 1000, is_outside = false,
    value = false, ends = 0, layout = PLAIN, missing = 0, written = 0, leases = false, before = false, has_own_end = false,
    record = false, record_size = 0, record_ends = 0, blocked_for = 0, behind = 0, in_flight = nil, block_after = nil,
    open_until = 0, account = false, account_size = 0, account_ends = 0, has_account = false, known = nil,
    lenient = described[5],
  }
  local rules = described[4]
  if rules then set.block_after = { denials = rules[1], within = rules[2], lengths = rules[3] } end
  for i = 1, #lists do
    make_limit(set, i, lists[i], with_force)
  end
  mark_lenient(set)
  return set
end

local function make_sets(described, with_force)
  local sets = {}
  for i = 1, #described do
    sets[i] = make_set(described[i], with_force)
  end
  return sets
end
