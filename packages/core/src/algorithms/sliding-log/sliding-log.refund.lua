-- sliding_log.give: takes units out of the entry that holds them.
local function same_slot(limit, a, b)
  return a - fmod(a, limit.slot) == b - fmod(b, limit.slot)
end

-- The entry that holds units taken at `at`: the oldest one not older than `at`, since merging only raises times.
local function entry_of(limit, at)
  local found, found_time, found_units
  for from = limit.tail - limit.entry, limit.head, -limit.entry do
    local time, units = unpack_bytes(limit.format, limit.log, from)
    time = now - (limit.clock - time) % limit.modulus
    if time < at then break end
    found, found_time, found_units = from, time, units
  end
  return found, found_time, found_units
end

-- Takes units out of the oldest entries. Returns how many there were.
local function remove_oldest(limit, units)
  local from, left, rest = limit.head, units, ''
  while from < limit.tail and left > 0 do
    local time, held = unpack_bytes(limit.format, limit.log, from)
    from = from + limit.entry
    if held > left then
      rest, left = pack_bytes(limit.format, time, held - left), 0
    else
      left, limit.entries = left - held, limit.entries - 1
    end
  end
  limit.total = limit.total - (units - left)
  limit.log = rest .. sub(limit.log, from, limit.tail - 1)
  limit.head, limit.tail = 1, #limit.log + 1
  return units - left
end

function sliding_log.give(limit, units, at)
  if at == EARLIEST then return remove_oldest(limit, units) > 0 end
  local from, time, held = entry_of(limit, at)
  if not from or not same_slot(limit, time, at) then return false end

  local given, rest = min(units, held), ''
  if given < held then
    rest = pack_bytes(limit.format, time % limit.modulus, held - given)
  else
    limit.entries = limit.entries - 1
  end
  limit.total = limit.total - given
  limit.log = sub(limit.log, limit.head, from - 1) .. rest
    .. sub(limit.log, from + limit.entry, limit.tail - 1)
  limit.head, limit.tail = 1, #limit.log + 1
  return true
end
