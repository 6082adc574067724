-- The rows of requests in flight, as concurrent.lua describes them.
local ROW, ROW_FORMAT, OWN_FORMAT = 21, '>c6I3I6I6', '>I3I6I6'
-- How long a row lives after the last message of its process, in µs and ms.
local KEPT, KEPT_MS = 14000000, 14000

-- Where the holder's row is among the rows that begin at `from` of a text and reach to its end.
local function find_row(text, from)
  local at = string.find(text, holder, from, true)
  while at and (at - from) % ROW > 0 do
    at = string.find(text, holder, at + 1, true)
  end
  return at
end

-- The holder's row after its message: how many slots it has, and the number of the last one. Then how many it had before, and when
-- it ends: nil if there is no such row. Then the texts of the rows before these numbers and behind them.
local function read_row(text, from)
  local at = find_row(text, from)
  if not at then return held, known, 0, nil, sub(text, from) .. holder, '' end
  local before, number, ends = unpack_bytes(OWN_FORMAT, text, at + 6)
  local own = held
  if number > known then own = held + number - known else number = known end
  return own, number, before, ends, sub(text, from, at + 5), sub(text, at + ROW)
end
