-- The time of the entry up to which `excess` units have come back; nil if the log is damaged.
local function time_when_back(excess, value, head, tail, entry, packing)
  for at = head, tail - 1, entry do
    local time, units = unpack_bytes(packing, value, at)
    excess = excess - units
    if excess <= 0 then return time end
  end
  return nil
end

-- A damaged log, or one with more units than the quota, is left to the general way.
local function quickly(quota, window, slot, bytes, entry, entry_packing)
  local modulus, packing = 256 ^ (entry - bytes), '>' .. entry_packing
  local clock, slot_began = now % modulus, now - fmod(now, slot)
  return function(cost, last, total, entries, width, value, head)
    if not last then last, total, entries, width, value, head = now, 0, 0, bytes, '', 1 end
    local tail, elapsed, oldest = head + entries * entry, now - last, false
    if width ~= bytes or elapsed < 0 then return nil end
    if elapsed >= window then total, entries, head = 0, 0, tail end
    last = last % modulus
    while head < tail do
      local time, units = unpack_bytes(packing, value, head)
      local age = (last - time) % modulus + elapsed
      oldest = age < window and age
      if oldest then break end
      total, entries, head = total - units, entries - 1, head + entry
    end
    if total < 0 or total > 0 and head == tail then return nil end
    local remaining, added = quota - total - cost, cost
    if remaining < 0 then
      if cost > quota or total > quota then return nil end
      local time = time_when_back(-remaining, value, head, tail, entry, packing)
      if not time then return nil end
      return -1 - quota + total, window - (clock - time) % modulus, window - oldest
    end
    if head < tail and (slot > 1 or elapsed == 0) then
      local time, units = unpack_bytes(packing, value, tail - entry)
      if now - (clock - time) % modulus >= slot_began then
        tail, added, entries = tail - entry, units + cost, entries - 1
        if tail == head then oldest = false end
      end
    end
    local log = head < tail and sub(value, head, tail - 1) or ''
    return remaining, window - (oldest or 0), window, total + cost, entries + 1, bytes, log, clock, added
  end
end

-- For a log with counts of the width that its quota needs, which was not written after now. `head`: where the entries
-- begin in `value`.
function sliding_log.quick(quota, window, slot, bytes)
  local time_bytes = window < 2 ^ 32 and 4 or window < 2 ^ 40 and 5 or 6
  -- Taken from a text, since converting a number to text costs as much as everything else here.
  local packings = 'I1I2I3I4I5I6'
  local packing = sub(packings, 2 * time_bytes - 1, 2 * time_bytes) .. sub(packings, 2 * bytes - 1, 2 * bytes)
  return quickly(quota, window, slot, bytes, time_bytes + bytes, packing), time_bytes + bytes, packing
end
