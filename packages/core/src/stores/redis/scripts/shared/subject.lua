--[[
  Loads a subject into a set of limits. A loaded set has the subject's value, its end and layout, how many limits have no part
  in it (`missing`), when the latest of the parts was written, and its `leases` (false if no units are on lease). A limit has
  `leased`: how many of its units are on lease, or nil.
]]

-- Raises the error for a value in another format or from another program. Such a value is never overwritten. Format 1 had its
-- number in the upper half of the first byte.
local function refuse(value)
  local found = string.byte(value) or 0
  if found > 15 and found < 32 then found = 1 end
  if #value <= HEADER or found == 0 or found == FORMAT or found > 15 then error(FOREIGN, 0) end
  error('format ' .. found .. ', this one writes ' .. FORMAT, 0)
end

-- Loads a limit from the numbers of its part, which end before `tail`. Returns where the next part begins.
local function load_numbers(set, limit, tail, last, a, b, c)
  local algorithm = limit.algorithm
  if last > set.written then set.written = last end
  if not algorithm.tail_size then
    algorithm.load(limit, last, a, b)
    return tail
  end
  return algorithm.load(limit, last, a, b, c, set.value, tail)
end

-- Made when first needed: most subjects stay on one plan, and have no units on lease.
local parts, leasing

local function make_parts()
  -- @include shared/parts.lua
  return { find = find_part, load = load_part, load_fullest = load_fullest, find_leases = find_leases, pack_others = pack_others }
end

local function make_leasing()
  -- @include beside/leases.lua
end

-- Loads a limit from its part, which is expected at `at` but can be anywhere. Returns where the next part begins.
local function load_limit(set, limit, at, last)
  local value, algorithm = set.value, limit.algorithm
  local size = STATE_ID + algorithm.size
  local found, a, b, c
  if at + size <= #value + 1 then found, a, b, c = unpack_bytes(algorithm.packing, value, at) end
  if found ~= limit.id then
    set.layout = MIXED
    parts = parts or make_parts()
    parts.load(set, limit)
    return HEADER + 1
  end
  return load_numbers(set, limit, at + size, last, a, b, c)
end

-- Loads every limit of the set from the subject's value; without a value, each limit starts with nothing used.
local function load_limits(set, value)
  set.value, set.ends, set.layout, set.missing, set.written = value, 0, PLAIN, 0, 0
  if set.leases then leasing.clear(set) end
  if not value then
    set.missing = #set
    for i = 1, #set do
      set[i].algorithm.start(set[i])
    end
    return
  end
  local limit, size = set[1], HEADER + STATE_ID + set[1].algorithm.size
  local found_format, last, found, a, b, c
  if #value >= size then
    found_format, last, set.ends, found, a, b, c = unpack_bytes(limit.algorithm.first_packing, value)
  elseif #value > HEADER then
    found_format, last, set.ends = unpack_bytes(HEADER_FORMAT, value)
  end
  if found_format ~= FORMAT then refuse(value) end

  local at
  if found == limit.id then
    at = load_numbers(set, limit, size + 1, last, a, b, c)
  else
    at = load_limit(set, limit, HEADER + 1, last)
  end
  for i = 2, #set do
    at = load_limit(set, set[i], at, last)
  end
  if at > #value then return end
  if set.layout == PLAIN and unpack_bytes('>I4', value, at) ~= ON_LEASE then set.layout = OTHERS_BEHIND end
  if set.layout ~= PLAIN then
    parts = parts or make_parts()
    at = parts.find_leases(value)
    parts.load_fullest(set)
  end
  if at then
    leasing = leasing or make_leasing()
    leasing.load(set, at, last)
  end
end

-- @include shared/save.lua
