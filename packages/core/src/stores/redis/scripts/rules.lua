--[[
  rules: changes the list of rules, and returns what a process does not know of it yet. The twin of memory-rules.ts.

  KEYS[1]       the entries: a hash by the rules' keys, and the list's version in the field '#'
  KEYS[2]       the rules' keys, by the version of their last change
  KEYS[3]       the rules' keys, by when they are forgotten, in µs
  KEYS[4]       the ids of the latest changes, by the version that each made
  KEYS[5...]    for each instance of the call: the ids of the open ones with its name, by when they count no more, in µs
  ARGV[1]       now in µs; empty means Redis's own TIME (tests pass a clock)
  ARGV[2]       the version that the process knows; 0: none
  ARGV[3]       the id of that version
  ARGV[4]       the most entries that the list may have
  ARGV[5]       the most entries in a reply
  ARGV[6]       how many of the latest versions are known
  ARGV[7]       how much longer keys stay, in ms
  ARGV[8]       number of changes
  ARGV[9]       how long an instance is counted, in µs
  then          for each instance: id, and 1 if it is open or 0 if it has closed. Then for each change: id, key, text (empty to
                lift the rule), end in µs, 1 if that is a time or 0 if it is from now on, knownAt and keptUntil. Then for each
                restored entry: id, key, changedAt, until, keptUntil, and text. All as in rule-list.ts

  Returns       now, the version that the process knows now, its id, 1 if the entries begin anew, 1 if there are more, then
                for each instance: how many are open; then for each change: 1 if it was written, 0 if there was nothing to lift, -1 if the list is full, -2 if the rule
                would end before now; then for each entry: key, changedAt, until, keptUntil, text

  State         each entry is a text: version, id, changedAt, until, keptUntil, and the rule's text behind these
  Complexity    O(log n) for n entries when nothing has changed, and for each change and each entry returned
]]
local call, format, match, max = redis.call, string.format, string.match, math.max
local LIST, BY_VERSION, BY_END, BY_ID = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local VERSION = '#'

local now = tonumber(ARGV[1])
if not now then
  local time = call('TIME')
  now = time[1] * 1000000 + time[2]
end
local known_version, known_id = tonumber(ARGV[2]), ARGV[3]
local most, most_sent, versions_known, kept_ms = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local changes = tonumber(ARGV[8])
local version = tonumber(call('HGET', LIST, VERSION) or 0)
local is_written = false

local function begin()
  call('DEL', LIST, BY_VERSION, BY_END, BY_ID)
  version = 0
end

-- All keys go together. If Redis has evicted one of them, processes send back what they know.
local entries, is_empty = call('ZCARD', BY_VERSION), version == 0
if call('ZCARD', BY_END) ~= entries or (entries == 0) ~= is_empty or (call('ZCARD', BY_ID) == 0) ~= is_empty then begin() end

local function whole(number)
  return format('%.0f', number)
end

local function parse(value)
  local made, id, changed_at, ends, kept, text = match(value, '^(%d+) (%S+) (%d+) (%d+) (%d+) (.*)$')
  if not made then error('FOREIGN', 0) end
  return {
    version = tonumber(made),
    id = id,
    changed_at = tonumber(changed_at),
    ends = tonumber(ends),
    kept = tonumber(kept),
    text = text,
  }
end

local function read(key)
  local value = call('HGET', LIST, key)
  return value and parse(value)
end

local function write(id, key, changed_at, ends, kept, text)
  version = version + 1
  local numbers = format('%.0f %s %.0f %.0f %.0f ', version, id, changed_at, ends, kept)
  call('HSET', LIST, key, numbers .. text)
  call('ZADD', BY_VERSION, version, key)
  call('ZADD', BY_END, whole(kept), key)
  call('ZADD', BY_ID, version, id)
  is_written = true
end

local function is_full()
  return call('ZCARD', BY_END) >= most
end

local function forget_ended()
  local ended = call('ZRANGE', BY_END, '-inf', whole(now), 'BYSCORE', 'LIMIT', 0, most_sent)
  for i = 1, #ended do
    call('HDEL', LIST, ended[i])
    call('ZREM', BY_VERSION, ended[i])
    call('ZREM', BY_END, ended[i])
  end
