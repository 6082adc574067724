--[[
  token_bucket: GCRA, a level that drains evenly. The twin of token-bucket.ts: change both, the law of one truth
  compares them.

  Params        burst, scale (a unit is 2^scale parts), rate (parts that drain in a µs), window in µs
  State         1 byte: scale; 6 bytes: level at the last write, in parts
]]
local token_bucket = { code = 4, format = 'I1I6', size = 7 }

function token_bucket.prepare(burst, scale, rate, window)
  local unit = 2 ^ scale
  return {
    kernel = token_bucket, mark = 0, waits = 0,
    burst = burst, scale = scale, rate = rate, window = window, own_unit = unit,
    filled = 0, kept = scale, unit = unit, depth = burst * unit, pace = rate,
    elapsed = 0, level = 0, is_over = false, is_other = false,
  }
end

-- Counts a level in the parts of this burst, or where it is above the brim in its own, which can hold it.
local function measure(limit, scale, level)
  local unit, rate = limit.own_unit, limit.rate
  local filled = scale == limit.scale and level or ceil(level * 2 ^ (limit.scale - scale))
  local depth, pace = limit.burst * unit, rate
  limit.is_over = filled > depth
  if limit.is_over then
    unit, rate = 2 ^ scale, rate * 2 ^ (scale - limit.scale)
    filled, depth = level, limit.burst * unit
    -- So that it is gone after a window.
    pace = max(rate, level / max(limit.window, depth / rate))
  end
  limit.kept, limit.unit, limit.depth, limit.pace = limit.is_over and scale or limit.scale, unit, depth, pace
  limit.filled = filled
end

local function set_level(limit, level)
  if limit.is_over then measure(limit, limit.kept, level) else limit.filled = level end
  limit.level, limit.elapsed = limit.filled, 0
end

-- filled: the level at the last write; level: what has not drained of it until now
function token_bucket.load(limit, last, scale, filled)
  local elapsed = now > last and now - last or 0
  if scale ~= limit.scale or limit.is_over or filled > limit.depth then
    limit.is_other = scale ~= limit.scale and filled > 0
    measure(limit, scale, filled)
  else
    limit.is_other, limit.filled = false, filled
  end
  local level = limit.filled - floor(elapsed * limit.pace + 0.5)
  limit.elapsed, limit.level = elapsed, level > 0 and level or 0
end

function token_bucket.start(limit)
  if limit.is_over then measure(limit, limit.scale, 0) end
  limit.filled, limit.elapsed, limit.level = 0, 0, 0
end

local function until_fits(limit, cost)
  local excess, pace = limit.filled + cost * limit.unit - limit.depth, limit.pace
  local elapsed = ceil((excess - 0.5) / pace)
  while floor(elapsed * pace + 0.5) < excess do
    elapsed = elapsed + 1
  end
  return elapsed - limit.elapsed
end

function token_bucket.wait(limit, cost)
  if limit.level + cost * limit.unit <= limit.depth then return 0 end
  if cost > limit.burst then return NEVER end
  return until_fits(limit, cost)
end

function token_bucket.take(limit, cost)
  set_level(limit, limit.level + cost * limit.unit)
end

function token_bucket.left(limit)
  local remaining = max(floor((limit.depth - limit.level) / limit.unit), 0)
  if remaining >= limit.burst then return remaining, 0 end
  return remaining, until_fits(limit, remaining + 1)
end

function token_bucket.save(limit)
  -- A denial is written, too, when the clock went back, and what has drained until now counts no more then.
  if limit.elapsed > 0 then set_level(limit, limit.level) end
  return limit.kept, limit.filled
end

function token_bucket.lifetime(limit)
  return limit.filled / limit.pace
end

-- @refund
local function still_held(limit, units, at, remaining, reset)
  local filled_to = (limit.burst - remaining - 1) * limit.unit + floor(reset * limit.rate + 0.5)
  local left = filled_to - floor(max(now - at, 0) * limit.pace + 0.5)
  return min(max(left, 0), units * limit.unit)
end

function token_bucket.give(limit, units, at, remaining, reset)
  local given = min(still_held(limit, units, at, remaining, reset), limit.level)
  set_level(limit, limit.level - given)
  return given > 0
end
