--[[
  token_bucket: GCRA, a level that drains evenly. The twin of token-bucket.ts: change both, the law of one truth
  compares them.

  Params        burst, scale (a unit is 2^scale parts), rate (parts that drain in a µs)
  State         1 byte: scale; 6 bytes: level at the last write, in parts
]]
local token_bucket = { code = 4, format = 'I1I6', size = 7 }

function token_bucket.prepare(burst, scale, rate)
  local unit = 2 ^ scale
  return {
    kernel = token_bucket, mark = 0, waits = 0,
    burst = burst, scale = scale, rate = rate,
    unit = unit, depth = burst * unit,
    filled = 0, elapsed = 0, level = 0, is_other = false,
  }
end

-- filled: the level at the last write; level: what has not drained of it until now
function token_bucket.load(limit, last, scale, filled)
  local elapsed = now > last and now - last or 0
  limit.is_other = scale ~= limit.scale and filled > 0
  if scale ~= limit.scale then filled = ceil(filled * 2 ^ (limit.scale - scale)) end
  if filled > limit.depth then filled = limit.depth end
  local level = filled - floor(elapsed * limit.rate + 0.5)
  limit.filled, limit.elapsed, limit.level = filled, elapsed, level > 0 and level or 0
end

function token_bucket.start(limit)
  limit.filled, limit.elapsed, limit.level = 0, 0, 0
end

local function until_fits(limit, cost)
  local excess, rate = limit.filled + cost * limit.unit - limit.depth, limit.rate
  local elapsed = ceil((excess - 0.5) / rate)
  while floor(elapsed * rate + 0.5) < excess do
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
  local level = limit.level + cost * limit.unit
  limit.filled, limit.level, limit.elapsed = level, level, 0
end

function token_bucket.left(limit)
  local remaining = floor((limit.depth - limit.level) / limit.unit)
  if remaining >= limit.burst then return remaining, 0 end
  return remaining, until_fits(limit, remaining + 1)
end

function token_bucket.save(limit)
  -- A denial is written, too, when the clock went back, and what has drained until now counts no more then.
  limit.filled, limit.elapsed = limit.level, 0
  return limit.scale, limit.filled
end

function token_bucket.lifetime(limit)
  return limit.filled / limit.rate
end

-- @refund
local function still_held(limit, units, at, remaining, reset)
  local filled_to = (limit.burst - remaining - 1) * limit.unit + floor(reset * limit.rate + 0.5)
  local left = filled_to - floor(max(now - at, 0) * limit.rate + 0.5)
  return min(max(left, 0), units * limit.unit)
end

function token_bucket.give(limit, units, at, remaining, reset)
  local given = min(still_held(limit, units, at, remaining, reset), limit.level)
  limit.filled = limit.level - given
  limit.level, limit.elapsed = limit.filled, 0
  return given > 0
end
