import { InvalidRedisUrlError } from './errors.js'

/** Where a Redis is, and how to be let in. */
export interface RedisAddress {
  host: string
  port: number
  tls: boolean
  username?: string
  password?: string
  database: number
  /** For people, without the password. */
  place: string
}

/** Takes a `redis://` or `rediss://` URL apart. */
export function redisAddress (text: string): RedisAddress {
  let url: URL
  try {
    url = new URL(text)
  } catch {
    throw new InvalidRedisUrlError('this is no URL')
  }
  if (url.protocol !== 'redis:' && url.protocol !== 'rediss:') throw new InvalidRedisUrlError(`"${url.protocol}" is another protocol`)
  if (url.hostname === '') throw new InvalidRedisUrlError('the host is missing')
  const database = url.pathname.replace(/^\//, '')
  if (!/^\d{0,4}$/.test(database)) throw new InvalidRedisUrlError('what follows the host is the number of a database')
  const tls = url.protocol === 'rediss:'
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const port = Number(url.port || 6379)
  const username = decoded(url.username)
  const password = decoded(url.password)
  return {
    host,
    port,
    tls,
    ...(username !== '' && { username }),
    ...(password !== '' && { password }),
    database: Number(database),
    place: `${url.protocol}//${url.hostname}:${port}/${Number(database)}`
  }
}

function decoded (text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new InvalidRedisUrlError('a "%" in the user or the password is written "%25"')
  }
}
