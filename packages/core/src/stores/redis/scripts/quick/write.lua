-- Writes `value` in place of `old`. Setting the time to live costs as much as the rest of SET, so `keep` keeps it. A value of the
-- same length is cheapest to overwrite in place. If Redis refuses to write, the general way reports why.
local done
if not old then
  -- A key of another type has no value either.
  done = try('SET', key, value, 'PX', ttl, 'NX')
elseif not keep then
  done = try('SET', key, value, 'PX', ttl)
elseif #value == #old then
  done = try('SETRANGE', key, '0', value)
else
  done = try('SET', key, value, 'KEEPTTL')
end
local is_written = done and (done == #value or not done.err)
