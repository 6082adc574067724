-- Decides requests with several subjects, whose units are taken only if all have room; requests that take as much as fits;
-- requests for units that were already used and must count; and requests with a hold.

local function load_parts(parts)
  local fit = true
  for i = 1, #parts do
    local part = parts[i]
    load_limits(part.set, call('GET', part.key))
    if part.holder and part.holder ~= '' then
      holder, held, known = part.holder, part.held, part.known
      part.has_changed = declare_slots(part.set)
      holder = nil
    end
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
      if not limit.algorithm.in_flight then
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
      if cost > 0 then set[j].algorithm.take(set[j], cost) end
      set[j].granted = units
    end
    local is_saved = cost > 0 or parts[i].has_changed or set.written > now + CLOCK_WENT_BACK
    if is_saved then save_limits(set, key) end
    -- As in decide: nothing was taken, but the level may drain slower.
    if is_saved and cost == 0 then find_waits(set, parts[i].cost) end
  end
end

-- Takes each limit's own units, at the time of their use. Returns those that were granted.
local function force_all(parts)
  local granted = {}
  for i = 1, #parts do
    local set, used = parts[i].set, parts[i].used
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

local function tell_together(parts, grant)
  for i = 1, #parts do
    local set = parts[i].set
    for j = 1, #set do
      local limit = set[j]
      tell(limit)
      if grant ~= 'all' then
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
      if grant ~= 'all' then
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

local function decide_together(parts, grant, id_key, hold)
  if is_outside(parts) then
    tell_all_outside(parts, grant)
    return hold and tell_hold(0, 0)
  end
  set_apart(parts)
  local fit, delay, ends_in = load_parts(parts), 0, 0
  if hold then
    delay, ends_in = decide_hold_or_look(parts, hold, fit)
  elseif grant == 'force' then
    local granted, next = force_once(parts, id_key), 0
    for i = 1, #parts do
      local set = parts[i].set
      for j = 1, #set do
        next = next + 1
        set[j].waits, set[j].granted = 0, granted[next] or 0
      end
    end
  elseif take then
    take_from_all(parts, grant, fit)
  end
  tell_together(parts, grant)
  if hold then tell_hold(delay, ends_in) end
end
