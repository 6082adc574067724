--[[
  The quick way, for what is common: each key of a run has no value, or one of exactly the set's parts, and the cost
  fits. What is not so is left to the general way, which decides the same. The keys are read at once.

  The algorithm's `quick` gets the parameters of a limit, and returns a function that does for one limit what `load`,
  `wait`, `take`, `left`, `save` and `lifetime` do one after another. That takes the cost, the time of the last write
  (nil without a value), the numbers of the state, and, with a tail, a text and where the entries begin in it. It
  returns remaining, reset, how long the new state counts in µs, its numbers, and its tail; or nil if the cost does not
  fit, or the state is not a common one.
]]

-- Adds to a set what the quick way needs. Returns false if one of its algorithms has none.
local function prepare_quick(set)
  local lists, packing, numbers = set.described[1], HEADER_FORMAT, 3
  for i = 1, #set do
    local limit = set[i]
    local algorithm = limit.algorithm
    if not algorithm or not algorithm.quick then return false end
    if #set > 1 and algorithm.varies then return false end
    limit.quick = algorithm.quick(unpack(lists[i], 3))
    limit.at, limit.numbers = numbers + 1, #algorithm.format / 2
    numbers, packing = numbers + 1 + limit.numbers, packing .. 'I4' .. algorithm.format
  end
  set.packing, set.numbers, set.size = packing, numbers, struct.size(packing)
  set.new_end = min(floor((now + set.lifetime) / 1000000), LAST_END)
  return true
end

-- Returns false if there was no value and the key cannot be made: then it holds another type, which MGET does not tell.
local function write_quickly(set, key, value, old, keep)
  if old then
    write(key, value, old, keep, set.ttl)
    return true
  end
  return call('SET', key, value, 'PX', set.ttl, 'NX')
end

-- Both of these take the cost from a subject up to `times` times, and tell of each. They return how often it was taken.
local function take_one(set, key, value, cost, times)
  local limit, at = set[1], size
  local quick, packing, id = limit.quick, set.packing, limit.id
  local found_format, last, found, a, b, c, tail
  local ends, head = 0, set.size + 1
  if value then
    if #value < set.size or #value > set.size and not limit.algorithm.varies then return 0 end
    found_format, last, ends, found, a, b, c = unpack_bytes(packing, value)
    if found ~= id or found_format ~= FORMAT then return 0 end
  end
  local remaining, reset, lifetime, d, e, f, log = quick(cost, last, a, b, c, value, head)
  local taken, needed = 0, 0
  while remaining do
    taken = taken + 1
    reply[at + 1], reply[at + 2] = remaining, reset
    at, a, b, c, tail, needed = at + 2, d, e, f, log, lifetime
    if taken == times then break end
    remaining, reset, lifetime, d, e, f, log = quick(cost, now, a, b, c, tail, 1)
  end
  if taken == 0 then return 0 end
  local keep = value and ends * 1000000 >= now + needed
  if not keep then ends = set.new_end end
  local saved = pack_bytes(packing, FORMAT, now, ends, id, a, b, c)
  if tail then saved = saved .. tail end
  if not write_quickly(set, key, saved, value, keep) then return 0 end
  size = at
  return taken
end

local function take_several(set, key, value, cost, times)
  if value and #value ~= set.size then return 0 end
  local state = value and { unpack_bytes(set.packing, value) } or { FORMAT, nil, 0 }
  if state[1] ~= FORMAT then return 0 end
  local last, ends, at, taken, needed, keep, saved = state[2], state[3], size, 0, 0, nil, nil
  while taken < times do
    needed = 0
    local told = at
    for i = 1, #set do
      local limit = set[i]
      local j = limit.at
      if last and state[j] ~= limit.id then return 0 end
      local remaining, reset, lifetime, a, b, c = limit.quick(cost, last, state[j + 1], state[j + 2], state[j + 3])
      if not remaining then
        told = nil
        break
      end
      reply[told + 1], reply[told + 2] = remaining, reset
      told = told + 2
      state[j], state[j + 1] = limit.id, a
      if limit.numbers > 1 then state[j + 2] = b end
      if limit.numbers > 2 then state[j + 3] = c end
      if lifetime > needed then needed = lifetime end
    end
    if not told then break end
    keep = value and ends * 1000000 >= now + needed
    state[2], state[3] = now, keep and ends or set.new_end
    saved = pack_bytes(set.packing, unpack(state, 1, set.numbers))
    at, last, taken = told, now, taken + 1
  end
  if taken == 0 or not write_quickly(set, key, saved, value, keep) then return 0 end
  size = at
  return taken
end
