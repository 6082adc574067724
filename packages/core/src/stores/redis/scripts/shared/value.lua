--[[
  A subject's value: 1 byte format, 7 bytes time of the last write in µs, 4 bytes end: when nothing of it counts any
  more, in seconds since 1970. Then one part per limit: 4 bytes state id, and the algorithm's state: some numbers, and
  for some algorithms a tail. A limit finds its part by the state id, so a part outlives a change of plan. Parts of
  other plans' limits follow behind a state id of 0, with a time and an end of their own, the latest first. They are
  kept until their end, and count again when the subject returns to their plan: the latest MOST_OTHERS. Those of before
  are merged to one, with a state id of 2 and the most units of any of them: parts.lua says how it counts. Units on lease
  come last, behind a state id of 1: leases.lua says how.
]]
local FORMAT = 3
local HEADER, HEADER_FORMAT = 12, '>I1I7I4'
local STATE_ID, ON_LEASE = 4, 1
local FOREIGN = 'FOREIGN the key holds a value that is not of this format'
-- The most that four bytes hold.
local LAST_END = 2 ^ 32 - 1
