-- Replies for one limit: remaining and reset, or, if it has to wait, -1 - remaining, wait and reset. Units on lease come first:
-- no other number is as low.
local function tell(limit)
  local told, wait, teller = size, limit.waits, limit.algorithm
  if limit.leased then
    reply[told + 1] = -2 ^ 52 - limit.leased
    told, teller = told + 1, leasing
  end
  local remaining, reset = teller.left(limit)
  if wait == 0 then
    reply[told + 1], reply[told + 2] = remaining, reset
    size = told + 2
  else
    reply[told + 1], reply[told + 2], reply[told + 3] = -1 - remaining, wait, reset
    size = told + 3
  end
end

local function tell_outside()
  reply[size + 1], reply[size + 2], reply[size + 3], size = -1, OUTSIDE_CALENDAR, 0, size + 3
end

-- Sets how long each limit has to wait for the cost. Returns whether it fits all of them now.
local function find_waits(set, cost)
  local fits = true
  for i = 1, #set do
    local limit = set[i]
    limit.waits = (limit.leased and leasing or limit.algorithm).wait(limit, cost)
    if limit.waits ~= 0 then fits = false end
  end
  return fits
end

-- Makes the row of the holder what it tells. Returns whether the row said anything else.
local function declare_slots(set)
  local limit = set[set.in_flight]
  return limit.algorithm.declare(limit)
end

-- Decides a request of one subject: the whole cost or nothing. Returns whether it fits.
local function decide(set, key, cost)
  if set.is_outside then
    for _ = 1, #set do
      tell_outside()
    end
    return false
  end
  load_limits(set, call('GET', key))
  local has_changed = set.in_flight and holder and declare_slots(set)
  local fits = find_waits(set, cost)
  if take and fits then
    for i = 1, #set do
      set[i].algorithm.take(set[i], cost)
    end
    save_limits(set, key)
  elseif take and (has_changed or set.written > now + CLOCK_WENT_BACK) then
    save_limits(set, key)
    -- Of a level above the brim: it drains slower from where it was written, and the client must not come too early.
    find_waits(set, cost)
  end
  for i = 1, #set do
    tell(set[i])
  end
  return fits
end

-- Decides a request that only declares slots.
local function decide_declaration(set, key)
  if set.is_outside then return tell_outside() end
  local limit = set[set.in_flight]
  load_limits(set, call('GET', key))
  local has_changed = holder and declare_slots(set)
  -- Rows of holders that hold nothing are not renewed.
  if take and holder and (has_changed or held > 0) then save_limits(set, key) end
  reply[size + 1], reply[size + 2] = limit.algorithm.left(limit)
  size = size + 2
end

-- Decides a request that only gives slots back: where the holder has a row, nothing else is written.
local function decide_release(set, key)
  if set.is_outside then return tell_outside() end
  local limit, value = set[set.in_flight], call('GET', key)
  load_limits(set, value)
  local at
  if value and holder then
    parts = parts or make_parts()
    at = parts.find(value, limit.id)
  end
  if not take or not at or set.written > now or not limit.algorithm.release(limit) then
    return decide_declaration(set, key)
  end
  local algorithm, first = limit.algorithm, at + STATE_ID
  local _, count = unpack_bytes(algorithm.packing, value, at)
  local behind = sub(value, first + algorithm.size + algorithm.tail_size(nil, count))
  call('SET', key, sub(value, 1, first - 1) .. algorithm.pack_rows(limit) .. behind, 'KEEPTTL')
  reply[size + 1], reply[size + 2] = limit.algorithm.left(limit)
  size = size + 2
end

-- Decides a request, and puts one error text in place of its answer if that fails.
local function decide_or_tell(...)
  local first_size = size
  local decided, result = pcall(...)
  if decided then return result end
  size = first_size + 1
  reply[size] = message(result)
  return false
end

-- Decides equal requests for one key, the first denial for all that follow.
local function decide_in_turn(set, key, cost, times)
  local done, fits = 0, true
  while fits and done < times do
    fits, done = decide_or_tell(decide, set, key, cost), done + 1
  end
end

-- The same of a set with requests in flight. With cost 0 slots are declared, with -1 given back.
local function decide_slots(set, key, cost, times)
  if cost > 0 then return decide_in_turn(set, key, cost, times) end
  for _ = 1, times do
    decide_or_tell(cost == 0 and decide_declaration or decide_release, set, key)
  end
end
