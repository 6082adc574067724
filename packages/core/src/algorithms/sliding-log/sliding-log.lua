--[[
  sliding_log: every unit is remembered for one window. The twin of sliding-log.ts: change both, law 5 (one truth)
  compares them.

  Params        quota, window in µs, slot in µs, bytes of a count
  State         5 bytes: units in the log; 2 bytes: number of entries; 1 byte: bytes per count; then the entries, oldest
                first, each a time and a count. A time is only its low bytes (in µs), enough to be unique within one
                window. With the time of the last write, they give the age
  Complexity    O(entries that expire), and one copy of the log. Entries that stay are not read
]]
local sliding_log = { code = 5, format = 'I5I2I1', size = 8 }
local DAMAGED = 'FOREIGN the key holds a log that does not add up'

local function time_bytes(window)
  if window < 2 ^ 32 then return 4 end
  if window < 2 ^ 40 then return 5 end
  return 6
end

local function entry_format(time, units)
  return '>I' .. time .. 'I' .. units
end

function sliding_log.prepare(quota, window, slot, bytes)
  local time = time_bytes(window)
  local modulus = 256 ^ time
  return {
    algorithm = sliding_log, id = 0, waits = 0,
    quota = quota, window = window, slot = slot, wanted_bytes = bytes,
    time_bytes = time, modulus = modulus, clock = now % modulus, slot_began = now - fmod(now, slot),
    unit_bytes = bytes, entry = time + bytes, format = entry_format(time, bytes),
    log = '', head = 1, tail = 1, total = 0, entries = 0, oldest = false, added = 0, is_same_us = false,
  }
end

-- Bytes of the entries, which follow the numbers of the state
function sliding_log.tail_size(window, _, entries, unit_bytes)
  return entries * (time_bytes(window) + unit_bytes)
end

-- Packs the same entries again: with counts of another width, or with times shifted because the clock went back.
local function rewritten(limit, log, bytes, shift)
  local old, new, parts = entry_format(limit.time_bytes, bytes), limit.format, {}
  for at = 1, #log, limit.time_bytes + bytes do
    local time, units = unpack_bytes(old, log, at)
    parts[#parts + 1] = pack_bytes(new, (time + shift) % limit.modulus, units)
  end
  return concat(parts)
end

local function set_width(limit, bytes)
  if limit.unit_bytes ~= bytes then
    limit.unit_bytes, limit.entry = bytes, limit.time_bytes + bytes
    limit.format = entry_format(limit.time_bytes, bytes)
  end
end

function sliding_log.start(limit)
  set_width(limit, limit.wanted_bytes)
  limit.log, limit.head, limit.tail, limit.total, limit.entries, limit.oldest = '', 1, 1, 0, 0, false
  limit.added = 0
end

local function drop_expired(limit, last, elapsed)
  local log, modulus, head = limit.log, limit.modulus, limit.head
  local oldest_age = limit.window - elapsed
  last = last % modulus
  limit.oldest = false
  while head < limit.tail do
    local time, units = unpack_bytes(limit.format, log, head)
    local age = (last - time) % modulus
    if age < oldest_age then
      limit.oldest = age + elapsed
      break
    end
    limit.total, limit.entries = limit.total - units, limit.entries - 1
    head = head + limit.entry
  end
  limit.head = head
  if limit.total < 0 or limit.total > 0 and head == limit.tail then error(DAMAGED, 0) end
end

-- Returns where the log ends in the blob, as the position behind it.
function sliding_log.load(limit, last, total, entries, bytes, blob, head)
  local elapsed, tail, width = now > last and now - last or 0, head + entries * (limit.time_bytes + bytes), bytes
  limit.is_same_us = now <= last
  if elapsed >= limit.window then
    sliding_log.start(limit)
    return tail
  end
  if bytes < 1 or bytes > 5 then error(DAMAGED, 0) end

  local stop = tail
  if limit.wanted_bytes > width then width = limit.wanted_bytes end
  limit.added = 0
  if limit.unit_bytes ~= width then set_width(limit, width) end
  if now < last or bytes < width then
    blob = rewritten(limit, sub(blob, head, tail - 1), bytes, min(now - last, 0))
    head, tail, last = 1, #blob + 1, min(last, now)
  end
  limit.log, limit.head, limit.tail, limit.total, limit.entries = blob, head, tail, total, entries
  drop_expired(limit, last, elapsed)
  return stop
end

-- µs until `excess` units have come back
local function until_free(limit, excess)
  for at = limit.head, limit.tail - 1, limit.entry do
    local time, units = unpack_bytes(limit.format, limit.log, at)
    excess = excess - units
    if excess <= 0 then
      return limit.window - (limit.clock - time) % limit.modulus
    end
  end
  return limit.window -- the units are this request's own, so they stay for a whole window
end

function sliding_log.wait(limit, cost)
  local excess = limit.total + cost - limit.quota
  if excess <= 0 then return 0 end
  if cost > limit.quota then return NEVER end
  return until_free(limit, excess)
end

function sliding_log.take(limit, cost)
  limit.total, limit.added = limit.total + cost, cost
  -- With slots of 1 µs, only an entry of the same µs can be merged.
  if limit.head < limit.tail and (limit.slot > 1 or limit.is_same_us) then
    local time, units = unpack_bytes(limit.format, limit.log, limit.tail - limit.entry)
    if now - (limit.clock - time) % limit.modulus >= limit.slot_began then
      limit.tail, limit.added = limit.tail - limit.entry, units + cost
      if limit.tail == limit.head then limit.oldest = false end
      return
    end
  end
  limit.entries = limit.entries + 1
end

function sliding_log.left(limit)
  local total, quota = limit.total, limit.quota
  if total == 0 then return quota, 0 end
  if total > quota then return 0, until_free(limit, total + 1 - quota) end
  return quota - total, limit.window - (limit.oldest or 0)
end

function sliding_log.save(limit)
  return limit.total, limit.entries, limit.unit_bytes
end

-- Joins the log to the packed numbers in one step: each intermediate string would be another copy of the log.
function sliding_log.with_tail(limit, saved)
  local added = limit.added > 0 and pack_bytes(limit.format, limit.clock, limit.added) or ''
  return saved .. sub(limit.log, limit.head, limit.tail - 1) .. added
end

function sliding_log.lifetime(limit)
  return limit.total > 0 and limit.window or 0
end

-- @part quick
-- @include algorithms/sliding-log/sliding-log.quick.lua
-- @part force
-- @include algorithms/sliding-log/sliding-log.force.lua
-- @part refund
-- @include algorithms/sliding-log/sliding-log.refund.lua
