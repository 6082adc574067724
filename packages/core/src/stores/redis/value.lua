--[[
  A subject's value: 1 byte format, 7 bytes time of the last write in µs, 4 bytes end: when nothing of it counts any
  more, in seconds since 1970. Then one part per limit: 4 bytes state id, and the algorithm's state: some numbers, and
  for some algorithms a tail. A limit finds its part by the state id, so a part outlives a change of plan. Parts of
  other plans' limits follow behind a state id of 0, with a time and an end of their own, the latest first. They are
  kept until their end, and count again when the subject returns to their plan.
]]
local FORMAT = 2
local HEADER, HEADER_FORMAT = 12, '>I1I7I4'
local STATE_ID = 4
local FOREIGN = 'FOREIGN the key holds a value that is not of this format'
-- The most that four bytes hold.
local LAST_END = 2 ^ 32 - 1

-- Raises the error for a value that another format or program wrote. It is never overwritten. Format 1 kept its number
-- in the upper half of the first byte.
local function refuse(value)
  local found = string.byte(value) or 0
  if found > 15 and found < 32 then found = 1 end
  if #value <= HEADER or found == 0 or found == FORMAT or found > 15 then error(FOREIGN, 0) end
  error('format ' .. found .. ', this one writes ' .. FORMAT, 0)
end

-- Writes a value. `old`: the value before, or false. `keep`: leave the key's time to live as it is; else set it to
-- `ttl` ms.
local function write(key, value, old, keep, ttl)
  -- Setting the time to live costs as much as the rest of SET, so it is kept while it is long enough. A value of the
  -- same length is cheapest to overwrite in place.
  if not keep then
    call('SET', key, value, 'PX', ttl)
  elseif #value == #old then
    call('SETRANGE', key, '0', value)
  else
    call('SET', key, value, 'KEEPTTL')
  end
end
