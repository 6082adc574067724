-- The answers are collected in `reply`, `size` of them. `take`: units are taken, else only looked at.
local take = ARGV[2] ~= 'look'
local reply, size = { now, 0, 0, 0 }, 1
