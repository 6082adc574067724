-- Many answers are returned as one text, which clients read much faster than a list of as many numbers. They stay a list if
-- there are error texts among them, if they are more than Lua can pass to a function, or if %d holds only 32 bits.
if size < 16 or size > 4000 or format('%d', 2 ^ 40) ~= '1099511627776' then return reply end
return format(string.rep('%d ', size), unpack(reply, 1, size))
