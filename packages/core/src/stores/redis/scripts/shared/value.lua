--[[
  A subject's value:

  Header        1 byte: format; 7 bytes: time of the last write, in µs; 4 bytes: end, when nothing of it counts any more, in
                seconds since 1970
  Parts         one for each limit. 4 bytes: state id; then the algorithm's state: some numbers, and for some algorithms a
                tail. A limit finds its part by the state id, so a part survives a change of plan
  Other parts   those of other plans' limits, after a state id of 0, each with its own time and end, the latest first. They
                are kept until their end, and count again if the subject returns to their plan. Only the latest MOST_OTHERS
                are kept. Older ones are merged into one with a state id of 2 and the most units of any: see parts.lua
  Leases        units on lease, after a state id of 1: see leases.lua

  Behind the first parts there can be two more: denials and blocks, after a state id of 3: see denials.lua; and what was booked on the
  limits, after a state id of 4: see accounts.lua
]]
local FORMAT = 3
local HEADER, HEADER_FORMAT = 12, '>I1I7I4'
local STATE_ID, ON_LEASE = 4, 1
local FOREIGN = 'FOREIGN the key holds a value that is not of this format'
-- The largest number in four bytes.
local LAST_END = 2 ^ 32 - 1
