import { script } from './connection.js'

/** The version of what is kept; keys of another are left alone. */
export const FORMAT = 1

/**
 * What all scripts begin with. `root` stands ahead of all keys; a lane is a sorted set of `token:bytes` by number, its
 * rows a sorted set of what is searched, by number; a profile is a text that begins with its lane and number.
 */
const COMMON = `
local root = ARGV[1]
local meta = root .. 'meta'
local names = { 's', 'f', 'S', 'F' }

local function typed (key, wanted)
  local found = redis.call('TYPE', key).ok
  if found ~= 'none' and found ~= wanted then
    return redis.error_reply('WRONGTYPE "' .. key .. '" is a ' .. found .. ' of somebody else, and should be a ' .. wanted .. ' of ours')
  end
end

local function foreign ()
  local wrong = typed(meta, 'hash')
  for _, lane in ipairs(names) do
    wrong = wrong or typed(root .. 'lane:' .. lane, 'zset') or typed(root .. 'rows:' .. lane, 'zset')
  end
  return wrong
end

local wrong = foreign()
if wrong then return wrong end
`

/** The figures of the lanes, kept in variables while a script changes them. */
const COUNTED = `
local count, bytes, changed = {}, {}, false
local known = redis.call('HMGET', meta, 's', 'f', 'S', 'F')
for i, lane in ipairs(names) do
  count[lane] = redis.call('ZCARD', root .. 'lane:' .. lane)
  bytes[lane] = count[lane] > 0 and tonumber(known[i] or 0) or 0
end
local function save ()
  -- A full Redis refuses even this of a script that has changed nothing yet.
  if not changed then return end
  redis.call('HSET', meta, 's', bytes.s, 'f', bytes.f, 'S', bytes.S, 'F', bytes.F)
end

local function digits (number)
  return string.format('%.0f', number)
end
local function keyOf (token)
  return root .. 'profile:' .. token
end
local function headOf (token)
  return redis.call('GETRANGE', keyOf(token), 0, 16):match('^([sfSF])(%d+)$')
end

local function leave (lane, order, member, size)
  changed = true
  count[lane] = count[lane] - redis.call('ZREM', root .. 'lane:' .. lane, member)
  bytes[lane] = math.max(0, bytes[lane] - size)
  redis.call('ZREMRANGEBYSCORE', root .. 'rows:' .. lane, order, order)
end
local function enter (lane, order, member, size, row)
  changed = true
  count[lane] = count[lane] + redis.call('ZADD', root .. 'lane:' .. lane, order, member)
  bytes[lane] = bytes[lane] + size
  redis.call('ZADD', root .. 'rows:' .. lane, order, row)
end

local function remove (token)
  local lane, order = headOf(token)
  if not lane then return false end
  local size = redis.call('STRLEN', keyOf(token))
  leave(lane, digits(tonumber(order)), token .. ':' .. digits(size), size)
  redis.call('UNLINK', keyOf(token))
  return true
end

-- The oldest of a lane goes; its key may be gone already, or be of a later profile.
local function drop (lane)
  local oldest = redis.call('ZRANGE', root .. 'lane:' .. lane, 0, 0, 'WITHSCORES')
  local member, order = oldest[1], oldest[2]
  if not member then return false end
  local token, size = member:match('^(.*):(%d+)$')
  leave(lane, order, member, tonumber(size))
  local itsLane, itsOrder = headOf(token)
  if itsLane == lane and tonumber(itsOrder) == tonumber(order) then redis.call('UNLINK', keyOf(token)) end
  return true
end
`

/** Makes room: at most so many at a time that others are not kept waiting; answers whether there is more to do. */
const BOUNDED = `
local maxProfiles, maxBytes, failureShare, pinnedShare = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local left = 1000
local function isOver (share, profiles, size)
  return profiles > maxProfiles * share or size > maxBytes * share
end
local function overall ()
  return isOver(1, count.s + count.f + count.S + count.F, bytes.s + bytes.f + bytes.S + bytes.F)
end
local function evict ()
  while overall() do
    if left == 0 then return 1 end
    left = left - 1
    local failuresHaveTooMuch = count.s == 0 or (count.f > 1 and isOver(failureShare, count.f, bytes.f))
    if not drop(failuresHaveTooMuch and 'f' or 's') then return 0 end
  end
  return 0
end
`

/** root, bounds, then token, lane, row and bytes of each profile. */
export const PUT = script(`${COMMON}${COUNTED}${BOUNDED}
local added = (#ARGV - 5) / 4
-- The first command is one that a full Redis refuses: then nothing has been changed.
local order = redis.call('HINCRBY', meta, 'order', added) - added
if order == 0 then
  -- Numbers go on rising when all data was lost: whoever follows the list is not left waiting.
  local now = redis.call('TIME')
  order = now[1] * 1000 + math.floor(now[2] / 1000)
  redis.call('HSET', meta, 'order', digits(order + added))
  redis.call('SET', root:match('^(.*:)%d+:$') .. 'format', '${FORMAT}', 'NX')
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
return more
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

/** root, lanes, lowest number, highest number, how many: the number reached, then for each lane its rows with their numbers. */
export const ROWS = script(`${COMMON}
local answer = { redis.call('HGET', meta, 'order') or '0' }
for lane in ARGV[2]:gmatch('.') do
  answer[#answer + 1] = redis.call('ZREVRANGEBYSCORE', root .. 'rows:' .. lane, ARGV[4], ARGV[3], 'WITHSCORES', 'LIMIT', 0, ARGV[5])
end
return answer
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
export const ALL = [PUT, EVICT, PIN, REMOVE, CLEAR, ROWS, STATS]
