-- The general way: decides any request, of any value.
-- @include algorithms
-- @include shared/sets.lua
-- @include shared/subject.lua
-- @include shared/decide.lua

local sets = make_sets(described, ARGV[2] == 'force')

-- Made when first needed: most batches do not need it.
local decide_parts

local function make_together()
  -- @include shared/apart.lua
  -- @include shared/together.lua
  return decide_together
end

-- Made when first needed: only hot subjects are leased.
local read_order

-- Reads what follows the parts of a request with a hold.
local function read_hold(parts)
  local hold = {
    kind = ARGV[at], id = ARGV[at + 1], length = tonumber(ARGV[at + 2]), slack = tonumber(ARGV[at + 3]),
    most = tonumber(ARGV[at + 4]),
  }
  at = at + 5
  for i = 1, #parts do
    parts[i].may_wait, parts[i].counts_for, at = ARGV[at] == '1', tonumber(ARGV[at + 1]), at + 2
  end
  return hold
end

-- Reads and decides one request with several subjects, one with a grant other than `all`, or one with a hold.
local function read_together()
  local grant, id_key, hold = ARGV[at + 2], nil, nil
  if grant == 'lease' then
    if not read_order then
      leasing = leasing or make_leasing()
      -- @include beside/lease-order.lua
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
  if grant == 'hold' then
    grant, hold = 'all', read_hold(parts)
  end
  decide_or_tell(decide_parts, parts, grant, id_key, hold)
end
