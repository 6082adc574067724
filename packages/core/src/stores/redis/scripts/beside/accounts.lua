--[[
  The account of a subject: what was booked on its limits. Top-ups, renewals and penalties are booked once for each id. The twin of
  stores/memory/beside/account.ts: change both, law 5 (one truth) compares them.

  It stands behind the record of denials, after a state id of 4, whatever plan wrote the parts before.

  Account       1 byte: number of entries; then the entries, the earliest first
  Entry         12 bytes: id; 6 bytes: a hash of what it says; 1 byte: kind; 4 bytes: id of its limit's state; 7 bytes: when a
                top-up ends, or when a renewal was, in µs; 5 bytes: units left of a top-up; 5 bytes: units of it that the limit
                counts in its window; 7 bytes: when the entry is forgotten, in µs
  Open          an entry that nobody booked, for the window of now of a limit with overage: its end, and its quota as units left
  Closed        the same for the window before it. In place of the hash: its start in ms; then its end; its units; and those beyond the
                quota

  While a limit has a top-up, its `quota` is what it can count in this window, and `pots` says how that came about: `base`, the
  quota of the plan; `own`, how much the limit counts before top-ups pay, and `pays_from`, the smallest of its window's limits; `spent`, what those paid in this window that have ended
  since; `used` and `left` of all others; and in `list` what each of these has left and used, in the order in which they are used: those that end first.
]]
local ENTRY_FORMAT, MOST_ENTRIES = '>c12c6I1I4I7I5I5I7', 64
local TOP_UP, RENEWAL, PENALTY, CLOSED, OPEN = 1, 2, 3, 4, 5
local BOOKED, REPEATED, OTHER_ENTRY, FULL, TOO_LATE = 1, 0, -1, -2, -3
-- An id counts once for at least seven days.
local KEPT_FOR, KEPT = 7 * 86400000000, IS_TEST and 3600 or 0

