-- Before the numbers of a limit that observes: in how many µs it would have had the cost. Only units on lease are lower.
local WOULD_WAIT = -2 ^ 51
-- Before the numbers of a limit with overage: the units beyond its quota.
local OVER = -2 ^ 50
-- Before the numbers of a limit with top-ups: the units left of them.
local TOPPED_UP = -2 ^ 49
-- Before the numbers of a billing window that is short: its quota. All that is not before a limit's numbers is greater.
local SHORT = -2 ^ 48

-- Replies for one limit: remaining and reset, or, if it has to wait, -1 - remaining, wait and reset. Units on lease come first:
-- no other number is as low.
local function tell(limit, blocked_for)
  local told, wait, teller = size, limit.waits, limit.algorithm
  if limit.leased then
    reply[told + 1] = -2 ^ 52 - limit.leased
    told, teller = told + 1, leasing
  end
  if limit.observes and limit.would_wait ~= 0 then
    reply[told + 1] = WOULD_WAIT - limit.would_wait
    told = told + 1
  end
  local pots = limit.pots
  local over = limit.overage and (pots and accounts or limit.algorithm).over(limit) or 0
  if over > 0 then
    reply[told + 1] = OVER - over
    told = told + 1
  end
  local topped_up = pots and accounts.left(limit) or 0
  if topped_up > 0 then
    reply[told + 1] = TOPPED_UP - topped_up
    told = told + 1
  end
  if limit.full and limit.full > 0 then
    told = told + 1
    reply[told] = SHORT - (pots and pots.base or limit.quota)
  end
  local remaining, reset = teller.left(limit)
  if blocked_for and blocked_for > 0 then
    if remaining > 0 then reset = teller.in_flight and reset or 0 end
    remaining = 0
    if not teller.in_flight then reset = max(reset, blocked_for) end
  end
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

-- Made when first needed: only few plans block.
local blocking

local function make_blocking()
  records = records or make_records()
  -- @include beside/blocks.lua
end

-- The end of a short window if `wait` leads into one that the cost does not fit. Else `wait`.
local function behind_short(limit, cost, wait, lasting)
  local short = limit.algorithm.short
  if not short or wait <= 0 then return wait end
  local quota, begins, ends = short(limit)
  return quota and wait >= begins and wait < ends and cost > quota + lasting and ends or wait
end

-- When a cost fits that cannot fit before `wait`. Later windows can be short, and top-ups will have ended. Never earlier than `since`.
local function later(limit, cost, wait, since)
  if not limit.pots then return behind_short(limit, cost, wait, 0) end
  local later_wait = accounts.wait(limit, cost, behind_short(limit, cost, wait, accounts.left_in(limit, wait)))
  if later_wait ~= NEVER or not limit.leased then return later_wait end
  local ends_in = limit.lease_ends - now
  if ends_in < since then return NEVER end
  -- Units that are reserved can come back unused while the top-ups are still there.
  local _, gone = accounts.left_in(limit, ends_in)
  return cost + gone <= limit.algorithm.left(limit) and ends_in or NEVER
end

local function wait_of(limit, cost)
  local wait = (limit.leased and leasing or limit.algorithm).wait(limit, cost)
  return wait > 0 and later(limit, cost, wait, 0) or wait
end

-- When a cost fits a limit whose client comes in `wait` µs: then, later, or never.
local function wait_from(limit, cost, wait)
  if limit.observes or limit.overage then return wait end
  if not limit.pots then return later(limit, cost, wait, wait) end
  local _, gone = accounts.left_in(limit, wait)
  local free, reset = limit.algorithm.left(limit)
  local held = limit.leased and wait < limit.lease_ends - now and limit.leased or 0
  if wait < reset and cost + gone + held <= free then return wait end
  return later(limit, cost, max(wait, reset), wait)
end

-- Whether a limit of the set can have less room later: top-ups end, and months can be short.
local function can_shrink(set)
  return set.account or set.described[6] or set.is_billed
end

