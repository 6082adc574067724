--[[
  The quick way, for what is common: each key of a run has no value, or one of exactly the set's parts. What is not so
  is left to the general way, which decides the same. The keys are read at once.

  `quick` gets the name of an algorithm and the parameters of a limit; the build makes it of the algorithms' parts. It
  returns the packing of the state, its size in bytes, a function that decides for one limit, and, where entries follow
  the numbers of the state, the size and the packing of an entry; the second number of the state is the number of
  entries.

  The function does what `load`, `wait`, `take`, `left`, `save` and `lifetime` do one after another. It takes the cost,
  the time of the last write (nil without a value), the numbers of the state, and a text and where the entries begin in
  it. If the cost fits, it returns remaining, reset, how long the new state counts in µs, its three numbers, and its
  entries: a text of those that stay, and the numbers of the last one. If the cost does not fit now, it returns
  -1 - remaining, wait and reset, as consume tells them. If the state is not a common one or the cost can never fit, it
  returns nil.
]]

-- Makes a set of limits for the quick way; false if one of them has none.
local function make_quick_set(lists, ttl)
  local set = { ttl = ttl, packing = HEADER_FORMAT, size = HEADER, is_straight = #lists <= 3 }
  for i = 1, #lists do
    local packing, size, take_quickly, entry, entry_packing = quick(unpack(lists[i]))
    if not take_quickly then return false end
    -- Without entries any number is the number of entries, hence 0.
    set[i] = {
      take = take_quickly, id = lists[i][2], packing = '>I4' .. packing, size = STATE_ID + size, entry = entry or 0,
      whole_packing = 'I4' .. packing .. (entry and 'c0' .. entry_packing or ''),
    }
    -- A number of no bytes is packed as nothing, and read as 0. So each of several limits has three.
    if #lists > 1 then packing = packing .. string.rep('I0', 3 - #packing / 2) end
    set.packing, set.size = set.packing .. 'I4' .. packing, set.size + STATE_ID + size
    if i == 1 then
      set.first_packing, set.head, set.whole_packing, set.rest_packing = set.packing, set.size + 1, set.packing, '>'
      if entry then set.whole_packing = set.packing .. 'c0' .. entry_packing end
    else
      set.whole_packing, set.rest_packing = set.whole_packing .. 'I4' .. packing, set.rest_packing .. 'I4' .. packing
      if entry then set.is_straight = false end
    end
  end
  set.new_end = min(floor((now + tonumber(ttl) * 1000) / 1000000), LAST_END)
  return set
end

-- Returns false if there was no value and the key cannot be made: then it holds another type, which MGET does not tell.
local function write_quickly(set, key, value, old, keep)
  if not old then return call('SET', key, value, 'PX', set.ttl, 'NX') end
  if keep and #value == #old then
    call('SETRANGE', key, '0', value)
  else
    write(key, value, old, keep, set.ttl)
  end
  return true
end

-- Where the next key of a run is, and how many of its requests are still to be decided.
local run_at, run_left

local function leave_to_general(index, cost, times)
  general = general or make_general()
  general.decide_in_turn(general.sets[index], KEYS[request + run_at], cost, run_left)
  run_at = run_at + 1
  run_left = times and times[run_at] or 1
end

-- @include quick/quick-once.lua
-- @include quick/quick-several.lua
-- @include quick/quick-in-turn.lua

-- Decides a run: what cannot be done quickly is done in the general way.
local function decide_run(index, cost, count, times)
  local set = quick_sets[index]
  if set == nil then
    set = ARGV[2] == 'take' and make_quick_set(described[index][1], described[index][2])
    quick_sets[index] = set
  end
  run_at, run_left = 1, times and times[1] or 1
  local values = set and call('MGET', unpack(KEYS, request + 1, request + count))
  local decide_quickly = take_in_turn
  if set and not times then decide_quickly = #set == 1 and take_once or set.is_straight and take_several or take_in_turn end
  while run_at <= count do
    -- Where Redis refuses to write, the general way tells why.
    if values and not pcall(decide_quickly, set, cost, count, values, times) then values = nil end
    if run_at <= count then leave_to_general(index, cost, times) end
  end
end
