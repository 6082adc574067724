-- Counts the denials of a subject, and blocks it. The twin of stores/memory/beside/denial-record.ts: change both, law 5 (one truth)
-- compares them.
local TALLY, TALLY_FORMAT, MOST_TALLIES, MOST_LEVEL, MOST_DENIALS = 14, '>c6I4I4', 16, 255, 1000000
local BLOCKED = -2 ^ 52

-- Each block is as long as its place in the list says. The first comes again when the subject was not blocked for as long as the
-- longest.
local function start_block(set)
  local record, lengths = set.record, set.block_after.lengths
  if now >= record.free_at + lengths[#lengths] then record.level = 0 end
  record.level = min(record.level + 1, MOST_LEVEL)
  record.free_at = now + lengths[min(record.level, #lengths)]
  record.first, record.count, record.tallies = 0, 0, ''
  set.is_new_block = true
end

local function count(set, record, denials, first)
  local rules = set.block_after
  set.record = record
  record.first = record.count == 0 and first or min(record.first, first)
  record.count = min(record.count + denials, MOST_DENIALS)
  if record.count >= rules.denials then start_block(set) end
  local ends = record.count > 0 and record.first + rules.within or 0
  if record.level > 0 then ends = max(ends, record.free_at + rules.lengths[#rules.lengths]) end
  record.ends = min(floor(ends / 1000000), LAST_END)
  set.has_new_denials = true
end

-- The record as denials are counted in: anew if those so far are too old.
local function current_record(set)
  local record = set.record or { free_at = 0, level = 0, count = 0 }
  local counts = record.count > 0 and now < record.first + set.block_after.within
  return {
    free_at = record.free_at, level = record.level, first = counts and record.first or 0, count = counts and record.count or 0,
    tallies = counts and record.tallies or '',
  }
end

local function find_tally(tallies, by)
  local at = string.find(tallies, by, 1, true)
  while at and (at - 1) % TALLY > 0 do
    at = string.find(tallies, by, at + 1, true)
  end
  return at
end

-- How many denials of a tally were not counted yet. Notes that they are.
local function note_tally(record, tally)
  local at, known = find_tally(record.tallies, tally.by), 0
  if at then
    local _, number, total = unpack_bytes(TALLY_FORMAT, record.tallies, at)
    if number > tally.number then return 0 end
    if number == tally.number then known = total end
  end
  if tally.total <= known then return 0 end
  local others = at and sub(record.tallies, 1, at - 1) .. sub(record.tallies, at + TALLY) or record.tallies
  local noted = pack_bytes(TALLY_FORMAT, tally.by, tally.number, tally.total) .. others
  record.tallies = sub(noted, 1, TALLY * MOST_TALLIES)
  return tally.total - known
end

-- Counts what a process denied from memory. Denials from before the end of a block count no more.
local function count_tally(set, tally)
  local first = now - tally.age
  if set.record and first < set.record.free_at or tally.age >= set.block_after.within then return end
  local record = current_record(set)
  local denials = note_tally(record, tally)
  if denials > 0 then count(set, record, denials, first) end
end

local function find_block(set)
  set.blocked_for = set.record and max(set.record.free_at - now, 0) or 0
end

-- Called before a request for the whole cost is decided. The subject may be blocked then.
local function begin_block(set, tally)
  if take and tally and tally.by ~= '' and set.value then count_tally(set, tally) end
  find_block(set)
end

-- No cost fits before the block is over.
local function delay(set)
  for i = 1, #set do
    if set[i].waits ~= NEVER then set[i].waits = max(set[i].waits, set.blocked_for) end
  end
end

-- Counts a denial by a limit in time. `waits` are those of the denied request.
local function count_denial(set)
  if set.blocked_for > 0 or not set.value then return end
  local is_denied = false
  for i = 1, #set do
    if set[i].waits ~= 0 and not set[i].algorithm.in_flight then is_denied = true end
  end
  if not is_denied then return end
  count(set, current_record(set), 1, now)
  find_block(set)
  if set.blocked_for > 0 then delay(set) end
end

-- Writes only the record: a denial changes nothing else of the value.
local function write_record(set, key)
  local packed, value, ends, must_live = records.pack(set), set.value, records.end_of(set)
  if #packed == set.record_size and not must_live then
    return call('SETRANGE', key, format('%d', set.behind - 1), packed)
  end
  local saved = sub(value, 1, set.behind - 1) .. packed .. sub(value, set.behind + set.record_size)
  if not must_live then return call('SET', key, saved, 'KEEPTTL') end
  ends = max(ends, set.ends, set.account_ends, set.layout ~= PLAIN and parts.latest_end(value) or 0)
  call('SET', key, saved, 'PX', time_to_live(ends, set.leases and set.leases.latest))
end

local function tell_block(set)
  local level = set.record.level
  reply[size + 1], reply[size + 2], reply[size + 3] = BLOCKED, set.blocked_for, set.is_new_block and -level or level
  size = size + 3
end

return { begin = begin_block, delay = delay, count_denial = count_denial, write = write_record, tell = tell_block }
