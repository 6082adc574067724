--[[
  concurrent: requests in flight. The twin of concurrent.ts: change both, law 5 (one truth) compares them.

  Params        quota, hint: the wait for a denied request, in µs
  State         2 bytes: number of rows; 4 bytes: slots that all rows hold; 6 bytes: a time before which no row ends, in ms;
                then the rows, one for each holder, in any order. A row is 6 bytes: the holder's id; 3 bytes: slots that it
                holds; 6 bytes: number of its last slot; 6 bytes: when the row ends, in ms
  Complexity    O(1); O(rows) if a row has ended or the clock went back
]]
local concurrent = { code = 6, format = 'I2I4I6', size = 12, in_flight = true }
-- @include algorithms/concurrent/concurrent.rows.lua

function concurrent.prepare(quota, hint)
  return {
    algorithm = concurrent, id = 0, waits = 0, quota = quota, hint = hint,
    rows = '', held = 0, ends = 0, has_told = false, own_held = 0, own_number = 0, own_ends = nil,
    rows_before = '', rows_behind = '',
  }
end

-- Bytes of the rows, which follow the numbers of the state
function concurrent.tail_size(_, count) return count * ROW end

-- Keeps the rows that have not ended, with ends that are `back` ms earlier.
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
  limit.has_told = false
  if back == 0 and ends * 1000 > now then
    limit.rows, limit.held, limit.ends = rows, held, ends
  else
    keep_live(limit, rows, back)
  end
  return tail
end

function concurrent.start(limit)
  limit.rows, limit.held, limit.ends, limit.has_told = '', 0, 0, false
end

-- Applies the holder's message to its row. Returns whether the number of slots has changed.
function concurrent.declare(limit)
  local own, number, before, ends, rows_before, rows_behind = read_row(limit.rows, 1)
  limit.own_held, limit.own_number, limit.own_ends = own, number, ends
  limit.rows_before, limit.rows_behind = rows_before, rows_behind
  limit.held, limit.has_told = limit.held - before + own, true
  return own ~= before
end

-- All rows, with the holder's own as it is now.
local function rows_until(limit, ends)
  return limit.rows_before .. pack_bytes(OWN_FORMAT, limit.own_held, limit.own_number, ends) .. limit.rows_behind
end

-- Updates the stored row, and leaves its end as it is. Returns whether there is such a row.
function concurrent.release(limit)
  concurrent.declare(limit)
  if not limit.own_ends then return false end
  limit.rows = rows_until(limit, limit.own_ends)
  return true
end

-- The state after a release.
function concurrent.pack_rows(limit)
  return pack_bytes('>I2I4I6', #limit.rows / ROW, limit.held, limit.ends) .. limit.rows
end

function concurrent.wait(limit) return limit.held < limit.quota and 0 or limit.hint end

function concurrent.take(limit)
  if not limit.has_told then return end
  limit.held, limit.own_held, limit.own_number = limit.held + 1, limit.own_held + 1, limit.own_number + 1
end

-- In place of the reset: the number of the last slot of the process that asks.
function concurrent.left(limit)
  return max(limit.quota - limit.held, 0), limit.has_told and limit.own_number or 0
end

function concurrent.save(limit)
  if limit.has_told and (limit.own_held > 0 or limit.own_ends) then
    local ends, is_alone = floor(now / 1000) + KEPT_MS, limit.rows == '' or limit.own_ends and #limit.rows == ROW
    limit.rows, limit.ends = rows_until(limit, ends), is_alone and ends or min(limit.ends, ends)
  end
  return #limit.rows / ROW, limit.held, limit.ends
end

function concurrent.with_tail(limit, saved)
  return saved .. limit.rows
end

function concurrent.lifetime(limit)
  return (limit.has_told or limit.rows ~= '') and KEPT or 0
end

-- @part quick
-- @include algorithms/concurrent/concurrent.quick.lua
-- @part force
-- Units that are charged later belong to requests that have ended, or that their process reports.
function concurrent.force(_, used)
  local units = 0
  for i = 1, #used, 2 do
    units = units + used[i]
  end
  return units
end

function concurrent.enter() end

function concurrent.counts_for() return KEPT end
-- Here the rows, which count until their end, even without slots.
function concurrent.units_in(count) return count end

-- @part refund
function concurrent.give()
  return false
end
