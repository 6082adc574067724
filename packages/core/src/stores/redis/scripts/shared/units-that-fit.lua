-- How many of `units` still fit into a count of five bytes.
local function units_that_fit(units, count)
  return max(min(units, 2 ^ 40 - 1 - count), 0)
end
