--[[
  concurrent: requests in flight. The twin of concurrent.ts: change both, law 5 (one truth) compares them.

  Params        quota, hint: what a denied request is told to wait, in µs
  State         2 bytes: number of rows; then the rows, one for each process, the latest that took a slot last. A row is
                6 bytes: id of the process; 3 bytes: slots that it holds; 6 bytes: number of its last slot; 6 bytes: when
                the row ends, in ms
]]
local concurrent = { code = 6, format = 'I2', size = 2, in_flight = true }
local ROW, ROW_FORMAT = 21, '>c6I3I6I6'
-- How long a row lives after the last message of its process, in µs and ms.
local KEPT, KEPT_MS = 14000000, 14000

function concurrent.prepare(quota, hint)
  return {
    algorithm = concurrent, id = 0, waits = 0, quota = quota, hint = hint,
    rows = '', saved = '', has_row = false, held = 0, own = false, own_held = 0, own_number = 0,
  }
end

-- Bytes of the rows, which follow the numbers of the state
function concurrent.tail_size(_, count)
  return count * ROW
end

-- The rows that live, with ends that are `back` ms earlier. Returns the slots that they hold, too.
local function live_rows(rows, back)
  local held, is_same, kept = 0, back == 0, {}
  for at = 1, #rows, ROW do
    local id, own, number, ends = unpack_bytes(ROW_FORMAT, rows, at)
    ends = ends - back
    if ends * 1000 > now then
      held = held + own
      kept[#kept + 1] = pack_bytes(ROW_FORMAT, id, own, number, ends)
    else
      is_same = false
    end
  end
  return is_same and rows or concat(kept), held
end

function concurrent.load(limit, last, count, _, _, value, head)
  local tail = head + count * ROW
  local back = last > now and floor((last - now) / 1000) or 0
  limit.own = false
  limit.rows, limit.held = live_rows(sub(value, head, tail - 1), back)
  return tail
end

function concurrent.start(limit)
  limit.rows, limit.held, limit.own = '', 0, false
end

-- Takes the row of a process out of the others, and makes it say what the process tells. Returns whether it said
-- anything else.
function concurrent.declare(limit, id, held, known)
  local rows, before, number = limit.rows, 0, 0
  local at = string.find(rows, id, 1, true)
  while at and (at - 1) % ROW > 0 do
    at = string.find(rows, id, at + 1, true)
  end
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

function concurrent.wait(limit)
  return limit.held < limit.quota and 0 or limit.hint
end

function concurrent.take(limit)
  if not limit.own then return end
  limit.held, limit.own_held, limit.own_number = limit.held + 1, limit.own_held + 1, limit.own_number + 1
end

-- In place of the reset: the number of the last slot of the process that asks.
function concurrent.left(limit)
  return max(limit.quota - limit.held, 0), limit.own and limit.own_number or 0
end

function concurrent.save(limit)
  if limit.own and (limit.own_held > 0 or limit.has_row) then
    local ends = floor(now / 1000) + KEPT_MS
    limit.saved = limit.rows .. pack_bytes(ROW_FORMAT, limit.own, limit.own_held, limit.own_number, ends)
  else
    limit.saved = limit.rows
  end
  return #limit.saved / ROW
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

function concurrent.counts_for()
  return KEPT
end

-- @part refund
function concurrent.give()
  return false
end
