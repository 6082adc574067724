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
