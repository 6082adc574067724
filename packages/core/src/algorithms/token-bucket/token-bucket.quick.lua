-- µs in which this many parts drain. n - n % 1 is floor(n), and n + -n % 1 is ceil(n), without a function call.
local function time_to_drain(parts, rate)
  local elapsed = (parts - 0.5) / rate
  elapsed = elapsed + -elapsed % 1
  while elapsed * rate + 0.5 < parts do
    elapsed = elapsed + 1
  end
  return elapsed
end

-- For a bucket at exactly this scale, within its brim and without notes.
function token_bucket.quick(burst, scale, rate)
  local unit = 2 ^ scale
  local depth = burst * unit
  return function(cost, last, kept, filled, notes)
    local level, elapsed = 0, 0
    if last then
      if kept ~= scale or notes > 0 or filled > depth then return nil end
      level = filled
      if now > last then
        elapsed = now - last
        local drained = elapsed * rate + 0.5
        level = filled - (drained - drained % 1)
        if level < 0 then level = 0 end
      end
    end
    local left = (depth - level) / unit
    left = left - left % 1
    local remaining = left - cost
    if remaining >= 0 then
      level = level + cost * unit
      -- The same as time_to_drain: here, the call would cost a tenth.
      local parts = level + (remaining + 1) * unit - depth
      local reset = (parts - 0.5) / rate
      reset = reset + -reset % 1
      while reset * rate + 0.5 < parts do
        reset = reset + 1
      end
      return remaining, reset, level / rate, scale, level, 0
    end
    if cost > burst then return nil end
    local wait = time_to_drain(filled + cost * unit - depth, rate) - elapsed
    if cost == left + 1 then return -1 - left, wait, wait end
    return -1 - left, wait, time_to_drain(filled + (left + 1) * unit - depth, rate) - elapsed
  end
end
