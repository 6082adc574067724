-- `reply` collects the answers, `size` of them so far. `take`: whether units are taken, or only looked at.
local take = ARGV[2] ~= 'look'
local reply, size = { now, 0, 0, 0 }, 1
