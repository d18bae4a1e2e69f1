import createError from '@fastify/error'

/** Raised at the start for an address that is none; the address itself may hold a password and is not told. */
export const InvalidRedisUrlError = createError('HINDSIGHT_INVALID_REDIS_URL', 'Invalid "profiler.storage": a Redis URL looks like "redis://user:password@host:6379/0", or "rediss://…" for TLS; %s.', 500)

/** Raised while Redis is away or too slow; the profiles may be there again later. */
export const RedisUnavailableError = createError('HINDSIGHT_REDIS_UNAVAILABLE', 'Redis at %s cannot be used: %s.', 503)

/** Raised for what Redis has refused: it is full, a key is of another type, a command is not allowed. */
export const RedisRefusedError = createError('HINDSIGHT_REDIS_REFUSED', 'Redis at %s has refused %s: %s', 503)

/** Raised for a profile that this version cannot read. */
export const UnreadableProfileError = createError('HINDSIGHT_REDIS_UNREADABLE', 'What Redis keeps under "%s" is no profile of this version.', 500)
