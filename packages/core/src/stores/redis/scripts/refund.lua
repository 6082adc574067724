--[[
  refund: gives units back to every limit of each request's subjects, unless they have come back by themselves.
  A subject whose key is gone is not created again, and no limit falls below 0 units used.

  KEYS[i]       the requests' subjects, in order. A request with an id has one more key after its subjects: its id's page
  ARGV[1]       now in µs; empty means Redis's own TIME (tests pass a clock)
  ARGV[2]       limit sets, in sets.lua's format
  ARGV[3]       how long an id is remembered, in ms
  ARGV[4...]    for each request: number of its subjects, its id's end or nothing, then for each subject: limit set (from
                1), and for each limit of that set: units, when they were taken (in µs; -1: the earliest of those that
                count), and `remaining` and `reset` from the answer to their request

  Returns       now, then for each request: 1 if units were given back; 0 if there were none to give; -2 if the calendar
                sent does not cover now, and nothing was done; or an error text

  State         like consume. A page is one string: 1 byte format, then for each id its end, and its answer: 1 or 0
  Complexity    O(n) for n subjects: a GET and a SET each. The log also reads the entries since the units were taken. A
                request with an id also searches a page of some 400 bytes, and writes it once or twice
]]
-- @include shared/prelude.lua
local EARLIEST = -1 -- as in implementation.ts
-- @include algorithms
-- @include shared/value.lua
-- @include shared/sets.lua
-- @include shared/subject.lua
-- @include shared/apart.lua

local sets, at = make_sets(cjson.decode(ARGV[2])), 4
local reply, request = { now }, 0

local function next_key()
  request = request + 1
  return KEYS[request]
end

local ENTRY = 3
-- The pages of the ids before, which most often are the same page.
local pages = {}

-- The page of an id, and the answer that was given to it: nil if there was none.
local function read_page(id, page_key)
  local page = pages[page_key] or call('GET', page_key) or string.char(FORMAT)
  if string.byte(page) ~= FORMAT or #page % ENTRY ~= 1 then error(FOREIGN, 0) end
  local at = string.find(page, id, 2, true)
  while at and at % ENTRY ~= 2 do
    at = string.find(page, id, at + 1, true)
  end
  return page, at and tonumber(sub(page, at + 2, at + 2))
end

-- A page lives on with each id, so none in it is forgotten early.
local function write_page(page_key, page)
  call('SET', page_key, page, 'PX', ARGV[3])
  pages[page_key] = page
end

-- Reads one request. A part has its key, its set, and `first`: where its receipts begin in ARGV.
local function read_parts()
  local parts, id = {}, ARGV[at + 1]
  local count = tonumber(ARGV[at])
  at = at + 2
  for i = 1, count do
    local set = sets[tonumber(ARGV[at])]
    parts[i] = { key = next_key(), set = set, first = at + 1 }
    at = at + 1 + 4 * #set
  end
  return parts, id, id ~= '' and next_key()
end

-- Loads a subject. Returns whether it has states that these limits can give units back to.
local function load_part(part)
  local set, value = part.set, call('GET', part.key)
  if not value then return false end
  load_limits(set, value)
  if set.missing == #set then return false end
  for i = 1, #set do
    if set[i].is_other then return false end
  end
  return true
end

-- Returns whether there were units to give.
local function give_part(part)
  local set, given, told = part.set, false, part.first
  for i = 1, #set do
    local limit, units, taken_at = set[i], tonumber(ARGV[told]), tonumber(ARGV[told + 1])
    -- What was taken before a renewal is of the period before.
    local is_before = limit.renewed_at and taken_at ~= EARLIEST and taken_at < limit.renewed_at
    if units > 0 and not is_before then
      local remaining, reset = tonumber(ARGV[told + 2]), tonumber(ARGV[told + 3])
      given = limit.algorithm.give(limit, units, taken_at, remaining, reset) or given
    end
    told = told + 4
  end
  save_limits(set, part.key)
  return given
end

-- Notes in `parts` whether a subject was written, and whether units were given back: both stay if a later write fails.
local function give_parts(parts)
  local changed = {}
  for i = 1, #parts do
    local part = parts[i]
    -- A subject can be in several parts of a request: load it again after a change.
    if changed[part.key] then part.is_known = load_part(part) end
    changed[part.key] = true
    if part.is_known then
      parts.given = give_part(part) or parts.given
      parts.is_written = true
    end
  end
end

-- The id is remembered before the first subject is written, and forgotten if that write is refused: Redis keeps what a
-- script wrote before an error, and the request comes again.
local function give_back(parts, id, page_key)
  if is_outside(parts) then return OUTSIDE_CALENDAR end
  local page, answer
  if page_key then
    page, answer = read_page(id, page_key)
    if answer then return answer end
  end
  set_apart(parts)
  for i = 1, #parts do
    parts[i].is_known = load_part(parts[i])
  end
  if page then write_page(page_key, page .. id .. 1) end
  local done, err = pcall(give_parts, parts)
  if page and not parts.given then
    write_page(page_key, (done or parts.is_written) and page .. id .. 0 or page)
  end
  if not done then error(err, 0) end
  return parts.given and 1 or 0
end

while at < #ARGV do
  local parts, id, page_key = read_parts()
  local ok, result = pcall(give_back, parts, id, page_key)
  reply[#reply + 1] = ok and result or message(result)
end
return reply
