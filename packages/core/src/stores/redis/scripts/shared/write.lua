-- Writes a value. `old`: the value before, or false. `keep`: leave the key's time to live as it is; else set it to
-- `ttl` ms.
local function write(key, value, old, keep, ttl)
  -- Setting the time to live costs as much as the rest of SET, so it is kept while it is long enough. A value of the
  -- same length is cheapest to overwrite in place.
  if not keep then
    call('SET', key, value, 'PX', ttl)
  elseif #value == #old then
    call('SETRANGE', key, '0', value)
  else
    call('SET', key, value, 'KEEPTTL')
  end
end