-- Reads an account. Many requests of a call can be for one subject, and to read it again costs more than all else.
local function read_account(set, text)
  if set.known and set.known.text == text then return set.known end
  local count = string.byte(text, STATE_ID + 1)
  local entries, from, ends, is_booked = {}, STATE_ID + 2, 0, false
  for n = 1, count do
    local id, says, kind, limit, time, left, used, entry_ends = unpack_bytes(ENTRY_FORMAT, text, from)
    if entry_ends > now then
      entries[#entries + 1] = {
        id = id, says = says, kind = kind, limit = limit, time = time, left = left, used = used, ends = entry_ends, order = n,
        text = sub(text, from, from + ENTRY - 1),
      }
    end
    is_booked = is_booked or kind < CLOSED
    ends, from = max(ends, entry_ends), from + ENTRY
  end
  ends = floor(ends / 1000000)
  set.known = { text = text, entries = entries, ends = ends, is_booked = is_booked, is_whole = #entries == count }
  return set.known
end

-- The account that begins at `at`, and its size.
local function account_at(set, at)
  local size = STATE_ID + 1 + ENTRY * string.byte(set.value, at + STATE_ID)
  return read_account(set, sub(set.value, at, at + size - 1)), size
end

-- Loads the account that begins at `at`. Returns where it ends.
local function load_account(set, at)
  local account, size = account_at(set, at)
  set.account, set.account_size, set.account_ends = #account.entries > 0 and account.entries, size, account.ends
  return at + size, account.is_booked
end

local function change(set, entry, left, used)
  if entry.left == left and entry.used == used then return end
  entry.left, entry.used, entry.text, set.known = left, used, nil, nil
end

local function detach(set)
  for i = 1, #set do
    local limit = set[i]
    if limit.pots then limit.quota = limit.pots.base end
    limit.pots, limit.renewed_at, limit.paid = nil, nil, nil
  end
end

local function ends_first(a, b)
  a, b = a.entry, b.entry
  if a.time == b.time then return a.order < b.order end
  return a.time < b.time
end

-- Whether an entry was booked on a limit, with or without a billing day.
local function is_on(entry, limit)
  return entry.limit == limit.id or entry.limit == limit.other_id
end

-- Whether a window of a limit is still to be billed: it was used on a plan with overage.
local function is_open(entries, limit)
  for n = 1, #entries do
    if entries[n].kind == OPEN and is_on(entries[n], limit) then return true end
  end
  return false
end

-- The top-ups of a limit. One that has ended has nothing left, and what it paid is paid.
local function pots_of(set, limit)
  local pots = { set = set, base = limit.quota, spent = 0, used = 0, left = 0, list = {}, ended = {} }
  for n = 1, #set.account do
    local entry = set.account[n]
    if entry.kind == TOP_UP and is_on(entry, limit) then
      if entry.time <= now then
        change(set, entry, 0, entry.used)
        pots.spent, pots.ended[#pots.ended + 1] = pots.spent + entry.used, entry
      else
        pots.used, pots.left = pots.used + entry.used, pots.left + entry.left
        pots.list[#pots.list + 1] = { entry = entry, left = entry.left, used = entry.used }
      end
    end
  end
  table.sort(pots.list, ends_first)
  return pots
end

-- What top-ups paid in a window that is over is no longer in the count.
local function begin_window(set, limit)
  local pots = limit.pots
  for n = 1, #pots.list do
    local pot = pots.list[n]
    pot.used = 0
    change(set, pot.entry, pot.left, 0)
  end
  for n = 1, #pots.ended do
    change(set, pots.ended[n], 0, 0)
  end
  limit.quota = limit.quota - pots.used - pots.spent
  pots.spent, pots.used = 0, 0
end

-- Notes what top-ups have paid of what limits counted last: all limits of a window forget it when that is over.
local function note_paid(set)
  for i = 1, #set do
    local limit, paid = set[i], 0
    for n = 1, #set.account do
      local entry = set.account[n]
      if entry.kind == TOP_UP and is_on(entry, limit) then paid = paid + entry.used end
    end
    limit.paid = paid
  end
end

-- Limits of one window count the same units, and top-ups pay those beyond the smallest quota.
local function pay_together(set)
  for i = 1, #set do
    local limit, pots = set[i], set[i].pots
    for j = 1, pots and #set or 0 do
      local other = set[j].id == limit.id and set[j].pots
      if other then pots.pays_from = min(pots.pays_from or pots.own, other.own) end
    end
  end
end

-- Units that processes hold for use in this window. They can be counted when it is over.
local function held_by(limit)
  local groups, _, reset = limit.pots.set.leases, limit.algorithm.left(limit)
  return groups and reset > 0 and leasing.held_until(groups, limit, now + reset) or 0
end

-- Notes what the limits count, with units that are held, before the request.
local function note_total(set)
  for i = 1, #set do
    local limit = set[i]
    if limit.pots then limit.pots.total = limit.count + held_by(limit) end
  end
end

-- Adds the top-ups to the limits of a set. Called before leases enter.
local function attach(set)
  detach(set)
  note_paid(set)
  for i = 1, #set do
    local limit = set[i]
    for n = 1, #set.account do
      local entry = set.account[n]
      -- After the clock has gone back, it is not known what came first.
      if entry.kind == RENEWAL and is_on(entry, limit) and entry.time <= now then
        limit.renewed_at = max(limit.renewed_at or 0, entry.time)
      end
      -- What only observes pays nothing, but its new window ends what was paid.
      if limit.observes and limit.count == 0 and entry.kind == TOP_UP and is_on(entry, limit) then
        change(set, entry, entry.left, 0)
      end
    end
    local pots = not limit.observes and pots_of(set, limit)
    if pots and pots.spent + pots.used + pots.left > 0 then
      local counted = limit.count - pots.used - pots.spent
      pots.own, pots.counted = max(limit.quota, counted), counted
      limit.pots, limit.quota = pots, pots.own + pots.spent + pots.used + pots.left
      if limit.count == 0 then begin_window(set, limit) end
    end
  end
  pay_together(set)
  note_total(set)
end

-- How many units top-ups pay now, how many they have left, and how many those paid that have ended. If units are held, top-ups pay
-- others.
local function paid(limit)
  local pots = limit.pots
  local all = pots.used + pots.left
  local used = all > 0 and min(max(limit.count + held_by(limit) - pots.pays_from - pots.spent, 0), all) or 0
  return used, all - used, min(max(limit.count - pots.counted, 0), pots.spent)
end

local function left_of(limit)
  local _, left = paid(limit)
  return left
end

-- Units beyond the quota that no top-up pays.
local function over_of(limit)
  local used, _, spent = paid(limit)
  return max(limit.count - used - spent - limit.pots.base, 0)
end

-- What is left of a limit's top-ups in `wait` µs, and of those that have ended by then. As the account says it: a denied request leaves the
-- account as it is, so a larger quota has not paid for anything.
local function left_in(limit, wait)
  local lasting, gone = 0, 0
  for n = 1, #limit.pots.list do
    local pot = limit.pots.list[n]
    if pot.entry.time > now + wait then lasting = lasting + pot.left else gone = gone + pot.left end
  end
  return lasting, gone
end

-- Of a limit that the cost does not fit: `wait`, unless the quota and what lasts of the top-ups is too little then.
local function wait_with(limit, cost, wait)
  local lasting = left_in(limit, wait)
  return cost > (limit.whole or limit.pots.base) + lasting and NEVER or wait
end

-- Notes in the entries what was used since they were loaded: of the top-up that ends first. What came back fills the last one.
local function settle_limit(set, limit)
  local pots = limit.pots
  local used, _, spent = paid(limit)
  local more, count, total = used - pots.used, #pots.list, limit.count + held_by(limit)
  -- A larger quota pays for what top-ups have paid once a request takes units on it. A refund can be of another plan or window: it fills
  -- top-ups with as many units as it gives back.
  if total <= pots.total then more = max(more, total - pots.total) end
  local moved, first, last, step = more, 1, count, 1
  if more <= 0 then first, last, step = count, 1, -1 end
  for n = first, last, step do
    local pot = pots.list[n]
    local units = more > 0 and min(more, pot.left) or -min(-more, pot.used)
    pot.left, pot.used, more = pot.left - units, pot.used + units, more - units
    change(set, pot.entry, pot.left, pot.used)
  end
  local gone = pots.spent - spent
  for n = 1, #pots.ended do
    local units = min(gone, pots.ended[n].used)
    change(set, pots.ended[n], 0, pots.ended[n].used - units)
    gone = gone - units
  end
  pots.used, pots.left, pots.spent, pots.total = pots.used + moved, pots.left - moved, spent, total
end

local function settle(set)
  for i = 1, #set do
    local limit, is_first = set[i], set[i].pots ~= nil
    for j = 1, i - 1 do
      if set[j].pots and set[j].id == limit.id then is_first = false end
    end
    if is_first then settle_limit(set, limit) end
  end
end

local function booked_by_callers(account)
  local count = 0
  for n = 1, #account do
    if account[n].kind < CLOSED then count = count + 1 end
  end
  return count
end

-- Packs the account. Also returns when it ends, in seconds, and whether the value must live longer for it.
local function pack_account(set)
  settle(set)
  local account, ends, known = set.account, 0, set.known
  if known and known.entries == account and known.is_whole then return known.text, known.ends + KEPT, false end
  local pieces = { pack_bytes('>I4I1', ACCOUNT, #account) }
  for n = 1, #account do
    local entry = account[n]
    entry.text = entry.text or pack_bytes(ENTRY_FORMAT, entry.id, entry.says, entry.kind, entry.limit, entry.time, entry.left,
      entry.used, entry.ends)
    pieces[n + 1], ends = entry.text, max(ends, entry.ends)
  end
  ends = floor(ends / 1000000)
  set.known = { text = concat(pieces), entries = account, ends = ends, is_booked = booked_by_callers(account) > 0, is_whole = true }
  return set.known.text, ends + KEPT, ends > set.account_ends and ends + KEPT > set.ends
end

-- @include beside/usage.lua

-- Books an entry on one of the set's limits, once for its id. Returns what became of it.
local function book(set, entry)
  -- A copy, since the account is known as it was read.
  local account, limit = { unpack(set.account or {}) }, set[entry.at]
  for n = 1, #account do
    if account[n].id == entry.id then return account[n].says == entry.says and REPEATED or OTHER_ENTRY end
  end
  if entry.kind == TOP_UP and entry.time <= now then return TOO_LATE end
  if booked_by_callers(account) >= MOST_ENTRIES then return FULL end
  settle(set)
  local algorithm = complete(limit.algorithm)
  local ends = max(now + KEPT_FOR, entry.time, after_window(limit))
  -- Where the limit is billed, what a top-up paid matters until the window after the last one that it paid in is over.
  if entry.kind == TOP_UP and (limit.overage or is_open(account, limit)) then ends = max(ends, entry.time + billed_for(limit)) end
  account[#account + 1] = {
    id = entry.id, says = entry.says, kind = entry.kind, limit = limit.id, time = entry.kind == RENEWAL and now or entry.time,
    left = entry.kind == TOP_UP and entry.units or 0, used = 0, ends = ends, order = #account + 1,
  }
  set.account, set.has_account = account, true
  if entry.kind == RENEWAL then
    detach(set)
    -- What was counted before is not billed.
    for n = #account, 1, -1 do
      if account[n].kind == OPEN and is_on(account[n], limit) then table.remove(account, n) end
    end
  end
  -- All limits of this window count the same units.
  for i = 1, entry.kind == TOP_UP and 0 or #set do
    if set[i].id == limit.id and entry.kind == RENEWAL then algorithm.start(set[i]) end
    if set[i].id == limit.id and entry.kind == PENALTY then algorithm.force(set[i], { entry.units, 0 }) end
  end
  if entry.kind ~= PENALTY then attach(set) end
  for i = 1, entry.kind == RENEWAL and #set or 0 do
    if set[i].id == limit.id and set[i].pots then begin_window(set, set[i]) end
  end
  return BOOKED
end

return {
  load = load_account, at = account_at, is_open = is_open, attach = attach, detach = detach, left = left_of, over = over_of, wait = wait_with, pack = pack_account,
  book = book, note_total = note_total, left_in = left_in, find_closing = find_closing, keep_windows = keep_windows, close_late = close_late, usage = usage_of,
}
