-- sliding_log.force: puts units into the log at the time of their use.
local MOST_ENTRIES = 65535

local function slot_of(limit, time)
  return time - fmod(time, limit.slot)
end

-- Unpacks the log into two lists: times in µs, and units.
local function entries_of(limit)
  local times, units = {}, {}
  for at = limit.head, limit.tail - 1, limit.entry do
    local time, held = unpack_bytes(limit.format, limit.log, at)
    times[#times + 1], units[#units + 1] = now - (limit.clock - time) % limit.modulus, held
  end
  return times, units
end

-- In an existing slot the units join its entry, which keeps the later time.
local function insert(limit, times, units, added, at)
  local i = #times + 1
  while i > 1 and times[i - 1] >= at do
    i = i - 1
  end
  local slot, fitting = slot_of(limit, at), units_that_fit(added, limit.total)
  local is_after = times[i] and slot_of(limit, times[i]) == slot
  local is_before = not is_after and i > 1 and slot_of(limit, times[i - 1]) == slot
  if fitting == 0 or not is_after and not is_before and #times >= MOST_ENTRIES then return 0 end
  limit.total = limit.total + fitting
  if is_after then
    units[i] = units[i] + fitting
  elseif is_before then
    times[i - 1], units[i - 1] = at, units[i - 1] + fitting
  else
    table.insert(times, i, at)
    table.insert(units, i, fitting)
  end
  return fitting
end

-- All counts are packed with as many bytes as the largest one needs.
local function write_entries(limit, times, units)
  local bytes, parts = limit.unit_bytes, {}
  for i = 1, #units do
    while units[i] >= 256 ^ bytes do
      bytes = bytes + 1
    end
  end
  set_width(limit, bytes)
  for i = 1, #times do
    parts[i] = pack_bytes(limit.format, times[i] % limit.modulus, units[i])
  end
  limit.log, limit.entries, limit.oldest = concat(parts), #times, #times > 0 and now - times[1]
  limit.head, limit.tail, limit.added = 1, #limit.log + 1, 0
  -- The newest entry can be from now.
  limit.is_same_us = true
end

function sliding_log.force(limit, used)
  local times, units = entries_of(limit)
  local granted = 0
  for i = 1, #used, 2 do
    local added, at = used[i], now - used[i + 1]
    if at + limit.window > now then added = insert(limit, times, units, added, at) end
    granted = granted + added
  end
  write_entries(limit, times, units)
  return granted
end

function sliding_log.left_in(limit)
  local left, at = limit.quota - limit.total, limit.head
  return function(us)
    while at < limit.tail do
      local time, units = unpack_bytes(limit.format, limit.log, at)
      if limit.window - (limit.clock - time) % limit.modulus > us then break end
      left, at = left + units, at + limit.entry
    end
    return left
  end
end

function sliding_log.counts_for(limit)
  return limit.window
end

function sliding_log.units_in(total) return total end

-- One entry, whose count has the most bytes.
function sliding_log.state_of(limit, units, at)
  return units, 1, 5, pack_bytes(entry_format(limit.time_bytes, 5), at % limit.modulus, units)
end
