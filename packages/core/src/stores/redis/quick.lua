--[[
  The quick way, for what is common: each key of a run has no value, or one of exactly the set's parts, and the cost
  fits. What is not so is left to the general way, which decides the same. The keys are read at once.

  `quick` gets the name of an algorithm and the parameters of a limit; the build makes it of the algorithms' parts. It
  returns the packing of the state, its size in bytes, whether its length varies, and a function that does for one limit
  what `load`, `wait`, `take`, `left`, `save` and `lifetime` do one after another. That takes the cost, the time of the
  last write (nil without a value), the numbers of the state, and, where the length varies, a text and where the entries
  begin in it. It returns remaining, reset, how long the new state counts in µs, its numbers, and its entries; or nil if
  the cost does not fit, or the state is not a common one.
]]

-- Makes a set of limits for the quick way; false if one of them has none.
local function make_quick_set(lists, ttl)
  local set = { ttl = ttl, packing = HEADER_FORMAT, size = HEADER, numbers = 3 }
  for i = 1, #lists do
    local packing, size, varies, take_quickly = quick(unpack(lists[i]))
    -- Where a length varies, it is not known beforehand where the next part begins.
    if not take_quickly or varies and #lists > 1 then return false end
    set[i] = { take = take_quickly, id = lists[i][2], at = set.numbers + 1, count = #packing / 2 }
    set.packing, set.size = set.packing .. 'I4' .. packing, set.size + STATE_ID + size
    set.numbers, set.varies = set.numbers + 1 + #packing / 2, varies
  end
  set.new_end = min(floor((now + tonumber(ttl) * 1000) / 1000000), LAST_END)
  return set
end

-- Returns false if there was no value and the key cannot be made: then it holds another type, which MGET does not tell.
local function write_quickly(set, key, value, old, keep)
  if keep and #value == #old then
    call('SETRANGE', key, '0', value)
    return true
  elseif old then
    write(key, value, old, keep, set.ttl)
    return true
  end
  return call('SET', key, value, 'PX', set.ttl, 'NX')
end

-- Where the next key of a run is, and how many of its requests are still to be decided.
local run_at, run_left

local function leave_to_general(index, cost, times)
  general = general or make_general()
  general.decide_in_turn(index, KEYS[request + run_at], cost, run_left)
  run_at = run_at + 1
  run_left = times and times[run_at] or 1
end

-- Takes from the keys of a run as long as that can be done quickly. Stops at a request that cannot.
local function take_one(set, cost, count, times, values)
  local keys, before, limit = KEYS, request, set[1]
  local take_quickly, id, packing, length, varies, ttl = limit.take, limit.id, set.packing, set.size, set.varies, set.ttl
  local head = length + 1
  for i = run_at, count do
    local key, value, ends = keys[before + i], values[i], 0
    local remaining, reset, needed, d, e, f, log
    if not value then
      remaining, reset, needed, d, e, f, log = take_quickly(cost)
    elseif #value == length or varies and #value > length then
      local found_format, last, found, a, b, c
      found_format, last, ends, found, a, b, c = unpack_bytes(packing, value)
      if found == id and found_format == FORMAT then
        remaining, reset, needed, d, e, f, log = take_quickly(cost, last, a, b, c, value, head)
      end
    end
    if not remaining then return end
    reply[size + 1], reply[size + 2] = remaining, reset
    local told, taken = size + 2, 1
    if times then
      local a, b, c, tail, lifetime = d, e, f, log, needed
      while taken < run_left do
        remaining, reset, lifetime, a, b, c, tail = take_quickly(cost, now, d, e, f, log, 1)
        if not remaining then break end
        reply[told + 1], reply[told + 2] = remaining, reset
        told, taken, needed, d, e, f, log = told + 2, taken + 1, lifetime, a, b, c, tail
      end
    end
    local keep = value and ends * 1000000 >= now + needed
    local saved = pack_bytes(packing, FORMAT, now, keep and ends or set.new_end, id, d, e, f)
    if not write_quickly(set, key, log and saved .. log or saved, value, keep) then return end
    size = told
    if taken < run_left then
      run_left = run_left - taken
      return
    end
    run_at = i + 1
    if times then run_left = times[run_at] or 1 end
  end
end

-- The same for a set of several limits, all of which have the cost taken, or none.
local function take_several(set, cost, count, times, values)
  local keys, before, packing, length, numbers, limits = KEYS, request, set.packing, set.size, set.numbers, #set
  for i = run_at, count do
    local value, state, last, ends = values[i], nil, nil, 0
    if not value then
      state = { FORMAT, now, 0 }
    elseif #value == length then
      state = { unpack_bytes(packing, value) }
      last, ends = state[2], state[3]
    end
    if not state or state[1] ~= FORMAT then return end
    local taken, told, keep, saved = 0, size, nil, nil
    while taken < run_left do
      local fits, needed = told, 0
      for j = 1, limits do
        local limit = set[j]
        local at, counted = limit.at, limit.count
        if last and state[at] ~= limit.id then return end
        local remaining, reset, lifetime, a, b, c = limit.take(cost, last, state[at + 1], state[at + 2], state[at + 3])
        fits = remaining and fits
        if not fits then break end
        reply[fits + 1], reply[fits + 2] = remaining, reset
        fits, state[at], state[at + 1] = fits + 2, limit.id, a
        if counted > 1 then state[at + 2] = b end
        if counted > 2 then state[at + 3] = c end
        if lifetime > needed then needed = lifetime end
      end
      if not fits then break end
      keep = value and ends * 1000000 >= now + needed
      state[2], state[3] = now, keep and ends or set.new_end
      saved = pack_bytes(packing, unpack(state, 1, numbers))
      taken, told, last = taken + 1, fits, now
    end
    if taken == 0 or not write_quickly(set, keys[before + i], saved, value, keep) then return end
    size, run_left = told, run_left - taken
    if run_left > 0 then return end
    run_at, run_left = i + 1, times and times[i + 1] or 1
  end
end

-- Decides a run: what cannot be done quickly is done in the general way.
local function decide_run(index, cost, count, times)
  local set = quick_sets[index]
  if set == nil then
    set = ARGV[2] == 'take' and make_quick_set(described[index][1], described[index][2])
    quick_sets[index] = set
  end
  run_at, run_left = 1, times and times[1] or 1
  local values = set and call('MGET', unpack(KEYS, request + 1, request + count))
  while run_at <= count do
    -- Where Redis refuses to write, the general way tells why.
    if values and not pcall(#set == 1 and take_one or take_several, set, cost, count, times, values) then
      values = nil
    end
    if run_at <= count then leave_to_general(index, cost, times) end
  end
end
