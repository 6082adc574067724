-- token_bucket.give: a bucket drains in the order it was filled, so units are held until what they brought it to is
-- gone. Units that go back from before others let these move on: notes tell of that. The twin of
-- token-bucket-refunds.ts.
local MOST_NOTES = 8

-- Parts that went back from before some units after these were taken at `at`; they then stood at `place`. Where that is
-- in doubt they are taken to have stood before: of refunds in the same µs it is not known which came first, and places
-- are exact to 2 µs. `sure` is the part of it that is beyond doubt: what stands too far back by it would seem not to be
-- behind later ones.
local function gone_before(limit, at, place, parts)
  local doubt, gone, sure = 2 * limit.pace + 16, 0, 0
  for from = 1, #limit.went_back, NOTE do
    local scale, when, note_place, note_parts = unpack_bytes(NOTE_FORMAT, limit.went_back, from)
    local size = 2 ^ (limit.kept - scale)
    local own_place = place - floor((when - at) * limit.pace + 0.5) - sure
    if when >= at and (note_place == 0 or floor(note_place * size) - doubt <= own_place - parts) then
      local is_sure = gone == sure and note_place > 0 and when > at
      gone = gone + ceil(note_parts * size)
      -- In the µs that they were taken in, all of them are still there.
      if is_sure then sure = gone elseif when == at then gone = min(gone, max(place - parts, 0)) end
    end
  end
  return gone
end

-- Where the last of some units stands now, in parts from what drains next. The level that they brought the bucket to
-- follows from the answer to their request.
local function place_of(limit, units, at, remaining, reset)
  local place = (limit.burst - remaining - 1) * limit.unit + floor(reset * limit.rate + 0.5)
  local left = place - floor(max(now - at, 0) * limit.pace + 0.5)
  if limit.went_back == '' then return left end
  return left - gone_before(limit, at, place, units * limit.unit)
end

-- Two notes as one that nobody gets more back by.
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
  for i, each in ipairs(notes) do
    packed[i] = pack_bytes(NOTE_FORMAT, each.scale, each.when, each.place, each.parts)
  end
  limit.went_back = concat(packed)
end

function token_bucket.give(limit, units, at, remaining, reset)
  local level, place = limit.level, place_of(limit, units, at, remaining, reset)
  local given = min(max(place, 0), units * limit.unit, level)
  -- Where nothing stands behind them, nothing moves on.
  if given > 0 and place < level then note(limit, place, given) end
  set_level(limit, level - given)
  return given > 0
end
