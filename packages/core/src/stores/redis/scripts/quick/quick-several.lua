-- The numbers of a value whose first limit has entries; nothing if it is of another length.
local function unpack_with_entries(set, value)
  if #value < set.size then return end
  local found_format, last, ends, i1, a1, b1, c1 = unpack_bytes(set.first_packing, value)
  local entries = b1 * set[1].entry
  if #value ~= set.size + entries then return end
  return found_format, last, ends, i1, a1, b1, c1, unpack_bytes(set.rest_packing, value, set.head + entries)
end

-- Decides a run of two or three limits, of which only the first may have entries, one request a key, in one straight
-- loop: a loop over the limits would cost a third more.
local function take_several(set, cost, count, values)
  local keys, before, reply, told, now, each = KEYS, request, reply, size, now, 2 * #set
  local packing, length, new_end, first, second, third = set.packing, set.size, set.new_end, set[1], set[2], set[3]
  local id1, id2, id3, whole_packing, head = first.id, second.id, third and third.id, set.whole_packing, set.head
  local take1, take2, take3, has_entries = first.take, second.take, third and third.take, first.entry > 0
  for i = run_at, count do
    local value, ends = values[i], 0
    local found_format, last, i1, a1, b1, c1, i2, a2, b2, c2, i3, a3, b3, c3
    if value then
      if has_entries then
        found_format, last, ends, i1, a1, b1, c1, i2, a2, b2, c2, i3, a3, b3, c3 = unpack_with_entries(set, value)
      elseif #value == length then
        found_format, last, ends, i1, a1, b1, c1, i2, a2, b2, c2, i3, a3, b3, c3 = unpack_bytes(packing, value)
      end
      if i1 ~= id1 or i2 ~= id2 or third and i3 ~= id3 or found_format ~= FORMAT then return end
    end
    local left1, reset1, needed, left2, reset2, other, left3, reset3, longest, log, time, units
    left1, reset1, needed, a1, b1, c1, log, time, units = take1(cost, last, a1, b1, c1, value, head)
    left2, reset2, other, a2, b2, c2 = take2(cost, last, a2, b2, c2)
    if not left1 or not left2 or left1 < 0 or left2 < 0 then return end
    if other > needed then needed = other end
    if third then
      left3, reset3, longest, a3, b3, c3 = take3(cost, last, a3, b3, c3)
      if not left3 or left3 < 0 then return end
      if longest > needed then needed = longest end
    end
    local keep = ends * 1000000 >= now + needed
    ends = keep and ends or new_end
    local saved = has_entries and pack_bytes(whole_packing, FORMAT, now, ends,
      id1, a1, b1, c1, log, time, units, id2, a2, b2 or 0, c2 or 0, id3, a3, b3 or 0, c3 or 0)
      or pack_bytes(packing, FORMAT, now, ends,
      id1, a1, b1 or 0, c1 or 0, id2, a2, b2 or 0, c2 or 0, id3, a3, b3 or 0, c3 or 0)
    if not write_quickly(set, keys[before + i], saved, value, keep) then return end
    reply[told + 1], reply[told + 2], reply[told + 3], reply[told + 4] = left1, reset1, left2, reset2
    if third then
      reply[told + 5], reply[told + 6] = left3, reset3
    end
    run_at, size, told = i + 1, told + each, told + each
  end
end
