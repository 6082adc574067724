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

-- Reads what follows the parts of a request that books an entry.
local function read_entry()
  local entry = {
    id = ARGV[at], says = ARGV[at + 1], kind = tonumber(ARGV[at + 2]), at = tonumber(ARGV[at + 3]), units = tonumber(ARGV[at + 4]),
    time = tonumber(ARGV[at + 5]), length = tonumber(ARGV[at + 6]),
  }
  at = at + 7
  return entry
end

-- Reads what follows the parts whose denials can block.
local function read_denials(parts)
  for i = 1, #parts do
    local part = parts[i]
    if part.set.block_after then
      local number, total, age = tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3]), tonumber(ARGV[at + 4])
      part.counts_denial, part.tally = ARGV[at] == '1', { by = ARGV[at + 1], number = number, total = total, age = age }
      at = at + 5
    end
  end
end

-- Reads and decides one request with several subjects, one with a grant other than `all`, or one with a hold.
local function read_together()
  local grant, id_key, extra = ARGV[at + 2], nil, nil
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
  if grant == 'account' then extra = read_entry() end
  if grant == 'all' or grant == 'hold' then read_denials(parts) end
  if grant == 'hold' then
    grant, extra = 'all', read_hold(parts)
  end
  decide_or_tell(decide_parts, parts, grant, id_key, extra)
end
