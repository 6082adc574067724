function token_bucket.force(limit, used)
  local unit, rate = limit.unit, limit.rate * limit.unit / limit.own_unit
  local level, total, age = 0, 0, used[2] or 0
  for i = 1, #used, 2 do
    level = max(level - floor((age - used[i + 1]) * rate + 0.5), 0) + used[i] * unit
    total, age = total + used[i], used[i + 1]
  end
  level = max(level - floor(age * rate + 0.5), 0)
  local room = MOST_LEVEL - limit.level
  local denied = min(ceil(max(level - room, 0) / unit), total)
  -- Doubles do not hold the largest levels exactly, hence max and min. measure: a level above the brim drains faster.
  measure(limit, limit.kept, limit.level + min(max(level - denied * unit, 0), room))
  limit.level, limit.elapsed = limit.filled, 0
  return total - denied
end
