import { script } from './connection.js'
import { BOUNDED, COMMON, COUNTED, FORMAT, PACKED } from './lua.js'

/** So many rows make a block, and as many stay rows: who lists the newest needs no block. */
export const BLOCK_ROWS = 256

/** root, bounds, then token, lane, row and bytes of each profile. Answers whether there is more to evict, and whether the asker is to tidy. */
export const PUT = script(`${COMMON}${COUNTED}${BOUNDED}${PACKED}
local added = (#ARGV - 5) / 4
-- The first command is one that a full Redis refuses: then nothing has been changed.
local order = redis.call('HINCRBY', meta, 'order', added) - added
if order == 0 then
  -- Numbers go on rising when all data was lost: whoever follows the list is not left waiting.
  local now = redis.call('TIME')
  order = now[1] * 1000 + math.floor(now[2] / 1000)
  redis.call('HSET', meta, 'order', digits(order + added))
  redis.call('SET', root:sub(1, -${String(FORMAT).length + 2}) .. 'format', '${FORMAT}', 'NX')
end
local more = 0
for i = 6, #ARGV, 4 do
  local token, lane, row, body = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3]
  remove(token)
  order = order + 1
  local size = #body + 17
  if size <= maxBytes then
    redis.call('SET', keyOf(token), lane .. string.format('%016.0f', order) .. body)
    enter(lane, digits(order), token .. ':' .. digits(size), size, row)
    left = left + 1
    more = evict()
  end
end
save()
local untidy = fresh('s') >= ${2 * BLOCK_ROWS} or fresh('f') >= ${2 * BLOCK_ROWS} or redis.call('EXISTS', root .. 'stale') == 1
return { more, untidy and redis.call('SET', root .. 'tidying', '1', 'NX', 'PX', 5000) and 1 or 0 }
`)

/** root, bounds: goes on making room. */
export const EVICT = script(`${COMMON}${COUNTED}${BOUNDED}
local more = evict()
save()
return more
`)

/** root, bounds, token, number, 1 or 0, row. Answers 1: done, 0: another profile meanwhile, -1: too many. */
export const PIN = script(`${COMMON}${COUNTED}${BOUNDED}
local token, wanted, row = ARGV[6], ARGV[8] == '1', ARGV[9]
local lane, order = headOf(token)
if not lane or tonumber(order) ~= tonumber(ARGV[7]) then return 0 end
local target = wanted and lane:upper() or lane:lower()
if target == lane then return 1 end
local size = redis.call('STRLEN', keyOf(token))
if wanted and isOver(pinnedShare, count.S + count.F + 1, bytes.S + bytes.F + size) then return -1 end
redis.call('SETRANGE', keyOf(token), 0, target)
local member = token .. ':' .. digits(size)
order = digits(tonumber(order))
leave(lane, order, member, size)
enter(target, order, member, size, row)
evict()
save()
return 1
`)

/** root, then token and number of each: removes those that are still the same. Answers how many. */
export const REMOVE = script(`${COMMON}${COUNTED}
local gone = 0
for i = 2, #ARGV, 2 do
  local lane, order = headOf(ARGV[i])
  if lane and tonumber(order) == tonumber(ARGV[i + 1]) and remove(ARGV[i]) then gone = gone + 1 end
end
save()
return gone
`)

/** root, lanes, highest number, how many: removes the oldest of these lanes. Answers how many. */
export const CLEAR = script(`${COMMON}${COUNTED}
local gone, limit = 0, tonumber(ARGV[4])
for lane in ARGV[2]:gmatch('.') do
  while gone < limit do
    local oldest = redis.call('ZRANGE', root .. 'lane:' .. lane, 0, 0, 'WITHSCORES')
    if not oldest[1] or tonumber(oldest[2]) > tonumber(ARGV[3]) or not drop(lane) then break end
    gone = gone + 1
  end
end
save()
return gone
`)

/**
 * root, lanes, above which number, below which number or +inf, how many rows, how many blocks: the number reached, then
 * for each lane its rows with their numbers, and its blocks, whose names begin with the number of their last row; newest first.
 */
