-- @include algorithms/concurrent/concurrent.rows.lua

-- Requests in flight come last in their set, so their rows end the value. A cost below 0 only reports slots that were given
-- back: then only the holder's row changes. Full limits and rows that have ended are left to the general way.
function concurrent.quick(quota)
  return function(cost, last, count, total, soonest, value, head)
    if not last then
      count, total, soonest, value, head = 0, 0, 0, '', 1
    elseif last > now or #value ~= head + count * ROW - 1 or count > 0 and soonest * 1000 <= now then
      return nil
    end
    local own, number, before, ends, rows_before, rows_behind = read_row(value, head)
    total = total - before + own
    if cost < 0 then
      if not ends then return nil end
      return max(quota - total, 0), number, 0, count, total, soonest, rows_before, own, number, ends, rows_behind
    end
    total, number = total + 1, number + 1
    if total > quota then return nil end
    if not ends then count = count + 1 end
    ends = floor(now / 1000) + KEPT_MS
    if count == 1 or ends < soonest then soonest = ends end
    return quota - total, number, KEPT, count, total, soonest, rows_before, own + 1, number, ends, rows_behind
  end, false, 'I3I6I6c0'
end
