--[[
  A subject's value: 1 byte format, 7 bytes time of the last write in µs, 4 bytes when nothing of it can count any
  more, in seconds, then for each limit: 4 bytes mark, and what its algorithm keeps: some numbers, and for some a
  tail. A limit finds its part by the mark, so that a part outlives a change of plan. Parts of limits that other
  plans have follow behind a mark of 0 with a time and an end of their own, the latest first, until their end: they
  count again when their plan is back.
]]
local FORMAT = 1
local HEADER, HEADER_FORMAT = 12, '>I1I7I4'
local MARK = 4

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
