-- Decides the other requests for the same subject, each from what the previous one left.
while due > 0 do
  local entries = entry_packing and log and log .. pack_bytes('>' .. entry_packing, time, units)
  local next, wait, lifetime, g, h, j, rest, latest, count = take_quickly(cost, now, d, e, f, entries, 1, log)
  if not next then break end
  reply[told + 1], reply[told + 2], told, due = next, wait, told + 2, due - 1
  if next < 0 then
    reply[told + 1], told, due = lifetime, told + 1, 0
  else
    d, e, f, log, time, units, needed = g, h, j, rest, latest, count, lifetime
  end
end
