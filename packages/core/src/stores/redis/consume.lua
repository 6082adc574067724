--[[
  consume: takes units from every limit of each request's subjects.

  KEYS[i]       the subjects of the requests, in order; a key that occurs twice is charged twice, in order. A request
                with an id has one key more, after its subjects: it holds the answer that was given to this id
  ARGV[1]       now in µs; empty means Redis's own TIME (tests pass a clock)
  ARGV[2]       take; force: as take, for a batch in which some request has the grant force; or look: the same answers,
                but nothing changes
  ARGV[3]       limit sets, as sets.lua says
  ARGV[4]       how long an id is remembered, in ms
  ARGV[5...]    runs of requests of one subject each, with the grant all: limit set (from 1), cost in units (whole, from
                1), number of keys, how many of them are asked several times, and for each of these: its place in the
                run (from 1), and how many times. A key is at most once in a run. Any other request: 0, number of its
                subjects, its grant (all, upTo, force, or once: force with an id), then for each subject: limit set, and
                cost; with force, in place of the cost, JSON: for each limit a list of units and how many µs ago they
                were used, the oldest first

  Returns       now, then for each request, for each limit of its sets: remaining and reset if the cost fits the limit,
                else -1 - remaining, wait and reset; then, unless the grant is all, granted. Of the requests for one key
                of a run, a denial is the answer to all that follow. A request that could not be decided has one error
                text instead, which is also the answer to those that follow it in the same way; others are not affected
    wait        µs until the cost fits: -1 it never can, -2 the calendar sent does not cover now and nothing was done:
                send it again with another. With all, the cost was taken if it fits every limit; with force it fits
    remaining   units left after this request
    reset       µs until another unit is there if nobody consumes; 0 when nothing is used
    granted     units taken: with upTo the same for all limits, with force each limit's own

  State         one string per key, as value.lua says, gone when the longest window is over. One string per id: the
                units granted to it, as JSON; a request with a known id changes nothing
  Complexity    O(n) for n subjects: each is read once, and written once if it is allowed
]]
-- @include prelude.lua

-- Made only for batches that need it: a script makes its functions anew at every run, and each costs time.
local with_force = ARGV[2] == 'force'

-- How many of `units` a count of five bytes still has room for.
local units_that_fit = with_force and function(units, count)
  return max(min(units, 2 ^ 40 - 1 - count), 0)
end

-- @include algorithms
-- @include value.lua
-- @include sets.lua
-- @include subject.lua
-- @include decide.lua

-- @include quick.lua

-- `at`: where the next requests begin in ARGV; `request`: how many keys come before theirs.
local request = 0
local sets, at = read_sets(ARGV[3]), 5

-- Made when first needed: most batches do not need it.
local decide_parts

local function make_together()
  -- @include apart.lua
  -- @include together.lua
  return decide_together
end

-- Reads and decides one request with several subjects, or one with a grant other than `all`.
local function read_together()
  decide_parts = decide_parts or make_together()
  local parts, grant, id_key = {}, ARGV[at + 2], nil
  for i = 1, tonumber(ARGV[at + 1]) do
    local first = at + 1 + 2 * i
    request = request + 1
    local part = { set = sets[tonumber(ARGV[first])], key = KEYS[request], cost = tonumber(ARGV[first + 1]) or 1 }
    if grant == 'force' or grant == 'once' then part.used = cjson.decode(ARGV[first + 1]) end
    parts[i] = part
  end
  if grant == 'once' then
    request = request + 1
    grant, id_key = 'force', KEYS[request]
  end
  at = at + 3 + 2 * #parts
  local first_size = size
  local decided, err = pcall(decide_parts, parts, grant, id_key)
  if not decided then
    size = first_size + 1
    reply[size] = message(err)
  end
end

-- Decides equal requests for one key, the first denial for all that follow.
local function decide_in_turn(set, key, cost, times)
  local done, fits = 0, true
  while fits and done < times do
    local first_size = size
    local decided, result = pcall(decide, set, key, cost)
    if decided then
      fits = result
    else
      fits, size = false, first_size + 1
      reply[size] = message(result)
    end
    done = done + 1
  end
end

local run_done

-- What cannot be done quickly is done in the general way. Stops where Redis refuses to write.
local function decide_quickly(set, cost, count, times)
  local values = call('MGET', unpack(KEYS, request + 1, request + count))
  local take_from = #set == 1 and take_one or take_several
  for i = 1, count do
    local key, wanted = KEYS[request + i], times and times[i] or 1
    local taken = take_from(set, key, values[i], cost, wanted)
    if taken < wanted then decide_in_turn(set, key, cost, wanted - taken) end
    run_done = i
  end
end

local function read_run(set)
  local cost, count, repeated, times = tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3]), nil
  at = at + 4
  if repeated > 0 then times = {} end
  for _ = 1, repeated do
    times[tonumber(ARGV[at])] = tonumber(ARGV[at + 1])
    at = at + 2
  end
  run_done = 0
  if set.is_quick == nil then set.is_quick = ARGV[2] == 'take' and prepare_quick(set) end
  if set.is_quick then pcall(decide_quickly, set, cost, count, times) end
  for i = run_done + 1, count do
    decide_in_turn(set, KEYS[request + i], cost, times and times[i] or 1)
  end
  request = request + count
end

while at < #ARGV do
  local set = sets[tonumber(ARGV[at])]
  if set then
    read_run(set)
  else
    read_together()
  end
end
return reply
