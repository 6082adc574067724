-- Many answers are returned as one text: clients read it much faster than a list of as many numbers. With error texts
-- among them, or more than Lua can pass to a function, they stay a list; so they do where %d holds 32 bits only.
if size < 16 or size > 4000 or format('%d', 2 ^ 40) ~= '1099511627776' then return reply end
return format(string.rep('%d ', size), unpack(reply, 1, size))