-- While the client waits for another limit, a top-up may end, or a short month begin. Then its limit makes the client wait, too.
local function lengthen(parts)
  local longest, is_later, can_change = 0, true, false
  for i = 1, #parts do
    local set = parts[i].set
    can_change = can_change or can_shrink(set)
    for j = 1, #set do
      local limit = set[j]
      if limit.waits == NEVER then return end
      if not limit.algorithm.in_flight then longest = max(longest, limit.waits) end
    end
  end
  while can_change and is_later and longest > 0 do
    is_later = false
    for i = 1, #parts do
      for j = 1, #parts[i].set do
        local limit = parts[i].set[j]
        local wait = limit.algorithm.in_flight and longest or wait_from(limit, parts[i].cost, longest)
        if wait ~= longest then limit.waits = wait end
        if wait == NEVER then return end
        longest, is_later = wait, is_later or wait > longest
      end
    end
  end
end

-- Sets how long each limit has to wait for the cost. Returns whether it fits all of them now. Nothing waits for a limit that
-- observes or has overage.
local function find_waits(set, cost)
  local fits = true
  for i = 1, #set do
    local limit = set[i]
    local wait = wait_of(limit, cost)
    if limit.observes then limit.would_wait, wait = wait, 0 elseif limit.overage then wait = 0 end
    limit.waits = wait
    if wait ~= 0 then fits = false end
  end
  if set.blocked_for == 0 then return fits end
  blocking.delay(set)
  return false
end

local function tell_all(set)
  local blocked_for = set.blocked_for
  if blocked_for > 0 then blocking.tell(set) end
  for i = 1, #set do
    tell(set[i], blocked_for)
  end
end

-- Finds out whether a loaded subject is blocked, for a request of the whole cost.
local function begin_block(set, tally)
  blocking = blocking or make_blocking()
  blocking.begin(set, tally)
end

-- A limit that observes takes only what fits it.
local function take_from(limit, cost)
  if not limit.observes or limit.would_wait == 0 then limit.algorithm.take(limit, cost) end
end

-- Makes the row of the holder what it tells. Returns whether the row said anything else.
local function declare_slots(set)
  local limit = set[set.in_flight]
  return limit.algorithm.declare(limit)
end

-- Decides a request of one subject: the whole cost or nothing. Returns whether equal requests after it may get another answer: not
-- after a denial, unless denials count.
local function decide(set, key, cost)
  if set.is_outside then
    for _ = 1, #set do
      tell_outside()
    end
    return false
  end
  load_limits(set, call('GET', key))
  local has_changed = set.in_flight and holder and declare_slots(set)
  if set.block_after then begin_block(set) end
  local fits = find_waits(set, cost)
  if take and not fits and set.block_after then blocking.count_denial(set) end
  if take and fits then
    for i = 1, #set do
      take_from(set[i], cost)
    end
    save_limits(set, key)
  elseif take and (has_changed or set.written > now + CLOCK_WENT_BACK) then
    save_limits(set, key)
    -- Of a level above the brim: it drains slower from where it was written, and the client must not come too early.
    find_waits(set, cost)
  elseif set.has_new_denials then
    blocking.write(set, key)
  end
  if not fits and can_shrink(set) then lengthen({ { set = set, cost = cost } }) end
  tell_all(set)
  if set.block_after then return set.blocked_for == 0 or set.is_new_block end
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

-- Decides equal requests for one key, the first denial for all that follow. Where denials count, that is the first by a block.
local function decide_in_turn(set, key, cost, times)
  local done, may_change = 0, true
  while may_change and done < times do
    may_change, done = decide_or_tell(decide, set, key, cost), done + 1
  end
end

-- The same of a set with requests in flight. With cost 0 slots are declared, with -1 given back.
local function decide_slots(set, key, cost, times)
  if cost > 0 then return decide_in_turn(set, key, cost, times) end
  for _ = 1, times do
    decide_or_tell(cost == 0 and decide_declaration or decide_release, set, key)
  end
end
