-- For requests with several subjects.

-- Gives each part its own set, since a set holds the state of one subject at a time. If parts have the same set, all but the
-- first get copies.
local function set_apart(parts)
  local used = {}
  for i = 1, #parts do
    local set = parts[i].set
    local before = used[set] or 0
    if before > 0 then
      set.copies = set.copies or {}
      set.copies[before] = set.copies[before] or make_set(set.described)
      parts[i].set = set.copies[before]
    end
    used[set] = before + 1
  end
end

local function is_outside(parts)
  for i = 1, #parts do
    if parts[i].set.is_outside then return true end
  end
  return false
end