export const ROWS = script(`${COMMON}
local answer = { redis.call('HGET', meta, 'order') or '0' }
local above, below = '(' .. ARGV[3], ARGV[4] == '+inf' and '+inf' or '(' .. ARGV[4]
for lane in ARGV[2]:gmatch('.') do
  answer[#answer + 1] = redis.call('ZREVRANGEBYSCORE', root .. 'rows:' .. lane, below, above, 'WITHSCORES', 'LIMIT', 0, ARGV[5])
  local blocks = {}
  if lane == lane:lower() then
    -- One may begin below the number and end above it.
    if below ~= '+inf' then blocks = redis.call('ZRANGEBYSCORE', root .. 'packed:' .. lane, ARGV[4], '+inf', 'LIMIT', 0, 1) end
    for _, part in ipairs(redis.call('ZREVRANGEBYSCORE', root .. 'packed:' .. lane, below, above, 'LIMIT', 0, ARGV[6])) do blocks[#blocks + 1] = part end
  end
  answer[#answer + 1] = blocks
end
return answer
`)

/** root, how many fields, the fields, then blocks: these fields of each. */
export const FIELDS = script(`
local fields, answer = {}, {}
for i = 3, 2 + ARGV[2] do fields[#fields + 1] = ARGV[i] end
for i = 3 + ARGV[2], #ARGV do answer[#answer + 1] = redis.call('HMGET', ARGV[1] .. 'block:' .. ARGV[i], unpack(fields)) end
return answer
`)

/** root, tokens: the head of each. */
export const HEADS = script(`
local answer = {}
for i = 2, #ARGV do answer[#answer + 1] = redis.call('GETRANGE', ARGV[1] .. 'profile:' .. ARGV[i], 0, 16) end
return answer
`)

/** root, lane: the oldest rows that are to be packed, with their numbers; none while there are not enough. */
export const FRESH = script(`${COMMON}${PACKED}
local last = packed(ARGV[2])
if fresh(ARGV[2]) < ${2 * BLOCK_ROWS} then return {} end
return redis.call('ZRANGEBYSCORE', root .. 'rows:' .. ARGV[2], last and '(' .. last or '-inf', '+inf', 'WITHSCORES', 'LIMIT', 0, ${BLOCK_ROWS})
`)

/** root, lane, first number, last number, how many, then names and bytes of the block's fields: a block in place of rows, if these are still the same. */
export const PACK = script(`${COMMON}${PACKED}
local lane, first, last = ARGV[2], ARGV[3], ARGV[4]
local rows = root .. 'rows:' .. lane
if redis.call('ZCOUNT', rows, first, last) ~= tonumber(ARGV[5]) or tonumber(packed(lane) or 0) >= tonumber(first) then return 0 end
local id = last .. '-' .. redis.call('HINCRBY', meta, 'blocks', 1)
redis.call('HSET', root .. 'block:' .. id, unpack(ARGV, 6))
redis.call('ZADD', root .. 'packed:' .. lane, last, id)
redis.call('ZREMRANGEBYSCORE', rows, first, last)
return 1
`)

/** root, lane, block, then names and bytes of the new one's fields; without these there is none any more. */
export const REPLACE = script(`${COMMON}${COUNTED}
local lane, id = ARGV[2], ARGV[3]
local last = redis.call('ZSCORE', root .. 'packed:' .. lane, id)
if not last then return 0 end
-- Something may be removed while it is made.
local again = redis.call('SISMEMBER', root .. 'stale', lane .. ':' .. id) == 1
-- The old one goes first: then even a full Redis takes the new one, which is smaller.
forget(lane, id)
if #ARGV > 3 then
  local new = last .. '-' .. redis.call('HINCRBY', meta, 'blocks', 1)
  redis.call('HSET', root .. 'block:' .. new, unpack(ARGV, 4))
  redis.call('ZADD', root .. 'packed:' .. lane, last, new)
  if again then redis.call('SADD', root .. 'stale', lane .. ':' .. new) end
end
return 1
`)

/** root: the figures of each lane, number and bytes in turn. */
export const STATS = script(`${COMMON}
local answer = {}
local known = redis.call('HMGET', meta, 's', 'f', 'S', 'F')
for i, lane in ipairs(names) do
  local count = redis.call('ZCARD', root .. 'lane:' .. lane)
  answer[#answer + 1] = count
  answer[#answer + 1] = count > 0 and tonumber(known[i] or 0) or 0
end
return answer
`)

/** All of them, to be loaded ahead of their first use. */
export const ALL = [PUT, EVICT, PIN, REMOVE, CLEAR, ROWS, FIELDS, HEADS, FRESH, PACK, REPLACE, STATS]
