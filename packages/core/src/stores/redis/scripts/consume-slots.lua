--[[
  consume-slots: like consume, for requests with one subject each that all have the same cost, the same holder, and the same
  set of one limit and a limit of requests in flight; and for releases of such subjects. It is much cheaper: Redis runs a
  script from its first line every time, and this one is short. There is one such script for each algorithm.

  KEYS[i]       the subjects that are asked, each once, then those of releases, each once. No subject is in both
  ARGV[1]       now in µs; empty means Redis's own TIME (tests pass a clock)
  ARGV[2]       cost in units (whole, from 1)
  ARGV[3]       time to live in ms
  ARGV[4]       the holder
  ARGV[5]       how many subjects are asked
  ARGV[6]       JSON list with, for each subject: slots held, and number of the last slot that the holder knows; then how
                often the first subjects are asked. Those after them are asked once
  ARGV[7]       state id of the requests in flight, as in sets.lua
  ARGV[8]       the most requests in flight
  ARGV[9]       the wait to return for a denied request, in µs
  ARGV[10]      the limit's state id
  ARGV[11...]   the limit's parameters, at most five

  Returns       like consume, for a run that asks and then one of releases

  State         like consume
  Complexity    O(n) for n subjects: each is read once, and written once if it changes
]]
-- @include shared/prelude.lua
-- @include shared/value.lua
-- @include rows in flight

local id, slots_id, ttl, cost, quota = ARGV[10] + 0, ARGV[7] + 0, ARGV[3], ARGV[2] + 0, ARGV[8] + 0
local asked, numbers = ARGV[5] + 0, cjson.decode(ARGV[6])
holder = ARGV[4]
-- @include quick
-- The requests in flight of a value, up to the end of their first row. Fewer numbers cost less: the state id and how many rows there
-- are is one. The holder is a number, too, since Lua keeps each text that it reads.
local IN_FLIGHT, IN_FLIGHT_PACKING, IN_FLIGHT_FORMAT = 16 + ROW, 'I6I4I6I6I3I6I6', '>I6I4I6I6I3I6I6'
local ROWS, holder_id = slots_id * 2 ^ 16, unpack_bytes('>I6', holder)
-- A whole value up to there. The entries of the limit but the last one are a text.
local whole_packing = PACKING .. (entry and 'c0' .. entry_packing or '') .. IN_FLIGHT_PACKING

local reply, size, keys, now_ms = { now, 0, 0, 0 }, 1, KEYS, floor(now / 1000)
local new_end, row_end = min(floor((now + ttl * 1000) / 1000000), LAST_END), now_ms + KEPT_MS
-- Where Redis refuses something, the general way tells why.
local try = redis.pcall
local values = #keys == 1 and { try('GET', keys[1]) } or try('MGET', unpack(keys))

-- In place of the value of a subject that has none, so that it is read in the same way.
local fresh
-- The general way, made where it is first needed: a script makes its functions anew at every run, and each costs time.
local decide_generally, set

