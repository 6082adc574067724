-- The general way: decides any request, of any value.
-- @include algorithms
-- @include sets.lua
-- @include subject.lua
-- @include decide.lua
-- @include in-turn.lua

local sets = make_sets(described, ARGV[2] == 'force')

-- Made when first needed: most batches do not need it.
local decide_parts

local function make_together()
  -- @include apart.lua
  -- @include together.lua
  return decide_together
end

-- Made when first needed: only hot subjects are leased.
local read_order

-- Reads and decides one request with several subjects, or one with a grant other than `all`.
local function read_together()
  local grant, id_key = ARGV[at + 2], nil
  if grant == 'lease' then
    if not read_order then
      leasing = leasing or make_leasing()
      -- @include lease-order.lua
      read_order = read_and_decide
    end
    return read_order()
  end
  decide_parts = decide_parts or make_together()
  local parts = {}
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
  for i = 1, #parts do
    if parts[i].set.in_flight then
      parts[i].holder, parts[i].held, parts[i].known = ARGV[at], tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2])
      at = at + 3
    end
  end
  decide_or_tell(decide_parts, parts, grant, id_key)
end
