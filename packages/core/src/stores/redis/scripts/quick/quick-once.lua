-- Decides a run of one limit, one request a key: one straight loop, which stops at a request that cannot be decided
-- quickly.
local function take_once(set, cost, count, values)
  local keys, before, reply, told, limit = KEYS, request, reply, size, set[1]
  local take_quickly, id, packing, length, entry = limit.take, limit.id, set.packing, set.size, limit.entry
  local head, new_end, now, whole_packing = length + 1, set.new_end, now, HEADER_FORMAT .. limit.whole_packing
  for i = run_at, count do
    local value, ends = values[i], 0
    local found_format, last, found, a, b, c
    if value then
      if #value < length then return end
      found_format, last, ends, found, a, b, c = unpack_bytes(packing, value)
      if found ~= id or found_format ~= FORMAT or #value ~= length + b * entry then return end
    end
    local remaining, reset, needed, d, e, f, log, time, units = take_quickly(cost, last, a, b, c, value, head)
    if not remaining then return end
    if remaining >= 0 then
      local keep = ends * 1000000 >= now + needed
      local saved = pack_bytes(whole_packing, FORMAT, now, keep and ends or new_end, id, d, e, f, log, time, units)
      if not write_quickly(set, keys[before + i], saved, value, keep) then return end
    elseif last > now + CLOCK_WENT_BACK then
      return
    end
    reply[told + 1], reply[told + 2], told = remaining, reset, told + 2
    if remaining < 0 then
      reply[told + 1], told = needed, told + 1
    end
    run_at, size = i + 1, told
  end
end
