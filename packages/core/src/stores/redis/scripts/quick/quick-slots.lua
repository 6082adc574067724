--[[
  The quick way of sets with requests in flight, which come last in their set. The state of requests in flight is read
  and written here, as concurrent.lua says; the limits before it by their own quick functions.
]]
local SLOTS, SLOTS_FORMAT, ROW, ROW_FORMAT, KEPT, KEPT_MS = 16, '>I4I2I4I6', 21, '>c6I3I6I6', 14000000, 14000

-- The limits of a set before its requests in flight, for the quick way; false if one of them has none.
local function make_slots_set(lists, ttl)
  local slots, before = lists[#lists], {}
  for i = 1, #lists - 1 do
    before[i] = lists[i]
  end
  local set = make_quick_set(before, ttl)
  if set then set.slots_id, set.quota = slots[2], slots[3] end
  return set
end

-- Where the requests in flight begin in a value of exactly this set, and its header; nil in any other.
local function find_slots(set, value)
  local found_format, last, ends = unpack_bytes(HEADER_FORMAT, value)
  local at = HEADER + 1
  for i = 1, #set do
    local limit = set[i]
    if at + limit.size > #value then return nil end
    local found, _, entries = unpack_bytes(limit.packing, value, at)
    if found ~= limit.id then return nil end
    at = at + limit.size + (limit.entry > 0 and entries * limit.entry or 0)
  end
  if found_format ~= FORMAT or last > now or at + SLOTS - 1 > #value then return nil end
  return at, last, ends
end

-- Where the row of the holder is; it is most often the last.
local function find_own_row(value, from)
  local at = #value - ROW + 1
  if at >= from and sub(value, at, at + 5) == holder then return at end
  at = string.find(value, holder, from, true)
  while at and (at - from) % ROW > 0 do
    at = string.find(value, holder, at + 1, true)
  end
  return at
end

-- Reads the requests in flight at `at` of a value, as the holder tells of them. Returns their number, and of the row of
-- the holder: where it is, its slots, its number and its end. Nil if rows have ended, or other parts follow.
local function read_slots(set, value, at)
  local found, count, total, ends = unpack_bytes(SLOTS_FORMAT, value, at)
  local from = at + SLOTS
  if found ~= set.slots_id or #value ~= from + count * ROW - 1 or count > 0 and ends * 1000 <= now then return nil end
  local row = find_own_row(value, from)
  if not row then return total + held, nil, held, known, ends, count end
  local _, before, number, row_ends = unpack_bytes(ROW_FORMAT, value, row)
  local own = number > known and held + number - known or held
  return total - before + own, row, own, max(number, known), ends, count, row_ends
end

-- The parts of the limits before, after they have given the cost; nothing if they do not, or that is not quick.
local function take_before(set, cost, value, last)
  local at, parts, needed, told = HEADER + 1, '', KEPT, size
  for i = 1, #set do
    local limit = set[i]
    local found, a, b, c, head
    if value then
      head = at + limit.size
      found, a, b, c = unpack_bytes(limit.packing, value, at)
      at = head + b * limit.entry
    end
    local remaining, reset, lifetime, d, e, f, log, time, units = limit.take(cost, last, a, b, c, value, head)
    if not remaining or remaining < 0 then return nil end
    reply[told + 1], reply[told + 2], told = remaining, reset, told + 2
    parts = parts .. pack_bytes('>' .. limit.whole_packing, limit.id, d, e, f, log, time, units)
    if lifetime > needed then needed = lifetime end
  end
  return parts, needed, told
end

-- Gives a request a slot and its cost. Returns false where the general way must decide.
local function take_slot(set, cost, key, value)
  local at, last, ends = HEADER + 1, nil, 0
  local total, row, own, number, soonest, count = held, nil, held, known, nil, 0
  if value then
    if #value < set.size then return false end
    at, last, ends = find_slots(set, value)
    if not at then return false end
    total, row, own, number, soonest, count = read_slots(set, value, at)
  end
  if not total or total >= set.quota then return false end
  local parts, needed, told = take_before(set, cost, value, last)
  if not parts then return false end
  local own_ends = now / 1000
  own_ends = own_ends - own_ends % 1 + KEPT_MS
  local others = ''
  if row then
    others, count = sub(value, at + SLOTS, row - 1) .. sub(value, row + ROW), count - 1
  elseif value then
    others = sub(value, at + SLOTS)
  end
  if count == 0 or own_ends < soonest then soonest = own_ends end
  local keep = ends * 1000000 >= now + needed
  local saved = pack_bytes(HEADER_FORMAT, FORMAT, now, keep and ends or set.new_end) .. parts
    .. pack_bytes(SLOTS_FORMAT, set.slots_id, count + 1, total + 1, soonest) .. others
    .. pack_bytes(ROW_FORMAT, holder, own + 1, number + 1, own_ends)
  if not write_quickly(set, key, saved, value, keep) then return false end
  reply[told + 1], reply[told + 2] = set.quota - total - 1, number + 1
  size = told + 2
  return true
end

-- Tells of slots that were given back. Returns false where the general way must do it.
local function release_slot(set, key, value)
  if not value or #value < set.size then return false end
  local at = find_slots(set, value)
  if not at then return false end
  local total, row, own, number, soonest, count, row_ends = read_slots(set, value, at)
  if not row or row_ends * 1000 <= now then return false end
  local from = at + SLOTS
  local saved = pack_bytes(SLOTS_FORMAT, set.slots_id, count, total, soonest) .. sub(value, from, row - 1)
    .. pack_bytes(ROW_FORMAT, holder, own, number, row_ends)
  call('SETRANGE', key, format('%d', at - 1), saved)
  reply[size + 1], reply[size + 2] = max(set.quota - total, 0), number
  size = size + 2
  return true
end

-- Decides one request of a run. Returns false where the general way must.
local function decide_slot(set, cost, key, value)
  if cost > 0 then return take_slot(set, cost, key, value) end
  return cost < 0 and release_slot(set, key, value)
end

-- Decides a run, with three numbers for each key: what cannot be done quickly is done in the general way.
local function decide_slots_run(set, index, cost, numbers)
  local count = #numbers / 3
  local values = set and holder and call('MGET', unpack(KEYS, request + 1, request + count))
  for i = 1, count do
    local key, times, first_size, ok, is_done = KEYS[request + i], numbers[3 * i], size, nil, nil
    held, known = numbers[3 * i - 2], numbers[3 * i - 1]
    -- Where Redis refuses to write, the general way tells why.
    if values and times == 1 then ok, is_done = pcall(decide_slot, set, cost, key, values[i]) end
    if not (ok and is_done) then
      size, general = first_size, general or make_general()
      general.decide_slots(general.sets[index], key, cost, times)
    end
  end
end
