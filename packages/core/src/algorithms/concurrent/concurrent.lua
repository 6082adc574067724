--[[
  concurrent: requests in flight. The twin of concurrent.ts: change both, law 5 (one truth) compares them.

  Params        quota, hint: what a denied request is told to wait, in µs
  State         2 bytes: number of rows; 4 bytes: slots that all rows hold; 6 bytes: before then no row ends, in ms; then
                the rows, one for each process, the latest that took a slot last. A row is 6 bytes: id of the process;
                3 bytes: slots that it holds; 6 bytes: number of its last slot; 6 bytes: when the row ends, in ms
  Complexity    O(1); O(rows) when a row has ended, or the clock went back
]]
local concurrent = { code = 6, format = 'I2I4I6', size = 12, in_flight = true }
local ROW, ROW_FORMAT = 21, '>c6I3I6I6'
-- How long a row lives after the last message of its process, in µs and ms.
local KEPT, KEPT_MS = 14000000, 14000

function concurrent.prepare(quota, hint)
  return {
    algorithm = concurrent, id = 0, waits = 0, quota = quota, hint = hint,
    rows = '', saved = '', has_row = false, held = 0, ends = 0, own = false, own_held = 0, own_number = 0,
  }
end

-- Bytes of the rows, which follow the numbers of the state
function concurrent.tail_size(_, count) return count * ROW end

-- Keeps the rows that live, with ends that are `back` ms earlier.
local function keep_live(limit, rows, back)
  local held, kept, soonest = 0, {}, nil
  for at = 1, #rows, ROW do
    local id, own, number, ends = unpack_bytes(ROW_FORMAT, rows, at)
    ends = ends - back
    if ends * 1000 > now then
      held, soonest = held + own, min(soonest or ends, ends)
      kept[#kept + 1] = pack_bytes(ROW_FORMAT, id, own, number, ends)
    end
  end
  limit.rows, limit.held, limit.ends = concat(kept), held, soonest or 0
end

function concurrent.load(limit, last, count, held, ends, value, head)
  local tail = head + count * ROW
  local back = last > now and floor((last - now) / 1000) or 0
  local rows = sub(value, head, tail - 1)
  limit.own = false
  if back == 0 and ends * 1000 > now then
    limit.rows, limit.held, limit.ends = rows, held, ends
  else
    keep_live(limit, rows, back)
  end
  return tail
end

function concurrent.start(limit)
  limit.rows, limit.held, limit.ends, limit.own = '', 0, 0, false
end

-- Where the row of a process is among the rows.
local function find_row(rows, id)
  local at = string.find(rows, id, 1, true)
  while at and (at - 1) % ROW > 0 do
    at = string.find(rows, id, at + 1, true)
  end
  return at
end

-- Takes the row of a process out of the others, and makes it say what the process tells. Returns whether it said
-- anything else.
function concurrent.declare(limit, id, held, known)
  local rows, before, number = limit.rows, 0, 0
  local at = find_row(rows, id)
  limit.has_row = at ~= nil
  if at then
    local _
    _, before, number = unpack_bytes(ROW_FORMAT, rows, at)
    limit.rows = sub(rows, 1, at - 1) .. sub(rows, at + ROW)
  end
  limit.own, limit.own_held, limit.own_number = id, held + max(number - known, 0), max(number, known)
  limit.held = limit.held - before + limit.own_held
  return limit.own_held ~= before
end

-- Makes the row of a process say what it tells, without a new end. Returns whether there is such a row.
function concurrent.release(limit, id, held, known)
  local at = find_row(limit.rows, id)
  if not at then return false end
  local _, before, number, ends = unpack_bytes(ROW_FORMAT, limit.rows, at)
  local own = held + max(number - known, 0)
  limit.own, limit.own_held, limit.own_number = id, own, max(number, known)
  local row = pack_bytes(ROW_FORMAT, id, own, limit.own_number, ends)
  limit.rows = sub(limit.rows, 1, at - 1) .. row .. sub(limit.rows, at + ROW)
  limit.held = limit.held - before + own
  return true
end

-- The state after a release.
function concurrent.pack_rows(limit)
  return pack_bytes('>I2I4I6', #limit.rows / ROW, limit.held, limit.ends) .. limit.rows
end

function concurrent.wait(limit) return limit.held < limit.quota and 0 or limit.hint end

function concurrent.take(limit)
  if not limit.own then return end
  limit.held, limit.own_held, limit.own_number = limit.held + 1, limit.own_held + 1, limit.own_number + 1
end

-- In place of the reset: the number of the last slot of the process that asks.
function concurrent.left(limit)
  return max(limit.quota - limit.held, 0), limit.own and limit.own_number or 0
end

function concurrent.save(limit)
  local ends = limit.rows ~= '' and limit.ends or nil
  limit.saved = limit.rows
  if limit.own and (limit.own_held > 0 or limit.has_row) then
    local own_ends = floor(now / 1000) + KEPT_MS
    limit.saved = limit.rows .. pack_bytes(ROW_FORMAT, limit.own, limit.own_held, limit.own_number, own_ends)
    ends = min(ends or own_ends, own_ends)
  end
  return #limit.saved / ROW, limit.held, ends or 0
end

function concurrent.with_tail(limit, saved)
  return saved .. limit.saved
end

function concurrent.lifetime(limit)
  return (limit.own or limit.rows ~= '') and KEPT or 0
end

-- @part force
-- Units that are charged later belong to requests that are over, or that their process tells of.
function concurrent.force(_, used)
  local units = 0
  for i = 1, #used, 2 do
    units = units + used[i]
  end
  return units
end

function concurrent.enter() end

function concurrent.counts_for() return KEPT end
-- Here the rows, which count to their end also without slots.
function concurrent.units_in(count) return count end

-- @part refund
function concurrent.give()
  return false
end
