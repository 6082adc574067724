--[[
  consume: takes units from every limit of each request's subjects.

  KEYS[i]       the subjects of the requests, in order; a key that occurs twice is charged twice, in order. A request
                with an id has one key more, after its subjects: it holds the answer that was given to this id
  ARGV[1]       now in µs; empty means Redis's own TIME (tests pass a clock)
  ARGV[2]       take; force: as take, for a batch in which some request has the grant force; or look: the same answers,
                but nothing changes
  ARGV[3]       limit sets, as sets.lua says
  ARGV[4]       how long an id is remembered, in ms
  ARGV[5...]    the requests. Equal ones in a row of one subject each, with the grant all: limit set (from 1), cost in
                units (whole, from 1), number of requests. Any other request: 0, number of its subjects, its grant (all,
                upTo, force, or once: force with an id), then for each subject: limit set, and cost; with force, in
                place of the cost, JSON: for each limit a list of units and how many µs ago they were used, the oldest
                first

  Returns       now, then for each request, for each limit of its sets: wait, remaining, reset, and, unless the grant
                is all, granted. A request that could not be decided has one error text instead; the others are not
                affected
    wait        µs until the cost fits: 0 it fits (with all, it was taken if every limit says 0), -1 it never can,
                -2 the calendar sent does not cover now and nothing was done: send it again with another; 0 with force
    remaining   units left after this request
    reset       µs until another unit is there if nobody consumes; 0 when nothing is used
    granted     units taken: with upTo the same for all limits, with force each limit's own

  State         one string per key, as value.lua says, gone when the longest window is over. One string per id: the
                units granted to it, as JSON; a request with a known id changes nothing
  Complexity    O(n) for n subjects: a GET each, and a SET for each that is allowed
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

local sets, run = read_sets(ARGV[3]), 5
local request, run_left = 0, 0

-- Made when first needed: most batches do not need it.
local decide_parts

local function make_together()
  -- @include apart.lua
  -- @include together.lua
  return decide_together
end

-- Reads and decides one request with several subjects, or one with a grant other than `all`. Returns where the next one
-- begins.
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

-- Stops at a request that fails. The next call goes on with the request after it.
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
