--[[
  Loads a subject into a set of limits. A loaded set has the subject's value, its end and layout, how many limits have no part
  in it (`missing`), when the latest of the parts was written, its `leases` (false if no units are on lease), and the `record` of
  its denials (false if none count), which stands or would stand at `behind`. `blocked_for`: for how long it is blocked, in µs.
  `account`: what was booked on it, or false. A limit has `leased`: how many of its units are on lease, or nil; and `pots`: its
  top-ups, or nil.
]]
-- The state id of the record, and its bytes without tallies.
local DENIALS, RECORD = 3, 28
-- The state id of the account, and the bytes of an entry.
local ACCOUNT, ENTRY = 4, 47

-- Raises the error for a value in another format or from another program. Such a value is never overwritten. Format 1 had its
-- number in the upper half of the first byte.
local function refuse(value)
  local found = string.byte(value) or 0
  if found > 15 and found < 32 then found = 1 end
  if #value <= HEADER or found == 0 or found == FORMAT or found > 15 then error(FOREIGN, 0) end
  error('format ' .. found .. ', this one writes ' .. FORMAT, 0)
end

-- Loads a limit from the numbers of its part, which end before `tail`. Returns where the next part begins.
local function load_numbers(set, limit, tail, last, a, b, c, d)
  local algorithm = limit.algorithm
  if last > set.written then set.written = last end
  if not algorithm.tail_size then
    algorithm.load(limit, last, a, b, c, d)
    return tail
  end
  return algorithm.load(limit, last, a, b, c, set.value, tail)
end

-- Made when first needed: most subjects stay on one plan, have no units on lease, and are not denied.
local parts, leasing, records, accounts

local function make_records()
  -- @include beside/denials.lua
end

local function make_accounts()
  -- @include beside/accounts.lua
end

local function make_parts()
  -- @include shared/parts.lua
  return { find = find_part, load = load_part, load_fullest = load_fullest, find_leases = find_leases, find_record = find_record, find_account = find_account, unbill = unbill, latest_end = latest_end, pack_others = pack_others }
end

local function make_leasing()
  -- @include beside/leases.lua
end

-- Loads a limit from its part, which is expected at `at` but can be anywhere. Returns where the next part begins.
local function load_limit(set, limit, at, last)
  local value, algorithm = set.value, limit.algorithm
  local size = STATE_ID + algorithm.size
  local found, a, b, c, d
  if at + size <= #value + 1 then found, a, b, c, d = unpack_bytes(algorithm.packing, value, at) end
  if found ~= limit.id then
    set.layout = MIXED
    parts = parts or make_parts()
    return parts.load(set, limit, at) or HEADER + 1
  end
  return load_numbers(set, limit, at + size, last, a, b, c, d)
end

-- Loads the account that begins at `at`. Returns where it ends.
local function load_account(set, at)
  accounts, set.has_account = accounts or make_accounts(), true
  local next, is_booked = accounts.load(set, at)
  if is_booked and set.account then accounts.attach(set) end
  return next
end

-- Loads what stands behind the parts of the set, which end before `at`: denials, the account, parts of other plans, and units
-- on lease.
local function load_behind(set, at, last)
  local value = set.value
  if set.layout == PLAIN and unpack_bytes('>I4', value, at) == DENIALS then
    records = records or make_records()
    at = records.load(set, at)
    if at > #value then return end
  end
  if set.layout == PLAIN and unpack_bytes('>I4', value, at) == ACCOUNT then
    at = load_account(set, at)
    if at > #value then return end
  end
  if set.layout == PLAIN and unpack_bytes('>I4', value, at) ~= ON_LEASE then set.layout = OTHERS_BEHIND end
  if set.layout ~= PLAIN then
    parts = parts or make_parts()
    at = parts.find_leases(value)
    parts.load_fullest(set)
    if set.record_size == 0 then parts.find_record(set) end
    local account_at = set.account_size == 0 and parts.find_account(value)
    if account_at then load_account(set, account_at) end
  end
  if at then
    leasing = leasing or make_leasing()
    leasing.load(set, at, last)
  end
end

-- Notes what limits count in their windows of now, before a request changes it.
local function note_counts(set)
  for i = 1, (set.account or set.counts_overage) and #set or 0 do
    set[i].loaded_count = set[i].count
  end
end

-- Forgets the subject that was loaded before.
local function clear_set(set)
  if set.is_billed then parts.unbill(set) end
  set.ends, set.layout, set.missing, set.written = 0, PLAIN, 0, 0
  set.record, set.record_size, set.record_ends, set.blocked_for = false, 0, 0, 0
  set.has_new_denials, set.is_new_block = false, false
  if set.has_account then accounts.detach(set) end
  set.account, set.account_size, set.account_ends, set.has_account = false, 0, 0, false
  if set.leases then leasing.clear(set) end
  set.closing, set.open_until = nil, 0
  for i = 1, set.lenient and #set or 0 do
    set[i].would_wait = 0
  end
end

-- Loads every limit of the set from the subject's value; without a value, each limit starts with nothing used.
local function load_limits(set, value)
  clear_set(set)
  set.value = value
  if not value then
    set.missing = #set
    for i = 1, #set do
      set[i].algorithm.start(set[i])
    end
    return note_counts(set)
  end
  local limit, size = set[1], HEADER + STATE_ID + set[1].algorithm.size
  local found_format, last, found, a, b, c, d
  if #value >= size then
    found_format, last, set.ends, found, a, b, c, d = unpack_bytes(limit.algorithm.first_packing, value)
  elseif #value > HEADER then
    found_format, last, set.ends = unpack_bytes(HEADER_FORMAT, value)
  end
  if found_format ~= FORMAT then refuse(value) end

  local at
  if found == limit.id then
    at = load_numbers(set, limit, size + 1, last, a, b, c, d)
  else
    at = load_limit(set, limit, HEADER + 1, last)
  end
  for i = 2, #set do
    at = load_limit(set, set[i], at, last)
  end
  set.behind = at
  if at <= #value then load_behind(set, at, last) end
  if set.account then
    accounts.find_closing(set)
    accounts.note_total(set)
  end
  note_counts(set)
end

-- @include shared/save.lua
