--[[
  board: adds notes to a topic of the board, or reads them. The twin of memory-board.ts.

  KEYS[1]       the topic's texts: a hash by the notes' ids
  KEYS[2]       the notes' ids, by when they were put, in µs
  ARGV[1]       now in µs; empty means Redis's own TIME (tests pass a clock)
  ARGV[2]       how long notes are kept, in µs
  ARGV[3]       the most notes to keep, or to read
  ARGV[4]       how much longer keys stay, in ms, to put notes; empty to read
  ARGV[5...]    to put: for each note id and text. To read: since when, in µs, and before when; empty means now

  Returns       to put: how many notes the topic has. To read: when the newest note was put, and the oldest one if there can be
                older ones, otherwise empty; then id and text of each note, the newest first

  State         the two keys: no note is in one of them alone, unless Redis has evicted the other
  Complexity    O(log n) for n notes of the topic, and for each note put, forgotten or read
]]
local call, format, unpack = redis.call, string.format, unpack
local TEXTS, TIMES = KEYS[1], KEYS[2]
-- The most values of one command: Lua's stack is small.
local MOST_VALUES = 1000

local now = tonumber(ARGV[1])
if not now then
  local time = call('TIME')
  now = time[1] * 1000000 + time[2]
end
local kept, most = tonumber(ARGV[2]), tonumber(ARGV[3])

local function whole(number)
  return format('%.0f', number)
end

if ARGV[4] == '' then
  local since = tonumber(ARGV[5])
  local low = since > now - kept and whole(since) or '(' .. whole(now - kept)
  local high = ARGV[6] == '' and '+inf' or '(' .. ARGV[6]
  local found = call('ZRANGE', TIMES, high, low, 'BYSCORE', 'REV', 'LIMIT', 0, most, 'WITHSCORES')
  local reply = {found[2] or '0', #found == 2 * most and found[#found] or ''}
  for i = 1, #found, 2 do
    local text = call('HGET', TEXTS, found[i])
    if text then
      reply[#reply + 1] = found[i]
      reply[#reply + 1] = text
    end
  end
  return reply
end

-- A user without these rights fails here, before a key is written that nothing would end. No member of a sorted set is empty.
call('ZADD', TIMES, 'XX', 0, '')
call('PEXPIRE', TEXTS, whole(kept / 1000 + ARGV[4]))
-- If Redis has evicted the ids, nothing else would forget the texts.
if call('ZCARD', TIMES) == 0 then call('DEL', TEXTS) end
-- Later than all others, also within one µs and after the clock has gone back.
local newest = call('ZRANGE', TIMES, 0, 0, 'REV', 'WITHSCORES')[2]
local at = math.max(now, (tonumber(newest) or 0) + 1)
for i = 5, #ARGV, 2 do
  call('HSET', TEXTS, ARGV[i], ARGV[i + 1])
  call('ZADD', TIMES, whole(at + (i - 5) / 2), ARGV[i])
end

local function forget(ids)
  for first = 1, #ids, MOST_VALUES do
    local last = math.min(first + MOST_VALUES - 1, #ids)
    call('HDEL', TEXTS, unpack(ids, first, last))
    call('ZREM', TIMES, unpack(ids, first, last))
  end
end
forget(call('ZRANGE', TIMES, '-inf', whole(now - kept), 'BYSCORE'))
local surplus = call('ZCARD', TIMES) - most
if surplus > 0 then forget(call('ZRANGE', TIMES, 0, surplus - 1)) end
for i = 1, 2 do
  call('PEXPIRE', KEYS[i], whole(kept / 1000 + ARGV[4]))
end
return call('ZCARD', TIMES)
