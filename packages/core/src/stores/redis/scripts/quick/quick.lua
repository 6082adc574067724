--[[
  Begins a run in the quick way, which decides the common case: each key has no value, or one with exactly the set's parts. It
  leaves everything else to the general way, which decides the same. All keys are read at once. If the set has requests in
  flight, `numbers` has what their holder reports for each key, and how often the key is asked.

  `quick` gets an algorithm's name, and a limit's state id and parameters. The build makes it from the algorithms' parts. It
  returns how a part is packed (after a value's header, and alone), its size in bytes, and a function that decides for one limit.
  If a tail follows the state's numbers, it also returns an entry's size, and how the tail is packed after a text of entries. The
  state's second number is then the number of entries; or the size is false, and the tail ends the value.

  The function does what `load`, `wait`, `take`, `left`, `save` and `lifetime` do in turn. It takes the cost, the time of the last
  write (nil without a value), the state's numbers, and a text and where the tail begins in it, then a fourth number. It returns
  - if the cost fits: remaining, reset, how long the new state counts in µs, its three numbers, and its tail: a text, and up to
    four values. A fourth number of the state stands in the place of the tail;
  - if the cost does not fit now: -1 - remaining, wait and reset, like consume;
  - if the state is uncommon or the cost can never fit: nil.
]]
-- The set for the quick way; false if one of its limits has no quick way.
local set = quick_sets[index]
if set == nil and index > 0 and ARGV[2] == 'take' and not described[index][5] then
  local lists, size = described[index][1], HEADER
  set = { ttl = described[index][2] }
  for i = 1, #lists do
    local first_packing, packing, size_of_part, take_quickly, entry, tail_packing = quick(unpack(lists[i]))
    if not take_quickly then
      set = false
      break
    end
    local tail = tail_packing and 'c0' .. tail_packing or ''
    size = size + size_of_part
    set[i] = {
      take = take_quickly, id = lists[i][2], packing = packing, whole_packing = packing .. tail, size = size_of_part,
      entry = entry == nil and 0 or entry,
    }
    if i == 1 then set.packing, set.whole_packing = first_packing, first_packing .. tail end
    set.least_size = size
  end
  quick_sets[index] = set
end

local values = set and cost ~= 0 and (holder or not numbers)
  and (count == 1 and { try('GET', keys[request + 1]) } or try('MGET', unpack(keys, request + 1, request + count)))
local limit_count, take_quickly, id, entry, packing, whole_packing, head, new_end, ttl, blocks
if values then
  local first = set[1]
  take_quickly, id, entry, packing, whole_packing = first.take, first.id, first.entry, set.packing, set.whole_packing
  limit_count, head, ttl, blocks = #set, HEADER + first.size + 1, set.ttl, described[index][4]
  new_end = min(floor((now + ttl * 1000) / 1000000), LAST_END)
end
