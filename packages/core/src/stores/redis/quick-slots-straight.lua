-- Gives slots to a run of one limit before the requests in flight, of holders that took the last slot of each key, too:
-- one straight loop, which stops at a request that cannot be decided so.
local function take_slots(set, cost, numbers, values)
  local limit, told, now = set[1], size, now
  local take_quickly, id, slots_id, entry, length = limit.take, limit.id, set.slots_id, limit.entry, set.size
  local packing, first_packing, slots_packing, head = set.straight_packing, set.packing, set.slots_packing, set.size + 1
  local new_end, quota, own_ends = set.new_end, set.quota, now / 1000
  own_ends = own_ends - own_ends % 1 + KEPT_MS
  for i = run_at, #numbers / 3 do
    local value = values[i]
    if not value or #value < length + SLOTS + ROW or numbers[3 * i] ~= 1 then return end
    local found_format, last, ends, found, a, b, c, found_slots, rows, total, soonest
    local from = length
    if entry > 0 then
      found_format, last, ends, found, a, b, c = unpack_bytes(first_packing, value)
      from = length + b * entry
      if #value < from + SLOTS + ROW then return end
      found_slots, rows, total, soonest = unpack_bytes(SLOTS_FORMAT, value, from + 1)
    else
      found_format, last, ends, found, a, b, c, found_slots, rows, total, soonest = unpack_bytes(packing, value)
    end
    local row = #value - ROW
    if found ~= id or found_slots ~= slots_id or found_format ~= FORMAT or row ~= from + SLOTS + (rows - 1) * ROW
      or last > now or soonest * 1000 <= now or sub(value, row + 1, row + 6) ~= holder then return end
    local own, number = unpack_bytes('>I3I6', value, row + 7)
    local told_held, told_number = numbers[3 * i - 2], numbers[3 * i - 1]
    total = total - own
    own = number > told_number and told_held + number - told_number or told_held
    total = total + own + 1
    if total > quota then return end
    local remaining, reset, needed, d, e, f, log, time, units = take_quickly(cost, last, a, b, c, value, head)
    if not remaining or remaining < 0 then return end
    number = (number > told_number and number or told_number) + 1
    if needed < KEPT then needed = KEPT end
    if rows == 1 or own_ends < soonest then soonest = own_ends end
    local keep = ends * 1000000 >= now + needed
    ends = keep and ends or new_end
    local others, saved = sub(value, from + SLOTS + 1, row), nil
    if entry > 0 then
      saved = pack_bytes(slots_packing, FORMAT, now, ends, id, d, e, f, log, time, units,
        slots_id, rows, total, soonest, others, holder, own + 1, number, own_ends)
    else
      saved = pack_bytes(slots_packing, FORMAT, now, ends, id, d, e or 0, f or 0,
        slots_id, rows, total, soonest, others, holder, own + 1, number, own_ends)
    end
    if not write_quickly(set, KEYS[request + i], saved, value, keep) then return end
    reply[told + 1], reply[told + 2], reply[told + 3], reply[told + 4] = remaining, reset, quota - total, number
    told, run_at = told + 4, i + 1
    size = told
  end
end
