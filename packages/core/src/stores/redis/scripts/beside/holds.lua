-- Decides requests with a hold: their cost is put beside the limits, as a reservation or in a place. The twin of
-- stores/memory/beside/hold-decision.ts: change both, law 5 (one truth) compares them.
-- @include beside/lease-rows.lua
local count_leased, complete, RESERVED = leasing.count, leasing.complete, leasing.RESERVED

-- @include beside/places.lua

-- Finds a hold made before with the same id. Returns in how many µs its time comes, and in how many it ends.
local function find_known(parts, id)
  for i = 1, #parts do
    local groups = parts[i].set.leases
    local found, n
    if groups then found, n = find_row(groups, id) end
    local group = found and groups[found]
    if group then
      local _, _, ends = row_at(groups, group, n)
      return group.base and max(ends - (group.lag - PLACE) - now, 0) or 0, ends - now
    end
  end
end

-- Made when first needed: most requests fit now.
local find_opening

local function make_openings()
  -- @include beside/openings.lua
  return opening_of
end

-- When each limit of the parts can have the cost; nil if a limit that may not wait has no room now.
local function openings_of(parts, hold)
  local openings = {}
  find_opening = find_opening or make_openings()
  for i = 1, #parts do
    local part = parts[i]
    local set, groups = part.set, part.set.leases
    if part.may_wait and places_to_come(groups) >= hold.most then return nil end
    for j = 1, #set do
      local limit = set[j]
      if part.may_wait and not limit.algorithm.in_flight and not limit.observes and not limit.overage
        and limit.waits ~= NEVER then
        -- Places are booked in later windows, which may have no top-up any more.
        local quota = limit.quota
        limit.quota = limit.pots and limit.pots.base or quota
        openings[#openings + 1] = find_opening(groups, limit, part.cost)
        limit.quota = quota
      elseif limit.waits ~= 0 then
        return nil
      end
    end
  end
  return openings
end

-- In how many µs all parts have the cost; nil if that is later than a place may be. A time that one limit has can be too
-- late for places of another: so all are asked until they agree.
local function delay_of(parts, hold)
  local openings, delay, before = openings_of(parts, hold), 0, -1
  if not openings then return nil end
  for i = 1, #openings do
    delay = max(delay, openings[i].least)
  end
  while delay > before do
    before = delay
    for i = 1, #openings do
      delay = openings[i].from(delay)
      if delay == NEVER or delay > hold.length then return nil end
    end
  end
  return delay
end

local function fits_now(parts)
  for i = 1, #parts do
    parts[i].set.blocked_for = 0
    for j = 1, #parts[i].set do
      parts[i].set[j].waits = 0
    end
  end
end

-- Puts the cost of a part beside its limits. A slot is taken at once.
local function put_beside(part, id, lag, ends)
  local set = part.set
  for j = 1, #set do
    if set[j].algorithm.in_flight then take_from(set[j], part.cost) end
  end
  add_row(set, id, part.cost, lag, ends, lag == RESERVED and ends or ends + part.counts_for)
  if set.leases then count_leased(set) end
  save_limits(set, part.key)
end

-- A reservation lasts at least as long as asked for, up to a 64th longer. Steps are powers of two, since then lengths that
-- differ share ends: so those of many requests end at few times.
local function reserve(parts, hold)
  local _, exponent = math.frexp(max(1000, floor(hold.length / 64)))
  local grid = 2 ^ (exponent - 1)
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
    take_from_all(parts, 'known', false)
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
