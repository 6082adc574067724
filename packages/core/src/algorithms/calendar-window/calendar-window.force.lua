-- Of windows that begin by the calendar: the including algorithm is `counter`.
function counter.force(limit, used)
  local granted = 0
  for i = 1, #used, 2 do
    local units, age = used[i], used[i + 1]
    if now - age >= limit.start then
      units = units_that_fit(units, limit.count)
      limit.count = limit.count + units
    end
    granted = granted + units
  end
  return granted
end
