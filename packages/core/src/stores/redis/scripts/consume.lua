--[[
  consume: takes units from every limit of each request's subjects.

  KEYS[i]       the subjects of the requests, in order; a key that occurs twice is charged twice, in order. A request
                with an id has one key more, after its subjects: it holds the answer that was given to this id
  ARGV[1]       now in µs; empty means Redis's own TIME (tests pass a clock)
  ARGV[2]       take; force: as take, for a batch in which some request has the grant force: no request of it is decided
                in the quick way; or look: the same answers, but nothing changes
  ARGV[3]       limit sets, as sets.lua says
  ARGV[4]       how long an id is remembered, in ms
  ARGV[5...]    runs of requests of one subject each, with the grant all: limit set (from 1), cost in units (whole, from
                1), number of keys, how many of them are asked several times, and for each of these: its place in the
                run (from 1), and how many times. A key is at most once in a run. Runs of limit sets with requests in
                flight: -1, limit set, cost, or 0 if they declare slots and -1 if they give some back, number of keys, the
                holder (empty if there is none), and a JSON list, for each key: slots held, number of the last slot that
                the holder knows of, and how many times it is asked. Any other request: 0, number of its
                subjects, its grant (all, hold: all with a hold, upTo, force, once: force with an id, or lease), then
                for each subject: limit set, and cost; with force, in place of the cost, JSON: for each limit a list of
                units and how many µs ago they were used, the oldest first. Then for each of these sets with requests in
                flight: holder, held and known, as in runs; not with lease. With lease, an order follows: number of
                reports, and of each its id, used and left; then 0, or 1 and a wish: id, most, least, share, length and
                lag in µs, and how long units of the set count at most, in µs. With hold, it follows: its kind
                (reservation or place), id, length and slack in µs, and most; then for each subject: whether it may wait
                (1 or 0), and how long units of its set count at most, in µs

  Returns       now, then for each request, for each limit of its sets: remaining and reset if the cost fits the limit,
                else -1 - remaining, wait and reset; then, unless the grant is all, granted. A limit with units on lease
                has -2^52 minus these units before all that. With lease, two numbers follow: in how many µs the lease
                ends, 0 if there is none, and whether each reported lease with units left is known, 1 or 0. With hold,
                two: in how many µs the time of the place comes, and in how many the hold ends, 0 if nothing is held. Of
                the requests for one key of a run, a denial is the answer to all that follow. A request that could not
                be decided has one error text instead, which is also the answer to those that follow it in the same way;
                others are not affected. A list; or, of many numbers without an error text, one text, with a blank after
                each
    wait        µs until the cost fits: -1 it never can, -2 the calendar sent does not cover now and nothing was done:
                send it again with another. With all, the cost was taken if it fits every limit; with force it fits
    remaining   units left after this request
    reset       µs until another unit is there if nobody consumes; 0 when nothing is used. Of requests in flight the
                number of the holder's last slot; a run that only declares slots tells that limit alone
    granted     units taken: with upTo and lease the same for all limits, with force each limit's own

  State         one string per key, as value.lua says, gone when the longest window is over. One string per id: the
                units granted to it, as JSON; a request with a known id changes nothing
  Complexity    O(n) for n subjects: each is read once, and written once if it is allowed
]]
-- @include shared/prelude.lua
-- @include shared/value.lua
-- @include shared/reply.lua

-- `at`: where the next requests begin in ARGV; `request`: how many keys come before theirs.
local request, quick_sets = 0, {}
local described, at = cjson.decode(ARGV[3]), 5

-- Made when first needed: a script makes its functions anew at every run, and each costs time.
local general

local function make_general()
  -- @include shared/general.lua
  return { sets = sets, decide_slots = decide_slots, read_together = read_together }
end

local function decide_generally(index, ...)
  general = general or make_general()
  general.decide_slots(general.sets[index], ...)
end

-- @include quick
-- @include quick/quick.lua

local function quick_set(index)
  if quick_sets[index] == nil then
    quick_sets[index] = ARGV[2] == 'take' and make_quick_set(described[index][1], described[index][2])
  end
  return quick_sets[index]
end

-- Reads and decides a run.
local function read_run(index)
  local cost, count, repeated, times = tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3]), nil
  at = at + 4
  if repeated > 0 then times = {} end
  for _ = 1, repeated do
    times[tonumber(ARGV[at])] = tonumber(ARGV[at + 1])
    at = at + 2
  end
  decide_run(quick_set(index), index, cost, count, times)
end

-- The same of a limit set with requests in flight.
local function read_slots_run()
  local index, cost, count = tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3])
  holder = ARGV[at + 4] ~= '' and ARGV[at + 4] or nil
  local numbers = cjson.decode(ARGV[at + 5])
  at = at + 6
  decide_run(quick_set(index), index, cost, count, nil, numbers)
  holder = nil
end

while at < #ARGV do
  local index = tonumber(ARGV[at])
  if index > 0 then
    read_run(index)
  elseif index < 0 then
    read_slots_run()
  else
    general = general or make_general()
    general.read_together()
  end
end
if general then return reply end
-- @include shared/text-reply.lua
