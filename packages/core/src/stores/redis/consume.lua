--[[
  consume: takes units from every limit of each request's subjects.

  KEYS[i]       the subjects of the requests, in order; a key that occurs twice is charged twice, in order. Behind those
                of a request with an id: the key that remembers what was answered to it
  ARGV[1]       now in µs; empty means Redis's own TIME (tests pass a clock)
  ARGV[2]       take; force, which is the same where requests have that grant; or look: answer the same and change
                nothing
  ARGV[3]       limit sets, as sets.lua says
  ARGV[4]       how long an id is remembered, in ms
  ARGV[5...]    requests, to the end. Those of one subject, each wholly or not at all: limit set (from 1), cost in units
                (whole, from 1), number of requests. Any other: 0, number of its subjects, its grant (all, upTo, force,
                or once: force with an id), and for each subject the limit set, and the cost, or with force as JSON for
                each limit a list of units and how many µs ago they were used, the oldest first

  Returns       now, then for each request either, for each limit of its sets: wait, remaining, reset, and where the
                grant is not all: granted; or one error text, when that request could not be decided; the others are
                not affected
    wait        µs until the cost fits: 0 it does (with all it was taken if every limit says 0), -1 it never can,
                -2 the calendar sent does not reach now, nothing was done: send it again with another; 0 with force
    remaining   units left after this
    reset       µs until another unit is there if nobody consumes; 0 when nothing is used
    granted     units taken: with upTo of all limits the same, with force of each its own

  State         one string a key, as value.lua says, gone when the longest window is over. Of an id what was granted to
                it, as JSON; a request with an id that is known changes nothing
  Complexity    O(n) for n subjects: a GET each, and a SET for each that is allowed
]]
-- @include prelude.lua

-- Functions that few batches need cost all of them time.
local with_force = ARGV[2] == 'force'

-- Of some units those that a count of five bytes has room for.
local units_that_fit = with_force and function(units, count)
  return max(min(units, 2 ^ 40 - 1 - count), 0)
end

-- @include algorithms
-- @include value.lua
-- @include sets.lua
-- @include subject.lua
-- @include decide.lua

local sets, run = read_sets(ARGV[3]), 5
local request, run_left = 0, 0

-- Made when it is first needed: most batches need none of it.
local decide_parts

local function make_together()
  -- @include apart.lua
  -- @include together.lua
  return decide_together
end

-- Reads a request that is more than a cost of one subject, and decides it. Returns at what the next one begins.
local function read_together(at)
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
  local first_size = size
  local decided, err = pcall(decide_parts, parts, grant, id_key)
  if not decided then
    size = first_size + 1
    reply[size] = message(err)
  end
  return at + 3 + 2 * #parts
end

-- Goes on where it stopped: an error ends it at one request, and the next call takes up the one after.
local function serve()
  while run < #ARGV do
    local set = sets[tonumber(ARGV[run])]
    if not set then
      run = read_together(run)
    else
      local cost = tonumber(ARGV[run + 1])
      if run_left == 0 then run_left = tonumber(ARGV[run + 2]) end
      while run_left > 0 do
        request, run_left = request + 1, run_left - 1
        decide(set, KEYS[request], cost)
      end
      run = run + 3
    end
  end
end

repeat
  local served, err = pcall(serve)
  if not served then
    size = size + 1
    reply[size] = message(err)
    if run_left == 0 then run = run + 3 end
  end
until served
return reply