end

local WRITTEN, ABSENT, FULL, PAST = 1, 0, -1, -2

local function change(id, key, text, ends, is_time, known_at, kept_until)
  if call('ZSCORE', BY_ID, id) then return WRITTEN end
  local before = read(key)
  local changed_at = max(now, known_at + 1, (before and before.changed_at or 0) + 1)
  if not is_time then ends = now + ends end
  local is_lift = text == ''
  if is_lift and before and before.changed_at >= known_at then ends = before.text == '' and 0 or before.ends end
  if ends <= now then return is_lift and ABSENT or PAST end
  if not before and is_full() then return FULL end
  write(id, key, changed_at, ends, max(ends, kept_until, before and before.kept or 0), text)
  return WRITTEN
end

local function restore(id, key, changed_at, ends, kept, text)
  local before = read(key)
  if kept <= now or (before and before.changed_at >= changed_at) then return end
  if not before and is_full() then return end
  write(id, key, changed_at, ends, max(kept, before and before.kept or 0), text)
end

local instance_kept = tonumber(ARGV[9])
local results, at = {}, 10
for i = 5, #KEYS do
  local key, id = KEYS[i], ARGV[at]
  call('ZREMRANGEBYSCORE', key, '-inf', whole(now))
  if ARGV[at + 1] == '1' then
    call('ZADD', key, whole(now + instance_kept), id)
    call('PEXPIRE', key, whole(instance_kept / 1000 + kept_ms))
  else
    call('ZREM', key, id)
  end
  results[i - 4] = call('ZCARD', key)
  at = at + 2
end
if #ARGV >= at then forget_ended() end
for _ = 1, changes do
  local ends, is_time, known_at, kept_until = tonumber(ARGV[at + 3]), ARGV[at + 4] == '1', tonumber(ARGV[at + 5]), tonumber(ARGV[at + 6])
  results[#results + 1] = change(ARGV[at], ARGV[at + 1], ARGV[at + 2], ends, is_time, known_at, kept_until)
  at = at + 7
end
while at <= #ARGV do
  local changed_at, ends, kept = tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3]), tonumber(ARGV[at + 4])
  restore(ARGV[at], ARGV[at + 1], changed_at, ends, kept, ARGV[at + 5])
  at = at + 6
end

-- All keys go with the last entry.
if is_written then
  call('HSET', LIST, VERSION, version)
  call('ZREMRANGEBYRANK', BY_ID, 0, -versions_known - 1)
  local last = call('ZRANGE', BY_END, 0, 0, 'REV', 'WITHSCORES')
  local left = max(tonumber(last[2]) - now, 0) / 1000 + kept_ms + 1000
  for i = 1, 4 do
    call('PEXPIRE', KEYS[i], whole(left))
  end
elseif version > 0 and call('ZCARD', BY_END) == 0 then
  begin()
end

local function is_known()
  if known_version == 0 then return version == 0 end
  if tonumber(call('ZSCORE', BY_ID, known_id) or 0) == known_version then return true end
  local key = call('ZRANGE', BY_VERSION, known_version, known_version, 'BYSCORE')[1]
  return key and read(key).id == known_id
end

local begins_anew = not is_known()
local after = begins_anew and 0 or known_version
local keys = call('ZRANGE', BY_VERSION, '(' .. whole(after), '+inf', 'BYSCORE', 'LIMIT', 0, most_sent)
local reply = { now, version, '', begins_anew and 1 or 0, 0 }
for i = 1, #results do
  reply[#reply + 1] = results[i]
end
local last
for i = 1, #keys do
  last = read(keys[i])
  reply[#reply + 1] = keys[i]
  reply[#reply + 1] = whole(last.changed_at)
  reply[#reply + 1] = whole(last.ends)
  reply[#reply + 1] = whole(last.kept)
  reply[#reply + 1] = last.text
end
if #keys == most_sent and call('ZRANGE', BY_VERSION, 0, 0, 'REV')[1] ~= keys[#keys] then
  reply[2], reply[3], reply[5] = last.version, last.id, 1
elseif version > 0 then
  reply[3] = call('ZRANGE', BY_ID, 0, 0, 'REV')[1]
end
return reply
