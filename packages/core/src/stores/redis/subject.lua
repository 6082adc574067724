--[[
  What the frames for any requests share: the limit sets, and subjects that have several of them. `make` makes the
  algorithm of a name, one of NAMES; the build puts both before this file.

  Limit sets come as a JSON list, each [limits, time to live in ms as text], each limit [name of its algorithm, mark,
  parameters ...]: one argument costs less than many, on both sides. A mark tells a limit's algorithm and window in
  32 bits: 4 of code, 2 of unit (ms, s, min, h), 26 of length in that unit; of a calendar, a hash of which it is.
]]
local OTHERS, OTHERS_FORMAT = 15, '>I4I7I4'
local MOST_OTHERS = 8
local FOREIGN = 'FOREIGN the key holds a value that is not of this format'
local UNIT_MS = { [0] = 1, 1000, 60000, 3600000 }

-- Of the subject at hand: its value; when its first parts end, also as that stands there; whether those are the parts
-- of the set, in order, and alone; and of how many limits there is no part.
local PLAIN, OTHERS_BEHIND, MIXED = 0, 1, 2
local value, ends, first_byte, low_ends = false, 0, 0, 0
local layout, missing = PLAIN, 0
-- When the parts of the set were written, the latest of them.
local written = 0

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

local by_code

-- Calls `visit` with each part: its mark, where it begins and ends, and the time and the end of what it is among.
local function each_part(visit)
  if not by_code then
    by_code = {}
    for i = 1, #NAMES do
      local kernel = kernels[NAMES[i]] or kernel_of(NAMES[i])
      by_code[kernel.code] = kernel
    end
  end
  local first, last, low = unpack_bytes(HEADER_FORMAT, value)
  local part_ends, at = read_ends(first, last, low), HEADER + 1
  while at <= #value do
    local mark, from = unpack_bytes('>I4', value, at), at
    if mark == 0 then
      mark, last, part_ends = unpack_bytes(OTHERS_FORMAT, value, at)
      at = at + OTHERS
    else
      local kernel = by_code[floor(mark / 2 ^ 28)]
      if not kernel then error(FOREIGN, 0) end
      at = at + MARK + kernel.size
      if kernel.tail_size then
        local window = mark % 2 ^ 26 * UNIT_MS[floor(mark / 2 ^ 26) % 4] * 1000
        at = at + kernel.tail_size(window, unpack_bytes('>' .. kernel.format, value, at - kernel.size))
      end
      visit(mark, from, at - 1, last, part_ends)
    end
  end
end

-- Where the part with this mark stands when it is not where it was looked for, and its time: the plan has changed.
local function find_part(wanted)
  local at, last
  each_part(function(mark, from, _, time)
    if mark == wanted and not at then at, last = from, time end
  end)
  return at, last
end

-- Brings a limit to now from the numbers of its part, which end before `tail`. Returns where the next part begins.
local function load_numbers(limit, tail, last, a, b, c)
  local kernel = limit.kernel
  if last > written then written = last end
  if not kernel.tail_size then
    kernel.load(limit, last, a, b)
    return tail
  end
  return kernel.load(limit, last, a, b, c, value, tail)
end

-- The same from its part, wherever that stands.
local function load_limit(limit, at, last)
  local kernel, size = limit.kernel, MARK + limit.kernel.size
  local found, a, b, c
  if at + size <= #value + 1 then found, a, b, c = unpack_bytes(kernel.packing, value, at) end
  if found ~= limit.mark then
    layout = MIXED
    at, last = find_part(limit.mark)
    if at then
      found, a, b, c = unpack_bytes(kernel.packing, value, at)
      load_numbers(limit, at + size, last, a, b, c)
    else
      missing = missing + 1
      kernel.start(limit)
    end
    return HEADER + 1
  end
  return load_numbers(limit, at + size, last, a, b, c)
end

-- Brings every limit of the set to now, from the value of its subject, or from nothing.
local function load_limits(set, blob)
  value, layout, written = blob, PLAIN, 0
  if not blob then
    ends, missing = 0, #set
    for i = 1, #set do
      set[i].kernel.start(set[i])
    end
    return
  end
  local limit, size = set[1], HEADER + MARK + set[1].kernel.size
  local last, found, a, b, c
  if #blob >= size then
    first_byte, last, low_ends, found, a, b, c = unpack_bytes(limit.kernel.first_packing, blob)
  elseif #blob > HEADER then
    first_byte, last, low_ends = unpack_bytes(HEADER_FORMAT, blob)
  else
    error(FOREIGN, 0)
  end
  if floor(first_byte / 16) ~= FORMAT then error(FOREIGN, 0) end
  local last_s = floor(last / 1000000)
  ends = last_s + (first_byte % 16 * LOW_ENDS + low_ends - last_s) % ENDS

  local at
  if found == limit.mark then
    at = load_numbers(limit, size + 1, last, a, b, c)
  else
    at = load_limit(limit, HEADER + 1, last)
  end
  for i = 2, #set do
    at = load_limit(set[i], at, last)
  end
  if at <= #blob and layout == PLAIN then layout = OTHERS_BEHIND end
end

-- The parts of other plans that still count, as they go behind those of the set, and the last of their ends.
local function pack_others(set)
  local own, kept, count, latest = {}, {}, 0, 0
  local group_last, group_ends
  for i = 1, #set do
    own[set[i].mark] = true
  end
  each_part(function(mark, from, to, last, part_ends)
    -- Ends are rounded down to seconds.
    if own[mark] or (part_ends + 1) * 1000000 <= now then return end
    if last ~= group_last or part_ends ~= group_ends then
      count = count + 1
      group_last, group_ends = last, part_ends
      if count <= MOST_OTHERS then kept[#kept + 1] = pack_bytes(OTHERS_FORMAT, 0, last, part_ends) end
    end
    if count > MOST_OTHERS then return end
    latest = max(latest, part_ends)
    kept[#kept + 1] = sub(value, from, to)
  end)
  return concat(kept), latest
end

local function save_limits(set, key)
  local needed = 0
  for i = 1, #set do
    local lifetime = set[i].kernel.lifetime(set[i])
    if lifetime > needed then needed = lifetime end
  end
  local keep = layout ~= MIXED and ends * 1000000 >= now + needed
  if not keep then
    ends = floor((now + set.lifetime) / 1000000)
    first_byte, low_ends = pack_ends(ends)
  end

  local limit = set[1]
  local saved = pack_bytes(limit.kernel.first_packing, first_byte, now, low_ends, limit.mark, limit.kernel.save(limit))
  if limit.kernel.with_tail then saved = limit.kernel.with_tail(limit, saved) end
  for i = 2, #set do
    limit = set[i]
    saved = saved .. pack_bytes(limit.kernel.packing, limit.mark, limit.kernel.save(limit))
    if limit.kernel.with_tail then saved = limit.kernel.with_tail(limit, saved) end
  end
  local ttl = set.ttl
  if layout ~= PLAIN then
    local others, others_end = pack_others(set)
    saved = saved .. others
    -- As text with all its digits.
    if others_end > ends then ttl = format('%.0f', (others_end + 1) * 1000 - floor(now / 1000)) end
  end
  write(key, saved, value, keep, ttl)
end

local function message(err)
  return type(err) == 'table' and err.err or tostring(err)
end
