-- Decides requests with several subjects, whose units are taken only if all have room; requests that take as much as fits;
-- requests for units that were already used and must count; and requests with a hold.

local function load_parts(parts, grant)
  local fit = true
  for i = 1, #parts do
    local part = parts[i]
    load_limits(part.set, call('GET', part.key))
    if part.holder and part.holder ~= '' then
      holder, held, known = part.holder, part.held, part.known
      part.has_changed = declare_slots(part.set)
      holder = nil
    end
    if grant == 'all' and part.set.block_after then begin_block(part.set, part.tally) end
    fit = find_waits(part.set, part.cost) and fit
  end
  return fit
end

-- The most units that every limit has left, up to the cost.
local function units_that_all_have(parts)
  local units = parts[1].cost
  for i = 1, #parts do
    local set = parts[i].set
    units = min(units, parts[i].cost)
    for j = 1, #set do
      local limit = set[j]
      if not limit.algorithm.in_flight and not limit.observes and not limit.overage then
        units = min(units, ((limit.leased and leasing or limit.algorithm).left(limit)))
      end
    end
  end
  return units
end

local function take_from_all(parts, grant, fit)
  local units
  if grant == 'upTo' then units = units_that_all_have(parts) end
  for i = 1, #parts do
    local set, key, cost = parts[i].set, parts[i].key, units or fit and parts[i].cost or 0
    for j = 1, #set do
      if units and set[j].observes then set[j].would_wait = wait_of(set[j], units) end
      if cost > 0 then take_from(set[j], cost) end
      set[j].granted = units
    end
    if grant == 'all' and not fit and parts[i].counts_denial then blocking.count_denial(set) end
    local is_saved = cost > 0 or parts[i].has_changed or set.written > now + CLOCK_WENT_BACK
    if is_saved then save_limits(set, key) elseif set.has_new_denials then blocking.write(set, key) end
    -- As in decide: nothing was taken, but the level may drain slower.
    if is_saved and cost == 0 then find_waits(set, parts[i].cost) end
  end
end

-- Takes each limit's own units, at the time of their use. Returns those that were granted.
local function force_all(parts)
  local granted = {}
  for i = 1, #parts do
    local set, used = parts[i].set, parts[i].used
    local has_overage = false
    for j = 1, #set do has_overage = has_overage or set[j].overage end
    if has_overage then
      accounts = accounts or make_accounts()
      accounts.close_late(set, used)
    end
    for j = 1, #set do
      granted[#granted + 1] = set[j].algorithm.force(set[j], used[j] or {})
    end
  end
  return granted
end

-- Notes in `parts` whether one was written: that stays if a write fails.
local function save_all(parts)
  for i = 1, #parts do
    save_limits(parts[i].set, parts[i].key)
    parts.is_written = true
  end
end

-- Takes units once per id. Returns the units granted, also when that was at an earlier request with the same id. The id is
-- remembered before the first subject is written, and forgotten if that write is refused: Redis keeps what a script wrote
-- before an error, and the request comes again.
local function force_once(parts, id_key)
  local remembered = id_key and call('GET', id_key)
  if remembered then return cjson.decode(remembered) end
  local granted = force_all(parts)
  if id_key then call('SET', id_key, cjson.encode(granted), 'PX', ARGV[4]) end
  local done, err = pcall(save_all, parts)
  if not done then
    if id_key and not parts.is_written then call('DEL', id_key) end
    error(err, 0)
  end
  return granted
end

local function has_granted(grant)
  return grant == 'upTo' or grant == 'force'
end

local function tell_together(parts, grant)
  for i = 1, #parts do
    local set = parts[i].set
    if set.blocked_for > 0 then blocking.tell(set) end
    for j = 1, #set do
      local limit = set[j]
      tell(limit, set.blocked_for)
      if has_granted(grant) then
        size = size + 1
        reply[size] = limit.granted
      end
    end
  end
end

local function tell_all_outside(parts, grant)
  for i = 1, #parts do
    for _ = 1, #parts[i].set do
      tell_outside()
      if has_granted(grant) then
        size = size + 1
        reply[size] = 0
      end
    end
  end
end

-- Made when first needed: few requests have a hold.
local hold_units

local function make_hold_units()
  leasing = leasing or make_leasing()
  -- @include beside/holds.lua
  return decide_hold
end

local function decide_hold_or_look(parts, hold, fit)
  if not take then return 0, 0 end
  hold_units = hold_units or make_hold_units()
  return hold_units(parts, hold, fit)
end

local function tell_hold(delay, ends_in)
  reply[size + 1], reply[size + 2], size = delay, ends_in, size + 2
end

-- Ends a subject's block, and forgets its denials. Returns 1 if it was blocked.
local function unblock(part)
  local set = part.set
  load_limits(set, call('GET', part.key))
  local record = set.record
  set.record = false
  if take and record then save_limits(set, part.key) end
  for i = 1, #set do
    set[i].waits = 0
  end
  return record and record.free_at > now and 1 or 0
end

local function decide_unblock(parts, is_away)
  local was_blocked = is_away and 0 or unblock(parts[1])
  if is_away then tell_all_outside(parts, 'unblock') else tell_together(parts, 'unblock') end
  size = size + 1
  reply[size] = was_blocked
end

-- The kind of an entry that only asks what a limit has counted.
local USAGE = 4

-- Books an entry on a limit of a subject.
local function decide_account(parts, entry)
  local part, booked = parts[1], 0
  local set = part.set
  if set.is_outside then
    tell_all_outside(parts, 'account')
  else
    load_limits(set, call('GET', part.key))
    accounts = accounts or make_accounts()
    if entry.length > 0 then entry.time = now + entry.length end
    booked = entry.kind == USAGE and 0 or accounts.book(set, entry)
    if booked > 0 then save_limits(set, part.key) end
    for i = 1, #set do
      set[i].waits = 0
    end
    tell_together(parts, 'account')
  end
  size = size + 1
  reply[size] = booked
  if entry.kind == USAGE then
    local usage = set.is_outside and {} or accounts.usage(set, set[entry.at])
    for i = 1, 8 do
      size = size + 1
      reply[size] = usage[i] or 0
    end
  end
end

-- `extra`: the hold of a request, or what is to be booked.
local function decide_together(parts, grant, id_key, extra)
  if grant == 'account' then return decide_account(parts, extra) end
  local hold = extra
  if grant == 'unblock' then return decide_unblock(parts, is_outside(parts)) end
  if is_outside(parts) then
    tell_all_outside(parts, grant)
    return hold and tell_hold(0, 0)
  end
  set_apart(parts)
  local fit, delay, ends_in = load_parts(parts, grant), 0, 0
  if hold then
    delay, ends_in = decide_hold_or_look(parts, hold, fit)
  elseif grant == 'force' then
    local granted, next = force_once(parts, id_key), 0
    for i = 1, #parts do
      local set = parts[i].set
      for j = 1, #set do
        next = next + 1
        set[j].waits, set[j].would_wait, set[j].granted = 0, 0, granted[next] or 0
      end
    end
  elseif take then
    take_from_all(parts, grant, fit)
  end
  if grant == 'all' and not fit then lengthen(parts) end
  tell_together(parts, grant)
  if hold then tell_hold(delay, ends_in) end
end
