-- Decides a run of two or three limits, of which only the first may have entries, one request a key, in one straight
-- loop: a loop over the limits would cost a third more.
local function take_several(set, cost, count, values)
  local keys, before, reply, told, now = KEYS, request, reply, size, now
  local packing, length, new_end, first, second, third = set.packing, set.size, set.new_end, set[1], set[2], set[3]
  local id1, id2, id3 = first.id, second.id, third and third.id
  local take1, take2, take3 = first.take, second.take, third and third.take
  local entry, head, whole_packing = first.entry, set.head, set.whole_packing
  for i = run_at, count do
    local value, ends = values[i], 0
    local found_format, last, i1, a1, b1, c1, i2, a2, b2, c2, i3, a3, b3, c3
    if value and entry == 0 then
      if #value ~= length then return end
      found_format, last, ends, i1, a1, b1, c1, i2, a2, b2, c2, i3, a3, b3, c3 = unpack_bytes(packing, value)
    elseif value then
      if #value < length then return end
      found_format, last, ends, i1, a1, b1, c1 = unpack_bytes(set.first_packing, value)
      local entries = b1 * entry
      if #value ~= length + entries then return end
      i2, a2, b2, c2, i3, a3, b3, c3 = unpack_bytes(set.rest_packing, value, head + entries)
    end
    if value and (i1 ~= id1 or i2 ~= id2 or third and i3 ~= id3 or found_format ~= FORMAT) then return end
    local left1, reset1, needed, log, time, units, left2, reset2, other, left3, reset3
    left1, reset1, needed, a1, b1, c1, log, time, units = take1(cost, last, a1, b1, c1, value, head)
    if not left1 or left1 < 0 then return end
    left2, reset2, other, a2, b2, c2 = take2(cost, last, a2, b2, c2)
    if not left2 or left2 < 0 then return end
    if other > needed then needed = other end
    if third then
      left3, reset3, other, a3, b3, c3 = take3(cost, last, a3, b3, c3)
      if not left3 or left3 < 0 then return end
      if other > needed then needed = other end
    end
    local keep, saved = ends * 1000000 >= now + needed
    if entry == 0 then
      saved = pack_bytes(packing, FORMAT, now, keep and ends or new_end,
        id1, a1, b1 or 0, c1 or 0, id2, a2, b2 or 0, c2 or 0, id3, a3, b3 or 0, c3 or 0)
    else
      saved = pack_bytes(whole_packing, FORMAT, now, keep and ends or new_end,
        id1, a1, b1, c1, log, time, units, id2, a2, b2 or 0, c2 or 0, id3, a3, b3 or 0, c3 or 0)
    end
    if keep and #saved == #value then
      call('SETRANGE', keys[before + i], '0', saved)
    elseif not write_quickly(set, keys[before + i], saved, value, keep) then
      return
    end
    reply[told + 1], reply[told + 2], reply[told + 3], reply[told + 4], told = left1, reset1, left2, reset2, told + 4
    if third then
      reply[told + 1], reply[told + 2], told = left3, reset3, told + 2
    end
    run_at, size = i + 1, told
  end
end
