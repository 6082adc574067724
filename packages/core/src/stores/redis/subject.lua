--[[
  What both frames share: the limit sets, and a subject's value. `make` makes the algorithm of a name, one of
  NAMES; the build puts both before this file.

  Limit sets come as a JSON list, each [limits, time to live in ms as text], each limit [name of its algorithm, mark,
  parameters ...]: one argument costs less than many, on both sides. A mark tells a limit's algorithm and window in 32 bits: 4 of code, 2 of unit
  (ms, s, min, h), 26 of length in that unit.

  A subject's value: 1 byte format, 7 bytes time of the last write in µs, 3 bytes when the key expires (low bytes
  of a clock of seconds, read as a time after the last write), then for each limit: 4 bytes mark, and what its
  algorithm keeps: some numbers, and for some a tail. A limit finds its part by the mark, so that a part outlives
  a change of plan.
]]
local FORMAT = 1
local HEADER, HEADER_FORMAT = 11, '>I1I7I3'
local MARK = 4
local FOREIGN = 'FOREIGN the key holds a value that is not of this format'
local EXPIRY_RANGE = 2 ^ 24
local UNIT_MS = { [0] = 1, 1000, 60000, 3600000 }

-- Of the subject at hand: when its key expires, in seconds, and the length of its value; 0 while there is none.
local expires, length = 0, 0

local kernels = {}

local function kernel_of(name)
  local kernel = make(name)
  kernel.packing = '>I4' .. kernel.format
  kernel.first_packing = HEADER_FORMAT .. 'I4' .. kernel.format
  kernels[name] = kernel
  return kernel
end

local function read_sets(json)
  local sets = cjson.decode(json)
  for i = 1, #sets do
    local set, ttl = sets[i][1], sets[i][2]
    set.ttl, set.lifetime, sets[i] = ttl, tonumber(ttl) * 1000, set
    for j = 1, #set do
      local name, mark, a, b, c, d, e = unpack(set[j])
      local kernel = kernels[name] or kernel_of(name)
      set[j] = kernel.prepare(a, b, c, d, e)
      set[j].mark = mark
    end
  end
  return sets
end

-- Where the part with this mark stands when it is not where it was looked for: the plan has changed.
local function search_part(blob, mark)
  local by_code, at = {}, HEADER + 1
  for i = 1, #NAMES do
    local kernel = make(NAMES[i])
    by_code[kernel.code] = kernel
  end
  while at < #blob do
    local found = unpack_bytes('>I4', blob, at)
    if found == mark then return at end
    local kernel = by_code[floor(found / 2 ^ 28)]
    if not kernel then error(FOREIGN, 0) end
    at = at + MARK + kernel.size
    if kernel.tail_size then
      local length = found % 2 ^ 26 * UNIT_MS[floor(found / 2 ^ 26) % 4] * 1000
      at = at + kernel.tail_size(length, unpack_bytes('>' .. kernel.format, blob, at - kernel.size))
    end
  end
end

-- Brings a limit to now from the numbers of its part, which end before `tail`. Returns where the next part begins.
local function load_numbers(limit, blob, tail, last, a, b, c)
  local kernel = limit.kernel
  if not kernel.tail_size then
    kernel.load(limit, last, a, b)
    return tail
  end
  kernel.load(limit, last, a, b, c, blob, tail)
  return tail + kernel.tail_size(limit.window, a, b, c)
end

-- The same from its part, wherever that stands.
local function load_limit(limit, blob, at, last)
  local kernel, size = limit.kernel, MARK + limit.kernel.size
  local found, a, b, c
  if at + size <= #blob + 1 then found, a, b, c = unpack_bytes(kernel.packing, blob, at) end
  if found ~= limit.mark then
    at = search_part(blob, limit.mark)
    if not at then
      kernel.start(limit)
      return HEADER + 1
    end
    found, a, b, c = unpack_bytes(kernel.packing, blob, at)
  end
  return load_numbers(limit, blob, at + size, last, a, b, c)
end

-- Brings every limit of the set to now, from the value of its subject, or from nothing.
local function load_limits(set, blob)
  if not blob then
    expires, length = 0, 0
    for i = 1, #set do
      set[i].kernel.start(set[i])
    end
    return
  end
  length = #blob
  local limit, size = set[1], HEADER + MARK + set[1].kernel.size
  local format, last, until_s, found, a, b, c
  if #blob >= size then
    format, last, until_s, found, a, b, c = unpack_bytes(limit.kernel.first_packing, blob)
  elseif #blob > HEADER then
    format, last, until_s = unpack_bytes(HEADER_FORMAT, blob)
  end
  if format ~= FORMAT then error(FOREIGN, 0) end

  expires = floor(min(last, now) / 1000000) + (until_s - floor(last / 1000000)) % EXPIRY_RANGE
  local at
  if found == limit.mark then
    at = load_numbers(limit, blob, size + 1, last, a, b, c)
  else
    at = load_limit(limit, blob, HEADER + 1, last)
  end
  for i = 2, #set do
    at = load_limit(set[i], blob, at, last)
  end
end

local function save_limits(set, key)
  local needed = 0
  for i = 1, #set do
    local lifetime = set[i].kernel.lifetime(set[i])
    if lifetime > needed then needed = lifetime end
  end
  local keep = expires * 1000000 >= now + needed
  if not keep then expires = floor((now + min(set.lifetime, (EXPIRY_RANGE - 1) * 1000000)) / 1000000) end

  local limit = set[1]
  local value = pack_bytes(limit.kernel.first_packing, FORMAT, now, expires % EXPIRY_RANGE, limit.mark, limit.kernel.save(limit))
  if limit.kernel.save_tail then value = value .. limit.kernel.save_tail(limit) end
  for i = 2, #set do
    limit = set[i]
    value = value .. pack_bytes(limit.kernel.packing, limit.mark, limit.kernel.save(limit))
    if limit.kernel.save_tail then value = value .. limit.kernel.save_tail(limit) end
  end
  -- Setting the time to live anew costs as much as all else about SET, so it is kept where it is long enough; and a
  -- value of the same length is cheapest to write in place.
  if not keep then
    call('SET', key, value, 'PX', set.ttl)
  elseif #value == length then
    call('SETRANGE', key, '0', value)
  else
    call('SET', key, value, 'KEEPTTL')
  end
end

local function message(err)
  return type(err) == 'table' and err.err or tostring(err)
end
