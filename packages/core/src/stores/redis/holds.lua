-- Requests with a hold: a cost that is put beside the limits, as a reservation or in a place. The twin of
-- stores/memory/hold-book.ts and hold-decision.ts: change both, law 5 (one truth) compares them.
-- @include lease-rows.lua
local count_leased, complete, PLACE, RESERVED = leasing.count, leasing.complete, leasing.PLACE, leasing.RESERVED

-- @include places.lua

-- A hold that was made before with the same id: in how many µs its time comes, and in how many it ends.
local function find_known(parts, id)
  for i = 1, #parts do
    local groups = parts[i].set.leases
    local found = groups and find_row(groups, id)
    local group = found and groups[found]
    if group then return is_place(group) and max(time_of(group) - now, 0) or 0, group.ends - now end
  end
end

-- @include level-line.lua

-- In how many µs, at least `from`, the cost can have a place of one limit: before all places that can have their units by
-- their time even so. The units of leases and of reservations are never waited for.
local function time_in_line(groups, limit, cost, from)
  local algorithm, id = complete(limit.algorithm), id_of(limit)
  local due, kept, to_come, places = 0, 0, 0, {}
  for i = 1, groups and #groups or 0 do
    local group = groups[i]
    if group.ends > now and find_piece(group.ids, id, STATE_ID) then
      if not is_place(group) then
        kept = kept + group.out
      elseif time_of(group) > now then
        to_come, places[#places + 1] = to_come + group.out, group
      else
        due = due + group.out
      end
    end
  end
  table.sort(places, function(a, b) return time_of(a) < time_of(b) end)
  if algorithm.flow then return time_in_level(limit, places, cost, due, kept, from) end
  local units, place = due + kept + to_come + cost, #places
  local fits_in = algorithm.wait(limit, units)
  while place > 0 and fits_in ~= NEVER and fits_in <= time_of(places[place]) - now do
    units, place = units - places[place].out, place - 1
    fits_in = algorithm.wait(limit, units)
  end
  return fits_in == NEVER and NEVER or max(fits_in, from)
end

-- In how many µs, at least `from`, all parts have the cost; nil if that is later than a place may be, or a part must have
-- it now.
local function delay_from(parts, hold, from)
  local delay = from
  for i = 1, #parts do
    local part = parts[i]
    local set, groups = part.set, part.set.leases
    if part.may_wait and count_rows(groups, is_to_come) >= hold.most then return nil end
    for j = 1, #set do
      local limit, fits_in = set[j], set[j].waits
      if part.may_wait and not limit.algorithm.in_flight and fits_in ~= NEVER then
        fits_in = time_in_line(groups, limit, part.cost, delay)
      elseif fits_in ~= 0 then
        return nil
      end
      if fits_in == NEVER or fits_in > hold.length then return nil end
      delay = max(delay, fits_in)
    end
  end
  return delay
end

-- A time that one limit needs can be too late for places of another: so all are asked until they agree.
local function delay_of(parts, hold)
  local delay, before = delay_from(parts, hold, 0), 0
  while delay and delay > before do
    delay, before = delay_from(parts, hold, delay), delay
  end
  return delay
end

local function fits_now(parts)
  for i = 1, #parts do
    for j = 1, #parts[i].set do
      parts[i].set[j].waits = 0
    end
  end
end

-- Puts the cost of a part beside its limits. A slot is taken at once.
local function put_beside(part, id, lag, ends)
  local set = part.set
  for j = 1, #set do
    if set[j].algorithm.in_flight then set[j].algorithm.take(set[j], part.cost) end
  end
  add_row(set, id, part.cost, lag, ends, lag == RESERVED and ends or ends + part.counts_for)
  if set.leases then count_leased(set) end
  save_limits(set, part.key)
end

-- A reservation lasts at least as long as asked for. So those of many requests end at few times.
local function reserve(parts, hold)
  local grid = max(1000, floor(hold.length / 64))
  local ends = ceil((now + hold.length) / grid) * grid
  for i = 1, #parts do
    put_beside(parts[i], hold.id, RESERVED, ends)
  end
  return 0, ends - now
end

-- Parts that may not wait are taken from at once.
local function book(parts, hold, delay)
  local ends = now + delay + hold.slack
  for i = 1, #parts do
    if parts[i].may_wait then
      put_beside(parts[i], hold.id, PLACE + hold.slack, ends)
    else
      take_from_all({ parts[i] }, 'all', true)
    end
  end
  return delay, ends - now
end

-- Returns in how many µs the time of the hold comes, and in how many it ends: 0 and 0 if nothing is held. The waits of
-- the limits say then whether the cost was taken.
local function decide_hold(parts, hold, fit)
  local delay, ends_in = find_known(parts, hold.id)
  if delay then
    take_from_all(parts, 'all', false)
    fits_now(parts)
    return delay, ends_in
  end
  local is_full = fit and hold.kind == 'reservation' and not has_room(parts, hold)
  if fit and hold.kind == 'reservation' then
    if not is_full then return reserve(parts, hold) end
  elseif fit then delay = 0 elseif hold.kind == 'place' then delay = delay_of(parts, hold) end
  if delay then fits_now(parts) end
  if delay and delay > 0 then return book(parts, hold, delay) end
  take_from_all(parts, 'all', delay == 0)
  if is_full then has_room(parts, hold, true) end
  return 0, 0
end
