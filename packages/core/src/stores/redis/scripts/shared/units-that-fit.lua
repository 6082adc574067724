-- How many of `units` a count of five bytes still has room for.
local function units_that_fit(units, count)
  return max(min(units, 2 ^ 40 - 1 - count), 0)
end
