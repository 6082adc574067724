-- Of every window with a counter: the including algorithm is `counter`.

-- With overage, nothing but this bounds the count.
function counter.take(limit, cost)
  limit.count = min(limit.count + cost, 2 ^ 40 - 1)
end

function counter.over(limit)
  return max(limit.count - limit.quota, 0)
end
