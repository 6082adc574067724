-- Reports slots that were given back. Stops at a key that needs the general way.
for i = nth, count do
  local value, from, start, limit = values[i], HEADER + 1, nil, nil
  local found, a, b, c, found_format, last
  if left > 1 or not value or #value < set.least_size then break end
  found_format, last = unpack_bytes(HEADER_FORMAT, value)
  if found_format ~= FORMAT then break end
  for n = 1, #set do
    limit, start = set[n], from
    found = nil
    if from + limit.size > #value + 1 then break end
    found, a, b, c = unpack_bytes(limit.packing, value, from)
    if found ~= limit.id then break end
    from = from + limit.size + b * (limit.entry or 0)
  end
  if found ~= limit.id then break end
  held, known = numbers[3 * i - 2], numbers[3 * i - 1]
  local remaining, number, _, d, e, f, tail, g, h, j, k = limit.take(cost, last, a, b, c, value, from)
  if not remaining then break end
  local part = pack_bytes(limit.whole_packing, limit.id, d, e, f, tail, g, h, j, k)
  if try('SETRANGE', keys[request + i], format('%d', start - 1), part) ~= #value then break end
  reply[size + 1], reply[size + 2], size = remaining, number, size + 2
  nth, left = i + 1, numbers[3 * i + 3]
end
