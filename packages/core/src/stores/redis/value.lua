--[[
  A subject's value: 4 bits format, 4 bits of its end, 7 bytes time of the last write in µs, 3 more bytes of its end:
  when nothing of it can count any more, in seconds, the low bits of a clock, read as a time after the last write.
  Then for each limit: 4 bytes mark, and what its algorithm keeps: some numbers, and for some a tail. A limit finds
  its part by the mark, so that a part outlives a change of plan. Parts of limits that other plans have follow behind
  a mark of 0 with a time and an end of their own, the latest first, until their end: they count again when their
  plan is back.
]]
local FORMAT = 1
local HEADER, HEADER_FORMAT = 11, '>I1I7I3'
local MARK = 4
local LOW_ENDS, ENDS = 2 ^ 24, 2 ^ 28

local function read_ends(first, last, low)
  local last_s = floor(last / 1000000)
  return last_s + (first % 16 * LOW_ENDS + low - last_s) % ENDS
end

-- The first byte, and the three at the end of the header.
local function pack_ends(ends)
  return FORMAT * 16 + floor(ends / LOW_ENDS) % 16, ends % LOW_ENDS
end

-- `old` is the value before, false when there was none; `keep` its time to live, else it is `ttl` ms from now.
local function write(key, value, old, keep, ttl)
  -- Setting the time to live anew costs as much as all else about SET, so it is kept where it is long enough; and a
  -- value of the same length is cheapest to write in place.
  if not keep then
    call('SET', key, value, 'PX', ttl)
  elseif #value == #old then
    call('SETRANGE', key, '0', value)
  else
    call('SET', key, value, 'KEEPTTL')
  end
end
