-- Code for values whose parts are not in the order of the set's limits, because the subject's plan has changed. The twin of
-- stores/memory/other-limits.ts: change both, law 5 (one truth) compares them.
local OTHERS, OTHERS_FORMAT, MERGED, MERGED_FORMAT = 15, '>I4I7I4', 2, '>I4I5'
-- The most parts of other plans that are kept, and the most units that count of older ones.
local MOST_OTHERS, MOST_UNITS = 64, 2 ^ 40 - 1
local UNIT_MS = { [0] = 1, 1000, 60000, 3600000 }
local by_code = {}
for i = 1, #NAMES do
  local algorithm = algorithms[NAMES[i]] or algorithm_of(NAMES[i])
  by_code[algorithm.code] = algorithm
end

local known = { value = false }

-- A value's parts in order, each with its algorithm, its state id, its first and last byte, and its group's write time and end.
-- Also: how many of them are of the last write, the merged part, and where the units on lease begin.
local function parts_of(value)
  if known.value == value then return known end
  local _, last, ends = unpack_bytes(HEADER_FORMAT, value)
  local at, found, ids = HEADER + 1, { value = value }, {}
  while at <= #value do
    local id, from = unpack_bytes('>I4', value, at), at
    if id == ON_LEASE then
      found.leases = at
      break
    elseif id == 0 then
      found.latest = found.latest or #found
      id, last, ends = unpack_bytes(OTHERS_FORMAT, value, at)
      at = at + OTHERS
    elseif id == DENIALS then
      found.record = at
      at = at + RECORD + 14 * string.byte(value, at + RECORD - 1)
    elseif id == ACCOUNT then
      found.account = at
      at = at + STATE_ID + 1 + ENTRY * string.byte(value, at + STATE_ID)
    elseif id == MERGED then
      local units
      id, units, at = unpack_bytes(MERGED_FORMAT, value, at)
      found.merged = { units = units, last = last, ends = ends }
    else
      local algorithm = by_code[floor(id / 2 ^ 28) % 8] or error(FOREIGN, 0)
      -- Of buckets of one window, as the versions before wrote them.
      found.has_same, ids[id] = found.has_same or ids[id], true
      at = at + STATE_ID + algorithm.size
      if algorithm.tail_size then
        local window = id % 2 ^ 26 * UNIT_MS[floor(id / 2 ^ 26) % 4] * 1000
        at = at + algorithm.tail_size(window, unpack_bytes('>' .. algorithm.format, value, at - algorithm.size))
      end
      found[#found + 1] = { algorithm = algorithm, id = id, from = from, to = at - 1, last = last, ends = ends }
    end
  end
  found.latest = found.latest or #found
  known = found
  return found
end

local function find_leases(value)
  return parts_of(value).leases
end

local function find_account(value)
  return parts_of(value).account
end

-- Finds the record of denials, or where it would stand: behind the parts of the last write.
local function find_record(set)
  local found = parts_of(set.value)
  set.behind = found.latest > 0 and found[found.latest].to + 1 or HEADER + 1
  if not found.record then return end
  records = records or make_records()
  records.load(set, found.record)
end

-- When the last part stops counting, in seconds.
local function latest_end(value)
  local found, latest = parts_of(value), 0
  for i = 1, #found do
    latest = max(latest, found[i].ends)
  end
  return found.merged and max(latest, found.merged.ends) or latest
end

-- Where the part with this state id begins, and when it was written.
local function find_part(value, wanted)
  local found = parts_of(value)
  for i = 1, #found do
    if found[i].id == wanted then return found[i].from, found[i].last end
  end
end

-- The parts that may say what a limit has used: the one of the last write, which says it exactly. Without it, others of its
-- window: a bucket of the same window counted the same units, but not how fast they drain here.
local function parts_for(value, limit)
  local found, wanted = parts_of(value), {}
  for i = 1, found.latest do
    if found[i].id == limit.id then wanted[#wanted + 1] = found[i] end
  end
  for i = 1, #wanted == 0 and #found or 0 do
    local id = found[i].id
    if id == limit.id or id == limit.state_id then wanted[#wanted + 1] = found[i] end
  end
  return wanted
end

-- Loads a limit from the fullest of some parts.
local function load_from(set, limit, wanted)
  local value, algorithm, fullest, most = set.value, limit.algorithm, wanted[1], -1
  local function load(part, how)
    local _, a, b, c, d = unpack_bytes(algorithm.packing, value, part.from)
    how(part.last, a, b, c, d, part.from + STATE_ID + algorithm.size)
  end
  local flow = #wanted > 1 and complete(algorithm).flow
  for i = 1, flow and #wanted or 0 do
    load(wanted[i], function(last, a, b, c, _, tail) algorithm.load(limit, last, a, b, c, value, tail) end)
    local level = flow(limit)
    if level > most then
      fullest, most = wanted[i], level
    end
  end
  load(fullest, function(last, a, b, c, d, tail) load_numbers(set, limit, tail, last, a, b, c, d) end)
end

-- An end was rounded down to whole seconds, so it holds for one second more.
local function has_ended(part)
  return (part.ends + 1) * 1000000 <= now
end

-- Starts a limit that has no part. It can be one of those that are merged: so it has used as much as any of them, and as
-- late. A client gains nothing by moving among many plans, and may be let in later.
local function start(set, limit)
  local merged, algorithm = parts_of(set.value).merged, limit.algorithm
  if not merged or has_ended(merged) or algorithm.in_flight then return algorithm.start(limit) end
  if merged.last > set.written then set.written = merged.last end
  local a, b, c, tail = complete(algorithm).state_of(limit, merged.units, merged.last)
  algorithm.load(limit, merged.last, a, b, c, tail, 1)
end

-- Makes a limit of months or years count in billing windows, if the subject had a billing day. Returns whether it does now.
local function bill(set, limit)
  local billing = by_code[7]
  local from = limit.algorithm ~= billing and find_part(set.value, limit.other_id)
  if not from then return false end
  local _, _, ends = unpack_bytes(billing.packing, set.value, from)
  if not billing.still_says(ends, limit.third - limit.second) then return false end
  local id, other_id, starts, unbilled, before = limit.id, limit.other_id, limit.starts, {}, limit.algorithm.before(limit)
  for name, value in pairs(limit) do
    unbilled[name] = value
  end
  for name, value in pairs(billing.prepare(limit.quota, starts[1], starts[2], starts[3], starts[4], id, limit.start, limit.ends, before)) do
    limit[name] = value
  end
  limit.id, limit.state_id, limit.unbilled, set.is_billed = other_id, other_id, unbilled, true
  return true
end

-- Takes that back, for the next subject.
local function unbill(set)
  for i = 1, #set do
    local limit, unbilled = set[i], set[i].unbilled
    if unbilled then
      for name in pairs(limit) do
        limit[name] = unbilled[name]
      end
    end
  end
  set.is_billed = false
end

-- Loads a limit from the part that it had before the subject got a billing day. Returns whether that counts anything now.
local function load_plain(set, limit)
  local from, last = find_part(set.value, limit.other_id)
  if not from then return false end
  local _, count = unpack_bytes('>I4I5', set.value, from)
  local account_at, entries = find_account(set.value), {}
  if account_at then
    accounts = accounts or make_accounts()
    entries = accounts.at(set, account_at).entries
  end
  if not limit.algorithm.load_plain(limit, last, count, accounts and accounts.is_open(entries, limit)) then return false end
  if last > set.written then set.written = last end
  return true
end

-- Several limits of a set can have one id with a billing day. So a limit gets the part at `at`, if that has its id. Returns where the next
-- part begins, or nil.
local function load_in_order(set, limit, at)
  local found = parts_of(set.value)
  for i = 1, found.latest do
    if found[i].from == at and found[i].id == limit.id then
      load_from(set, limit, { found[i] })
      return found[i].to + 1
    end
  end
end

-- Loads a limit whose part is not the one at `at`. Returns where the next begins, if that is known.
local function load_part(set, limit, at)
  local next = limit.other_id and bill(set, limit) and load_in_order(set, limit, at)
  if next then return next end
  local wanted = parts_for(set.value, limit)
  if #wanted > 0 then
    load_from(set, limit, wanted)
    return nil
  end
  if limit.other_id and limit.algorithm.load_plain and load_plain(set, limit) then return nil end
  set.missing = set.missing + 1
  start(set, limit)
end

-- Loads buckets again that have several parts in a value of an earlier version.
local function load_fullest(set)
  for i = 1, parts_of(set.value).has_same and #set or 0 do
    local wanted = parts_for(set.value, set[i])
    if #wanted > 1 and complete(set[i].algorithm).flow then load_from(set, set[i], wanted) end
  end
end

-- @include shared/other-parts.lua
