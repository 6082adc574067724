-- Decides one request of one key, for all limits of a set: `value` is the key's value, written at `last`. Tells the
-- answer behind the `told` answers before. Returns how many answers that makes, the parts of the new value, and how
-- long they count in µs. Without parts, the cost does not fit. Nil if that cannot be decided quickly.
local function take_parts(set, cost, value, last, told)
  local at, parts, needed = HEADER + 1, '', 0
  for i = 1, #set do
    local limit = set[i]
    local found, a, b, c, head
    if value then
      head = at + limit.size
      if head > #value + 1 then return nil end
      found, a, b, c = unpack_bytes(limit.packing, value, at)
      at = head + b * limit.entry
      if found ~= limit.id or at > #value + 1 then return nil end
    end
    local remaining, reset, lifetime, d, e, f, log, time, units = limit.take(cost, last, a, b, c, value, head)
    if not remaining then return nil end
    reply[told + 1], reply[told + 2], told = remaining, reset, told + 2
    if remaining < 0 then
      -- Of several limits, the others tell of what they have without the cost.
      if #set > 1 or at <= #value or last > now + CLOCK_WENT_BACK then return nil end
      reply[told + 1] = lifetime
      return told + 1
    end
    parts = parts .. pack_bytes('>' .. limit.whole_packing, limit.id, d, e, f, log, time, units)
    if lifetime > needed then needed = lifetime end
  end
  if value and at <= #value then return nil end
  return told, parts, needed
end

-- Decides a run of several limits, or of several requests a key. Stops at a request that cannot be decided quickly.
local function take_in_turn(set, cost, count, values, times)
  for i = run_at, count do
    local old, told, taken, keep = values[i], size, 0, false
    local value, found_format, last, ends = old, nil, nil, 0
    if old then
      if #old < set.size then return end
      found_format, last, ends = unpack_bytes(HEADER_FORMAT, old)
      if found_format ~= FORMAT then return end
    end
    while taken < run_left do
      local next, parts, needed = take_parts(set, cost, value, last, told)
      if not next then break end
      told, taken = next, taken + 1
      if parts then
        keep = ends * 1000000 >= now + needed
        value = pack_bytes(HEADER_FORMAT, FORMAT, now, keep and ends or set.new_end) .. parts
        last = now
      else
        -- The first denial holds for all that follow.
        taken = run_left
      end
    end
    if taken == 0 or value ~= old and not write_quickly(set, KEYS[request + i], value, old, keep) then return end
    size, run_left = told, run_left - taken
    if run_left > 0 then return end
    run_at, run_left = i + 1, times and times[i + 1] or 1
  end
end
