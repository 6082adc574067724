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
local request, keys = 0, KEYS
local described, at = cjson.decode(ARGV[3]), 5
-- @include quick
local quick_sets, general = {}, nil
-- Where Redis refuses something, the general way tells why.
local try = redis.pcall

-- All stands in this loop, and not in functions: a script makes its functions anew at every run, and each costs time.
while at < #ARGV do
  local index, cost, count, times, numbers = tonumber(ARGV[at]), 0, 0, nil, nil
  -- Which key of the run is next, and how many of its requests are still to be decided.
  local nth, left = 1, 1
  if index > 0 then
    cost, count = tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2])
    local repeated = tonumber(ARGV[at + 3])
    at = at + 4
    if repeated > 0 then times = {} end
    for _ = 1, repeated do
      times[tonumber(ARGV[at])] = tonumber(ARGV[at + 1])
      at = at + 2
    end
    left = times and times[1] or 1
  elseif index < 0 then
    -- The same of a limit set with requests in flight.
    index, cost, count = tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3])
    holder = ARGV[at + 4] ~= '' and ARGV[at + 4] or nil
    numbers = cjson.decode(ARGV[at + 5])
    at = at + 6
    left = numbers[3]
  end
  -- @include quick/quick.lua
  while index == 0 or nth <= count do
    if values and cost > 0 then
      -- @include quick/take-run.lua
    elseif values and cost < 0 then
      -- @include quick/release-run.lua
    end
    if index == 0 or nth <= count then
      if not general then
        -- @include shared/general.lua
        general = { sets = sets, decide_slots = decide_slots, read_together = read_together }
      end
      if index == 0 then
        general.read_together()
        break
      end
      if numbers then held, known = numbers[3 * nth - 2], numbers[3 * nth - 1] end
      general.decide_slots(general.sets[index], keys[request + nth], cost, left)
      nth = nth + 1
      left = times and times[nth] or numbers and numbers[3 * nth] or 1
    end
  end
  request, holder = request + count, nil
end
if general then return reply end
-- @include shared/text-reply.lua
