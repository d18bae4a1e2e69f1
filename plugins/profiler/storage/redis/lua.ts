/** The version of what is kept; keys of another are left alone. */
export const FORMAT = 1

/**
 * What all scripts begin with. `root` stands ahead of all keys; a profile is a text that begins with its lane and
 * number. `lane:` are sorted sets of `token:bytes` by number, `rows:` of what is searched. The older rows of `s` and `f`
 * are packed into blocks, each a hash `block:`, and `packed:` are sorted sets of these by their last number. A block
 * still has rows of profiles that were evicted, pinned or removed; `stale` says which were removed, until it is replaced.
 */
export const COMMON = `
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
  return wrong or typed(root .. 'packed:s', 'zset') or typed(root .. 'packed:f', 'zset') or typed(root .. 'stale', 'set')
end

local wrong = foreign()
if wrong then return wrong end
`

/** The figures of the lanes, kept in variables while a script changes them. */
export const COUNTED = `
local count, bytes, changed = {}, {}, false
local known = redis.call('HMGET', meta, 's', 'f', 'S', 'F')
for i, lane in ipairs(names) do
  count[lane] = redis.call('ZCARD', root .. 'lane:' .. lane)
  bytes[lane] = count[lane] > 0 and tonumber(known[i] or 0) or 0
end
local function forget (lane, id)
  redis.call('ZREM', root .. 'packed:' .. lane, id)
  redis.call('SREM', root .. 'stale', lane .. ':' .. id)
  redis.call('UNLINK', root .. 'block:' .. id)
end
-- Blocks go when their last profile has gone.
local function sweep (lane)
  local oldest = redis.call('ZRANGE', root .. 'lane:' .. lane, 0, 0, 'WITHSCORES')[2]
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', root .. 'packed:' .. lane, '-inf', oldest and '(' .. oldest or '+inf')) do forget(lane, id) end
end
local function save ()
  -- A full Redis refuses even this of a script that has changed nothing yet.
  if not changed then return end
  sweep('s')
  sweep('f')
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

local function stale (lane, order)
  lane = lane:lower()
  local id = redis.call('ZRANGEBYSCORE', root .. 'packed:' .. lane, order, '+inf', 'LIMIT', 0, 1)[1]
  if id then redis.call('SADD', root .. 'stale', lane .. ':' .. id) end
end

local function remove (token)
  local lane, order = headOf(token)
  if not lane then return false end
  local size = redis.call('STRLEN', keyOf(token))
  order = digits(tonumber(order))
  leave(lane, order, token .. ':' .. digits(size), size)
  stale(lane, order)
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
  if lane ~= lane:lower() then stale(lane, order) end
  local itsLane, itsOrder = headOf(token)
  if itsLane == lane and tonumber(itsOrder) == tonumber(order) then redis.call('UNLINK', keyOf(token)) end
  return true
end
`

/** Makes room: at most so many at a time that others are not kept waiting; answers whether there is more to do. */
export const BOUNDED = `
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

/** How many rows of a lane are not yet packed, and the number of the last that is. */
export const PACKED = `
local function packed (lane)
  return redis.call('ZRANGE', root .. 'packed:' .. lane, -1, -1, 'WITHSCORES')[2]
end
local function fresh (lane)
  local last = packed(lane)
  return redis.call('ZCOUNT', root .. 'rows:' .. lane, last and '(' .. last or '-inf', '+inf')
end
`
