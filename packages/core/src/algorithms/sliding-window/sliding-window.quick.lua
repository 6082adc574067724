-- µs until `cost`, which does not fit now, does. n - n % 1 is floor(n), and n + -n % 1 is ceil(n), without a function call.
local function wait_for(cost, current, previous, quota, window, to_come)
  -- Those that count as one too many have to slide out of the window.
  local units, room, until_then = previous, quota - cost - current, to_come
  if room < 0 then
    units, room, until_then = current, room + current, to_come + window
  end
  local left = room * window / units
  left = left - left % 1
  while units * left / window > room do
    left = left - 1
  end
  return until_then - left
end

function sliding_window.quick(quota, window)
  local start = now - fmod(now, window)
  local ends = start + window
  local to_come = ends - now
  return function(cost, last, current, previous)
    if not last then
      current, previous = 0, 0
    elseif last < start then
      current, previous = 0, last >= start - window and current or 0
    elseif last >= ends then
      return nil
    end
    local weight = previous * to_come / window
    local left = quota - current - (weight + -weight % 1)
    local remaining = left - cost
    if remaining >= 0 then
      current = current + cost
      -- The same as wait_for the next unit: here, the call would cost a tenth.
      local units, room, until_then = current, current - 1, to_come + window
      if weight > 0 then
        units, room, until_then = previous, quota - remaining - current - 1, to_come
      end
      local left = room * window / units
      left = left - left % 1
      while units * left / window > room do
        left = left - 1
      end
      return remaining, until_then - left, to_come + window, current, previous
    end
    if cost > quota then return nil end
    left = left > 0 and left or 0
    local wait = wait_for(cost, current, previous, quota, window, to_come)
    if cost == left + 1 then return -1 - left, wait, wait end
    return -1 - left, wait, wait_for(left + 1, current, previous, quota, window, to_come)
  end
end
