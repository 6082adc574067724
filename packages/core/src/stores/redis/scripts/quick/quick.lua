--[[
  The quick way, for what is common: each key of a run has no value, or one of exactly the set's parts. What is not so
  is left to the general way, which decides the same. The keys are read at once.

  `quick` gets the name of an algorithm, the state id and the parameters of a limit; the build makes it of the algorithms' parts. It
  returns how a part is packed, behind the header of a value and alone, its size in bytes, a function that decides for one limit, and,
  where a tail follows the numbers of the state, the size of an entry, and how the tail is packed behind a text of entries. The second
  number of the state is the number of entries; or the size is false, and the tail ends the value.

  The function does what `load`, `wait`, `take`, `left`, `save` and `lifetime` do one after another. It takes the cost,
  the time of the last write (nil without a value), the numbers of the state, and a text and where the tail begins in
  it. If the cost fits, it returns remaining, reset, how long the new state counts in µs, its three numbers, and its
  tail: a text, and up to four values. If the cost does not fit now, it returns
  -1 - remaining, wait and reset, as consume tells them. If the state is not a common one or the cost can never fit, it
  returns nil.
]]

-- Makes a set of limits for the quick way; false if one of them has none.
local function make_quick_set(lists, ttl)
  local set, size = {}, HEADER
  for i = 1, #lists do
    local first_packing, packing, size_of_part, take_quickly, entry, tail_packing = quick(unpack(lists[i]))
    if not take_quickly then return false end
    local tail = tail_packing and 'c0' .. tail_packing or ''
    size = size + size_of_part
    set[i] = {
      take = take_quickly, id = lists[i][2], packing = packing, whole_packing = packing .. tail, size = size_of_part,
      entry = entry == nil and 0 or entry,
      first_packing = first_packing, first_whole_packing = first_packing .. tail, least_size = size, ttl = ttl,
    }
  end
  return set
end

-- Where Redis refuses something, the general way tells why.
local try = redis.pcall

-- Decides a run: what cannot be done quickly is done in the general way. `numbers`: of a set with requests in flight, what their
-- holder reports for each key, and how many requests there are for it.
local function decide_run(set, general_set, cost, count, times, numbers)
  local keys, offset, now, reply = KEYS, request, now, reply
  local values = set and cost ~= 0 and (holder or not numbers)
    and (count == 1 and { try('GET', keys[offset + 1]) } or try('MGET', unpack(keys, offset + 1, offset + count)))
  -- Where the next key of the run is, and how many of its requests are still to be decided.
  local at, left = 1, times and times[1] or numbers and numbers[3] or 1
  local limit_count, first, take_quickly, id, entry, packing, whole_packing, head, new_end, ttl
  if values then
    first, limit_count = set[1], #set
    take_quickly, id, entry, packing, whole_packing = first.take, first.id, first.entry, first.first_packing, first.first_whole_packing
    head, ttl = HEADER + first.size + 1, first.ttl
    new_end = min(floor((now + ttl * 1000) / 1000000), LAST_END)
  end
  while at <= count do
    if values and cost > 0 then
      -- @include quick/take-run.lua
    elseif values and cost < 0 then
      -- @include quick/release-run.lua
    end
    if at <= count then
      if numbers then held, known = numbers[3 * at - 2], numbers[3 * at - 1] end
      decide_generally(general_set, keys[offset + at], cost, left)
      at = at + 1
      left = times and times[at] or numbers and numbers[3 * at] or 1
    end
  end
  request = offset + count
end
