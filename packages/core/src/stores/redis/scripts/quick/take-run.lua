-- Decides a run's keys from `nth` on. Stops at a request that cannot be decided quickly.
for i = nth, count do
  local old, told, due, keep = values[i], size, left, true
  local value, ends, last = old, 0, nil
  if numbers then held, known = numbers[3 * i - 2], numbers[3 * i - 1] end
  while due > 0 do
    local found_format, found, a, b, c, fourth, from
    if value then
      if #value < head - 1 then break end
      found_format, last, ends, found, a, b, c, fourth = unpack_bytes(packing, value)
      from = entry and head + b * entry or #value + 1
      if found ~= id or found_format ~= FORMAT or from > #value + 1 then break end
    end
    local remaining, reset, needed, d, e, f, tail, g, h, j, k = take_quickly(cost, last, a, b, c, value, head, fourth)
    if not remaining then break end
    reply[told + 1], reply[told + 2] = remaining, reset
    if remaining < 0 then
      -- With several limits, the general way reports what the others have left without the cost. It also counts denials.
      if limit_count > 1 or blocks or from <= #value or last > now + CLOCK_WENT_BACK then break end
      -- The first denial answers all requests after it.
      reply[told + 3], told, due = needed, told + 3, 0
      break
    end
    local next, behind = told + 2, nil
    for n = 2, limit_count do
      local limit = set[n]
      local found, a, b, c, fourth, head
      remaining = nil
      if value then
        head = from + limit.size
        if head > #value + 1 then break end
        found, a, b, c, fourth = unpack_bytes(limit.packing, value, from)
        local entry = limit.entry
        from = entry and head + b * entry or #value + 1
        if found ~= limit.id or from > #value + 1 then break end
      end
      local d, e, f, lifetime, tail, g, h, j, k
      remaining, reset, lifetime, d, e, f, tail, g, h, j, k = limit.take(cost, last, a, b, c, value, head, fourth)
      if not remaining or remaining < 0 then break end
      reply[next + 1], reply[next + 2], next = remaining, reset, next + 2
      local part = pack_bytes(limit.whole_packing, limit.id, d, e, f, tail, g, h, j, k)
      behind = behind and behind .. part or part
      if lifetime > needed then needed = lifetime end
    end
    if not remaining or remaining < 0 or value and from <= #value then break end
    told, due, keep = next, due - 1, keep and ends * 1000000 >= now + needed
    value = pack_bytes(whole_packing, FORMAT, now, keep and ends or new_end, id, d, e, f, tail, g, h, j, k)
    if behind then value = value .. behind end
  end
  if due == left then break end
  if value ~= old then
    local key = keys[request + i]
    -- @include quick/write.lua
    if not is_written then break end
  end
  size, left = told, due
  if due > 0 then break end
  nth, left = i + 1, times and times[i + 1] or numbers and numbers[3 * i + 3] or 1
end
