-- The general way for scripts with one limit, whose parameters begin at ARGV[FIRST_PARAMETER].
-- @include algorithms
-- @include shared/sets.lua
-- @include shared/subject.lua
-- @include shared/decide.lua
local limit = { algorithm_name, id, unpack(ARGV, FIRST_PARAMETER) }
for i = 3, #limit do
  limit[i] = tonumber(limit[i])
end
