function token_bucket.force(limit, used)
  local unit, rate = limit.unit, limit.rate * limit.unit / limit.own_unit
  local level, total, age = 0, 0, used[2] or 0
  for i = 1, #used, 2 do
    level = max(level - floor((age - used[i + 1]) * rate + 0.5), 0) + used[i] * unit
    total, age = total + used[i], used[i + 1]
  end
  level = max(level - floor(age * rate + 0.5), 0)
  local room = MOST_LEVEL - limit.level
  local denied = min(ceil(max(level - room, 0) / unit), total)
  -- Doubles do not hold the largest levels exactly, hence max and min. measure: a level above the brim drains faster.
  measure(limit, limit.kept, limit.level + min(max(level - denied * unit, 0), room))
  limit.level, limit.elapsed = limit.filled, 0
  return total - denied
end

-- Raises the level as of the time of use, or as of the last write if that is later. From there it drains on.
function token_bucket.enter(limit, units, age)
  local elapsed = limit.elapsed
  -- For an empty bucket any time will do.
  if elapsed == 0 and limit.filled == 0 then elapsed = age end
  local since = min(age, elapsed)
  local level = max(limit.filled - floor((elapsed - since) * limit.pace + 0.5), 0)
  measure(limit, limit.kept, min(level + units * limit.unit, MOST_LEVEL))
  limit.elapsed, limit.level = since, max(limit.filled - floor(since * limit.pace + 0.5), 0)
end

function token_bucket.counts_for(limit)
  return drain_time(limit)
end

-- Like wait, but also for more than the burst. If the level has drained or is above the brim, the time counts from now, at
-- the limit's rate: a level above the brim drains slower from its next write on.
function token_bucket.place(limit, units)
  local parts = limit.level + units * limit.unit - limit.depth
  if parts <= 0 then return 0 end
  if limit.level > 0 and not limit.is_over then return until_fits(limit, units) end
  local rate = limit.rate * limit.unit / limit.own_unit
  local elapsed = ceil((parts - 0.5) / rate)
  while floor(elapsed * rate + 0.5) < parts do
    elapsed = elapsed + 1
  end
  return elapsed
end

-- Units in the level now, the most that it holds, and how many units drain in a µs.
function token_bucket.flow(limit)
  return limit.level / limit.unit, limit.burst, limit.rate / limit.own_unit
end

-- Units that went back in front of others must not go back once more with these.
function token_bucket.units_in(scale, level, notes, value, head)
  local units = ceil(level / 2 ^ scale)
  for from = head, head + (notes - 1) * NOTE, NOTE do
    local note_scale, _, _, note_parts = unpack_bytes(NOTE_FORMAT, value, from)
    units = units + ceil(note_parts / 2 ^ note_scale)
  end
  return units
end

-- Any number of units fits at this scale.
function token_bucket.state_of(_, units) return 0, units, 0 end
