--[[
  token_bucket: GCRA, a level that drains evenly. The twin of token-bucket.ts: change both, law 5 (one truth)
  compares them.

  Params        burst, scale (a unit is 2^scale parts), rate (parts that drain per µs), window in µs
  State         1 byte: scale; 6 bytes: level at the last write, in parts; 1 byte: number of notes; then the notes,
                oldest first, each about one refund from the middle of the bucket. A note is 1 byte: scale; 7 bytes: time
                of the refund, in µs; 6 bytes: how far its last unit was from draining, in parts; 6 bytes: parts given
                back
]]
local token_bucket = { code = 4, format = 'I1I6I1', size = 8 }
local NOTE = 20
-- The most that six bytes hold.
local MOST_LEVEL = 2 ^ 48 - 1

function token_bucket.prepare(burst, scale, rate, window)
  local unit = 2 ^ scale
  return {
    algorithm = token_bucket, id = 0, waits = 0,
    burst = burst, scale = scale, rate = rate, window = window, own_unit = unit,
    filled = 0, kept = scale, unit = unit, depth = burst * unit, pace = rate,
    elapsed = 0, level = 0, is_over = false, is_other = false, went_back = '',
  }
end

-- Converts the level to parts at this burst's scale. Above the brim (the burst) it keeps the parts it was stored in.
local function measure(limit, scale, level)
  local unit, rate = limit.own_unit, limit.rate
  local filled = scale == limit.scale and level or ceil(level * 2 ^ (limit.scale - scale))
  local depth, pace = limit.burst * unit, rate
  limit.is_over = filled > depth
  if limit.is_over then
    unit, rate = 2 ^ scale, rate * 2 ^ (scale - limit.scale)
    filled, depth = level, limit.burst * unit
    -- Fast enough to drain within one window, or within the time that a full bucket takes if that is longer.
    pace = max(rate, level / max(limit.window, depth / rate))
  end
  limit.kept, limit.unit, limit.depth, limit.pace = limit.is_over and scale or limit.scale, unit, depth, pace
  limit.filled = filled
end

local function set_level(limit, level)
  if limit.is_over then measure(limit, limit.kept, level) else limit.filled = level end
  limit.level, limit.elapsed = limit.filled, 0
end

-- filled: the level at the last write; level: the level now
function token_bucket.load(limit, last, scale, filled, notes, blob, head)
  local elapsed = now > last and now - last or 0
  if scale ~= limit.scale or limit.is_over or filled > limit.depth then
    limit.is_other = scale ~= limit.scale and filled > 0
    measure(limit, scale, filled)
  else
    limit.is_other, limit.filled = false, filled
  end
  local level = limit.filled - floor(elapsed * limit.pace + 0.5)
  limit.elapsed, limit.level = elapsed, level > 0 and level or 0
  limit.went_back = ''
  if notes > 0 then return token_bucket.load_notes(limit, notes, blob, head) end
  return head
end

function token_bucket.start(limit)
  if limit.is_over then measure(limit, limit.scale, 0) end
  limit.filled, limit.elapsed, limit.level, limit.went_back = 0, 0, 0, ''
  limit.is_other = false
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
  -- When the clock went back, a denial is saved, too. Then the level as of now is stored, or units that have drained
  -- would be in the bucket again.
  if limit.elapsed > 0 then set_level(limit, limit.level) end
  return limit.kept, limit.filled, #limit.went_back / NOTE
end

-- If only notes are left, the end of the value stays: it was set for the receipts that they are about.
function token_bucket.lifetime(limit)
  if limit.level > 0 then return limit.filled / limit.pace end
  return limit.went_back == '' and 0 or 1
end

-- @part quick
-- @include algorithms/token-bucket/token-bucket.quick.lua
-- @part tail
local NOTE_FORMAT = '>I1I7I6I6'

-- Bytes of the notes, which follow the numbers of the state
function token_bucket.tail_size(_, _, _, notes)
  return notes * NOTE
end

-- The longest that a bucket takes to drain, in µs, even when its level is above the brim.
local function drain_time(limit)
  return max(limit.window, limit.burst * limit.own_unit / limit.rate)
end

-- Returns the position behind the notes. Drops them once all units that were there at the newest note have drained.
function token_bucket.load_notes(limit, notes, blob, head)
  local tail = head + notes * NOTE
  local _, newest = unpack_bytes(NOTE_FORMAT, blob, tail - NOTE)
  if now - newest < drain_time(limit) then limit.went_back = sub(blob, head, tail - 1) end
  return tail
end

function token_bucket.with_tail(limit, saved)
  if limit.went_back == '' then return saved end
  return saved .. limit.went_back
end

-- @part force
-- @include algorithms/token-bucket/token-bucket.force.lua
-- @part refund
-- @include algorithms/token-bucket/token-bucket.refund.lua
