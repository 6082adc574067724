-- Of windows that begin by the calendar: the including algorithm is `counter`.
function counter.give(limit, units, at)
  local before = limit.count
  if at == EARLIEST or at >= limit.start then
    limit.count = max(before - units, 0)
  end
  return limit.count < before
end
