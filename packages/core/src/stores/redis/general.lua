-- The general way: decides any request, of any value.
-- @include algorithms
-- @include sets.lua
-- @include subject.lua
-- @include decide.lua

local sets = make_sets(described)

-- Made when first needed: most batches do not need it.
local decide_parts

local function make_together()
  -- @include apart.lua
  -- @include together.lua
  return decide_together
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

-- Reads and decides one request with several subjects, or one with a grant other than `all`.
local function read_together()
  decide_parts = decide_parts or make_together()
  local parts, grant, id_key = {}, ARGV[at + 2], nil
  for i = 1, tonumber(ARGV[at + 1]) do
    local first = at + 1 + 2 * i
    request = request + 1
    local part = { set = sets[tonumber(ARGV[first])], key = KEYS[request], cost = tonumber(ARGV[first + 1]) or 1 }
    if grant == 'force' or grant == 'once' then part.used = cjson.decode(ARGV[first + 1]) end
    parts[i] = part
  end
  if grant == 'once' then
    request = request + 1
    grant, id_key = 'force', KEYS[request]
  end
  at = at + 3 + 2 * #parts
  decide_or_tell(decide_parts, parts, grant, id_key)
end

-- Decides equal requests for one key, the first denial for all that follow.
local function decide_in_turn(index, key, cost, times)
  local set, done, fits = sets[index], 0, true
  while fits and done < times do
    fits, done = decide_or_tell(decide, set, key, cost), done + 1
  end
end