for i = 1, #keys do
  local old, left, told = values[i], numbers[2 * #keys + i] or 1, size
  local value, is_asked = old, i <= asked
  held, known = numbers[2 * i - 1], numbers[2 * i]
  -- Left where the general way is needed.
  repeat
    if not old then
      if not is_asked then break end
      fresh = fresh or pack_bytes(PACKING .. IN_FLIGHT_PACKING, FORMAT, now, 0, id, 0, 0, 0,
        ROWS + 1, 0, row_end, holder_id, 0, 0, 0)
      value = fresh
    elseif #old < SIZE + IN_FLIGHT then
      break
    end
    local found_format, last, ends, found, a, b, c = unpack_bytes(PACKING, value)
    local start = entry and SIZE + b * entry or SIZE
    local behind = start + IN_FLIGHT
    if found ~= id or found_format ~= FORMAT or last > now or #value < behind then break end
    local found_rows, total, soonest, first, own, number, own_end = unpack_bytes(IN_FLIGHT_FORMAT, value, start + 1)
    local rows, before = (#value - behind) / ROW + 1, nil
    if found_rows ~= ROWS + rows or soonest <= now_ms then break end
    -- The row of the holder goes in front of all others. So what is written ends `behind` bytes after the beginning of the value, and
    -- nothing but the rows that were in front of it is copied: `before`.
    if first ~= holder_id then
      local first_row, at = behind - ROW + 1, find_row(value, behind + 1)
      if at then
        own, number, own_end = unpack_bytes(OWN_FORMAT, value, at + 6)
        before, behind = sub(value, first_row, at - 1), at + ROW - 1
      else
        own, number, own_end, rows, before, behind = 0, 0, nil, rows + 1, sub(value, first_row), #value
      end
    end
    -- What its message makes of the row, as read_row does.
    total = total - own
    if number > known then own = held + number - known else own, number = held, known end
    total = total + own
    if is_asked then
      -- An algorithm can be without a quick way.
      if not take_quickly then break end
      if not old then last = nil end
      local times, from, needed, log, time, units = left, SIZE + 1, KEPT, nil, nil, nil
      while left > 0 and total < quota do
        local remaining, reset, lifetime, d, e, f, earlier, latest, added = take_quickly(cost, last, a, b, c, value, from)
        if not remaining or remaining < 0 then break end
        last, a, b, c, log, time, units = now, d, e or 0, f or 0, earlier, latest, added
        if lifetime > needed then needed = lifetime end
        total, own, number, left = total + 1, own + 1, number + 1, left - 1
        reply[told + 1], reply[told + 2], reply[told + 3], reply[told + 4] = remaining, reset, quota - total, number
        told = told + 4
        if log and left > 0 then value, from = log .. pack_bytes('>' .. entry_packing, time, units), 1 end
      end
      if left == times then break end
      if rows == 1 or row_end < soonest then soonest = row_end end
      local keep, done = ends * 1000000 >= now + needed, nil
      if not keep then ends = new_end end
      if entry then
        value = pack_bytes(whole_packing, FORMAT, now, ends, id, a, b, c, log, time, units,
          ROWS + rows, total, soonest, holder_id, own, number, row_end)
      else
        value = pack_bytes(whole_packing, FORMAT, now, ends, id, a, b, c,
          ROWS + rows, total, soonest, holder_id, own, number, row_end)
      end
      if before then value = value .. before end
      -- As write.lua, but rows that are behind can stay where they are.
      if not old then
        done = try('SET', keys[i], value, 'PX', ttl, 'NX')
      elseif keep and #value == behind then
        done = try('SETRANGE', keys[i], '0', value)
      else
        if behind < #old then value = value .. sub(old, behind + 1) end
        if keep then
          done = try('SET', keys[i], value, 'KEEPTTL')
        else
          done = try('SET', keys[i], value, 'PX', ttl)
        end
      end
      if done and (old and done == #old or not done.err) then
        size = told
      else
        left = times
      end
    else
      -- Without a row of the holder, the general way makes one.
      if not own_end then break end
      value = pack_bytes(IN_FLIGHT_FORMAT, ROWS + rows, total, soonest, holder_id, own, number, own_end)
      if before then value = value .. before end
      if try('SETRANGE', keys[i], format('%d', start), value) ~= #old then break end
      reply[size + 1], reply[size + 2], size, left = max(quota - total, 0), number, size + 2, 0
    end
  until true
  if left > 0 then
    if not set then
      local take = true
      -- @include shared/general-of-one.lua
      local in_flight = { 'concurrent', slots_id, quota, tonumber(ARGV[9]) }
      decide_generally, set = decide_slots, make_set({ { limit, in_flight }, ttl })
    end
    decide_generally(set, keys[i], is_asked and cost or -1, left)
  end
end
if set then return reply end
-- @include shared/text-reply.lua
