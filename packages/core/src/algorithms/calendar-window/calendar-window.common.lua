-- Of windows that begin by the calendar: the including algorithm is `counter`.

-- The window of now: units, start and end.
function counter.running(limit)
  return limit.count, limit.start, limit.ends
end

-- The beginning and end of the window before that of now.
function counter.before(limit)
  local starts, start = limit.starts, limit.start
  for i = 1, 3 do
    if start > starts[i] and start <= starts[i + 1] then return starts[i], start end
  end
end

-- Whether no whole window has passed since the end of one: the window before that of now began earlier.
function counter.is_recent(limit, ends)
  local first, second, third = unpack(limit.starts)
  -- Months differ, but the time before the first start is asked for only while clocks do.
  if now < second then return ends > 2 * first - second end
  return ends > (now < third and first or second)
end
