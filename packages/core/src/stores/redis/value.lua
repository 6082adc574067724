--[[
  A subject's value: 1 byte format, 7 bytes time of the last write in µs, 4 bytes when nothing of it can count any
  more, in seconds since 1970. Then for each limit: 4 bytes state id, and what its algorithm keeps: some numbers, and
  for some a tail. A limit finds its part by the state id, so that a part outlives a change of plan. Parts of limits
  that other plans have follow behind a state id of 0 with a time and an end of their own, the latest first, until
  their end: they count again when their plan is back.
]]
local FORMAT = 2
local HEADER, HEADER_FORMAT = 12, '>I1I7I4'
local STATE_ID = 4
local FOREIGN = 'FOREIGN the key holds a value that is not of this format'
-- What four bytes hold.
local LAST_END = 2 ^ 32 - 1

-- Tells why a value is left alone. Format 1 had its number in the upper half of the byte.
local function refuse(value)
  local found = string.byte(value) or 0
  if found > 15 and found < 32 then found = 1 end
  if #value <= HEADER or found == 0 or found == FORMAT or found > 15 then error(FOREIGN, 0) end
  error('format ' .. found .. ', this one writes ' .. FORMAT, 0)
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
