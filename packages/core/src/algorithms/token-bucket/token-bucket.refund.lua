-- token_bucket.give: gives units back. The twin of token-bucket-refunds.ts, which explains notes, parts and places. A
-- bucket drains in the order it was filled. A refund from the middle of the bucket moves the units behind it forward,
-- so they drain earlier. Notes record that.
local MOST_NOTES = 8

-- Places are exact to 2 µs of draining only.
local function doubt_of(limit)
  return 2 * limit.pace + 16
end

-- How many of the parts in front of some units were given back after these units were taken. The units were taken at
-- `at`, and `place` parts had to drain then before the last of them had drained. When it is not clear whether a refund
-- was in front of the units, it counts as in front: the order of refunds in the same µs is not known, and places are
-- exact to 2 µs of draining only. `sure` is the part of `gone` that was in front for certain. Only `sure` moves
-- `own_place` forward. If unclear refunds moved it, too, a refund in front of the units could seem to be behind them.
local function gone_before(limit, at, place, parts)
  local doubt, gone, sure = doubt_of(limit), 0, 0
  for from = 1, #limit.went_back, NOTE do
    local scale, when, note_place, note_parts = unpack_bytes(NOTE_FORMAT, limit.went_back, from)
    local size = 2 ^ (limit.kept - scale)
    local own_place = place - floor((when - at) * limit.pace + 0.5) - sure
    if when >= at and (note_place == 0 or floor(note_place * size) - doubt <= own_place - parts) then
      local is_sure = gone == sure and note_place > 0 and when > at
      gone = gone + ceil(note_parts * size)
      -- In the µs in which the units were taken, none of them had drained yet. So no more can be gone than was in
      -- front.
      if is_sure then sure = gone elseif when == at then gone = min(gone, max(place - parts, 0)) end
    end
  end
  return gone
end

-- How many parts must drain before the last of these units has drained: the level right after their request, which the
-- answer to that request shows, minus what has left the bucket since.
local function place_of(limit, units, at, remaining, reset)
  local place = (limit.burst - remaining - 1) * limit.unit + floor(reset * limit.rate + 0.5)
  local left = place - floor(max(now - at, 0) * limit.pace + 0.5)
  if limit.went_back ~= '' then left = left - gone_before(limit, at, place, units * limit.unit) end
  -- What was taken later is behind them in whole units. So anything less is not behind them, but a rounding error.
  local doubt, behind = doubt_of(limit), limit.level - left
  if left > 0 and behind > 0 and behind <= doubt and doubt < limit.unit then return limit.level end
  return left
end

-- Joins two notes into one. Its place is 0, so it counts as in front of all units: then no later refund gives back too
-- much.
local function joined(a, b)
  local parts = b.parts + ceil(a.parts * 2 ^ (b.scale - a.scale))
  return { scale = b.scale, when = b.when, place = 0, parts = min(parts, MOST_LEVEL) }
end

local function note(limit, place, parts)
  local notes, kept, packed = {}, drain_time(limit), {}
  for from = 1, #limit.went_back, NOTE do
    local scale, when, note_place, note_parts = unpack_bytes(NOTE_FORMAT, limit.went_back, from)
    if now - when < kept then
      notes[#notes + 1] = { scale = scale, when = when, place = note_place, parts = note_parts }
    end
  end
  if #notes >= MOST_NOTES then
    local oldest = table.remove(notes, 1)
    notes[1] = joined(oldest, notes[1])
  end
  notes[#notes + 1] = { scale = limit.kept, when = now, place = place, parts = parts }
  for i = 1, #notes do
    local each = notes[i]
    packed[i] = pack_bytes(NOTE_FORMAT, each.scale, each.when, each.place, each.parts)
  end
  limit.went_back = concat(packed)
end

function token_bucket.give(limit, units, at, remaining, reset)
  local level = limit.level
  -- The first to drain have no others before them.
  local place = at == EARLIEST and units * limit.unit or place_of(limit, units, at, remaining, reset)
  local given = min(max(place, 0), units * limit.unit, level)
  -- If no units are behind the refund, none move forward, and no note is needed.
  if given > 0 and place < level then note(limit, place, given) end
  set_level(limit, level - given)
  return given > 0
end
