-- For a log with counts of the width that its quota needs, which was not written after now. `head`: where the entries
-- begin in `value`.
function sliding_log.quick(quota, window, slot, bytes)
  local time_size = window < 2 ^ 32 and 4 or window < 2 ^ 40 and 5 or 6
  local modulus, entry, packing = 256 ^ time_size, time_size + bytes, '>I' .. time_size .. 'I' .. bytes
  local clock, slot_began = now % modulus, now - fmod(now, slot)
  return function(cost, last, total, entries, width, value, head)
    if not last then
      if cost > quota then return nil end
      return quota - cost, window, window, cost, 1, bytes, pack_bytes(packing, clock, cost)
    end
    local tail, elapsed = head + entries * entry, now - last
    if width ~= bytes or elapsed < 0 or #value ~= tail - 1 then return nil end
    local oldest = false
    if elapsed >= window then total, entries, head = 0, 0, tail end
    last = last % modulus
    while head < tail do
      local time, units = unpack_bytes(packing, value, head)
      local age = (last - time) % modulus + elapsed
      oldest = age < window and age
      if oldest then break end
      total, entries, head = total - units, entries - 1, head + entry
    end
    -- A damaged log is left to the code that refuses it.
    if total < 0 or total > 0 and head == tail then return nil end
    total = total + cost
    if total > quota then return nil end

    local added = cost
    if head < tail and (slot > 1 or elapsed == 0) then
      local time, units = unpack_bytes(packing, value, tail - entry)
      if now - (clock - time) % modulus >= slot_began then
        tail, added, entries = tail - entry, units + cost, entries - 1
        if tail == head then oldest = false end
      end
    end
    local log = pack_bytes(packing, clock, added)
    if head < tail then log = sub(value, head, tail - 1) .. log end
    return quota - total, window - (oldest or 0), window, total, entries + 1, bytes, log
  end
end
