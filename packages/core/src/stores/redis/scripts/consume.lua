--[[
  consume: takes units from every limit of each request's subjects.

  KEYS[i]       the requests' subjects, in order. A key that occurs twice is charged twice, in order. A request with an id
                has one more key after its subjects, which holds the answer given to this id
  ARGV[1]       now in µs; empty means Redis's own TIME (tests pass a clock)
  ARGV[2]       take: units are taken. force: like take, for a batch with at least one request with the grant force; none
                of its requests is decided in the quick way. look: the same answers, but nothing changes
  ARGV[3]       limit sets, in sets.lua's format
  ARGV[4]       how long an id is remembered, in ms
  ARGV[5...]    runs and other requests, in any order

  A run         requests with one subject each and the grant all: limit set (from 1), cost in units (whole, from 1),
                number of keys, number of keys that are asked several times, and for each of these its position in the run
                (from 1) and how often it is asked. No key occurs twice in a run. If the set has billing windows, a text
                follows: for each key, when windows begin on the subject's billing day, as in sets.lua. Empty: all as in the set
  With slots    a run whose limit set has requests in flight: -1, limit set, cost (0: it declares slots, -1: it gives
                slots back), number of keys, holder (empty if there is none), and a JSON list with, for each key: slots
                held, number of the last slot that the holder knows, and how often the key is asked; then billing windows as in a run
  Others        any other request: 0, number of its subjects, its grant (all; hold: all with a hold; upTo; force; once:
                force with an id; lease; unblock; account), then for each subject: limit set and cost. With force, JSON replaces the
                cost: for each limit a list of units and how many µs ago they were used, oldest first. Then, except with
                lease, for each of these sets with requests in flight: holder, held and known, as in runs. Then, with all and
                hold, for each of these sets whose denials can block: whether a denial counts (1 or 0), and a tally: process (empty
                if there is none), number, total, and how many µs ago the first of its denials was
    lease       an order follows: number of reports, and for each its id, used and left; then 0, or 1 and a wish: id, most,
                least, share, length and lag in µs, and the longest that units of the set count, in µs
    account     an entry follows: id (12 letters), a hash of what it says (6 letters), kind (1 top-up, 2 renewal, 3 penalty,
                4: nothing is booked, and the usage of the limit is told),
                position of its limit in the set, units, when a top-up ends in µs, or after how many µs (else 0)
    hold        the hold follows: kind (reservation or place), id, length and slack in µs, and most; then for each subject:
                whether it may wait (1 or 0), and the longest that units of its set count, in µs

  Returns       now, then for each request, for each limit of its sets: remaining and reset if the cost fits the limit,
                else -1 - remaining, wait and reset; then granted, with the grants upTo, force and lease. If a limit has units
                on lease, -2^52 minus these units comes before that. If a limit observes and the cost does not fit it, -2^51
                minus its wait comes before that: its wait is 0. If a limit has units beyond its quota (overage), -2^50 minus
                these comes before its numbers. If units are left of top-ups, -2^49 minus these comes before its numbers. If a billing
                window is short, -2^48 minus its quota comes before its numbers.
                If a subject is blocked, three numbers come before its
                limits: -2^52, in how many µs the block ends, and its level, negative if this request began it.
                With unblock, one more number: whether there was a block (1 or 0). With account: 1: booked; 0: it was before;
                -1: its id was booked with another hash; -2: there are 64 ids that still count; -3: its end is over.
                For usage, eight more: units, those beyond the quota, start and end of the window of now (all 0: none), and the
                same of the latest window that is over
                With lease, two more numbers: in how many µs the lease ends (0 if there is none), and whether each reported
                lease with units left is known (1 or 0). With hold, two more: in how many µs the place's time comes, and in
                how many µs the hold ends (0 if nothing is held).
                If a run asks a key several times, a denial answers all requests after it. If denials of its set can block,
                only a block does that, and not the answer that began it. A request that could not be
                decided has one error text instead, which in the same way answers those after it. Others are not affected.
                The reply is a list. Many numbers without an error text are one text, with a blank after each
    wait        µs until the cost fits. -1: it never does. -2: the calendar sent does not cover now, and nothing was done:
                send the request again with another calendar. With all, the cost was taken if it fits every limit. With
                force, it always fits
    remaining   units left after this request
    reset       µs until another unit is there if no request takes any; 0 if nothing is used. For requests in flight, the
                number of the holder's last slot. A run that only declares slots returns only that limit
    granted     units taken: with upTo and lease the same for all limits, with force each limit's own

  State         one string per key, in value.lua's format, which expires when the longest window is over. One string per
                id: the units granted to it, as JSON. A request with a known id changes nothing
  Complexity    O(n) for n subjects: each is read once, and written once if it is allowed
]]
-- @include shared/prelude.lua
-- @include shared/value.lua
-- @include shared/reply.lua

-- `at`: where the next requests begin in ARGV. `request`: how many keys come before theirs.
local request, keys = 0, KEYS
local described, at = cjson.decode(ARGV[3]), 5
-- @include quick
local quick_sets, general = {}, nil
-- If Redis refuses something, the general way reports why.
local try = redis.pcall

-- Everything is in this loop and not in functions: a script makes its functions anew at every run, and each costs time.
while at < #ARGV do
  local index, cost, count, times, numbers, days = tonumber(ARGV[at]), 0, 0, nil, nil, nil
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
  if index > 0 and described[index][6] then
    days, at = ARGV[at] ~= '' and ARGV[at], at + 1
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
        general = { sets = sets, decide_slots = decide_slots, read_together = read_together, days = billing_days, move = set_billing_day }
      end
      if index == 0 then
        general.read_together()
        break
      end
      if numbers then held, known = numbers[3 * nth - 2], numbers[3 * nth - 1] end
      if days then
        if type(days) == 'string' then days = general.days(days) end
        general.move(general.sets[index], days[nth])
      end
      general.decide_slots(general.sets[index], keys[request + nth], cost, left)
      if days then general.move(general.sets[index]) end
      nth = nth + 1
      left = times and times[nth] or numbers and numbers[3 * nth] or 1
    end
  end
  request, holder = request + count, nil
end
if general then return reply end
-- @include shared/text-reply.lua
