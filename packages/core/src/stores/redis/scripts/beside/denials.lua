--[[
  The record of a subject's denials and of its block, for plans with `blockAfter`.

  It stands behind the parts of the last write, after a state id of 3, whatever plan wrote those. Other plans keep it as it is.

  Record        7 bytes: when the block ends, in µs (0 if there was none); 7 bytes: when the first of the denials was, in µs; 4
                bytes: number of denials; 1 byte: level; 4 bytes: end, when nothing of it counts any more, in seconds since 1970; 1
                byte: number of tallies; then the tallies, the latest first
  Tally         6 bytes: process; 4 bytes: number; 4 bytes: how many denials of it were counted
]]
local RECORD_FORMAT = '>I4I7I7I4I1I4I1'
local TALLY, KEPT = 14, IS_TEST and 3600 or 0

-- Loads the record that begins at `at`. Returns where it ends.
local function load_record(set, at)
  local _, free_at, first, count, level, ends, tallies = unpack_bytes(RECORD_FORMAT, set.value, at)
  local from = at + RECORD
  set.behind, set.record_size, set.record_ends = at, RECORD + TALLY * tallies, ends
  if (ends + 1) * 1000000 > now then
    set.record = {
      free_at = free_at, first = first, count = count, level = level, ends = ends,
      tallies = sub(set.value, from, from + TALLY * tallies - 1),
    }
  end
  return from + TALLY * tallies
end

local function pack_record(set)
  local record = set.record
  return pack_bytes(RECORD_FORMAT, DENIALS, record.free_at, record.first, record.count, record.level, record.ends,
    #record.tallies / TALLY) .. record.tallies
end

-- When the record ends, in seconds. Also returns whether the value must live longer for it.
local function end_of(set)
  local ends = set.record.ends + KEPT
  return ends, set.record.ends > set.record_ends and ends > set.ends
end

return { load = load_record, pack = pack_record, end_of = end_of }
