-- Decides the other requests for the same subject, from what the one before left.
while due > 0 do
  local next, wait, lifetime, g, h, j, rest, latest = take_quickly(cost, now, d, e, f, log and log .. added, 1)
  if not next then break end
  reply[told + 1], reply[told + 2], told, due = next, wait, told + 2, due - 1
  if next < 0 then
    reply[told + 1], told, due = lifetime, told + 1, 0
  else
    d, e, f, log, added, needed = g, h, j, rest, latest, lifetime
  end
end
