import { isIP } from 'node:net'
import proxyAddr from '@fastify/proxy-addr'

/** Whether an address is in one of some ranges; false for text that is no address. */
export type Ranges = (address: string) => boolean

/** RFC 4291, section 2.5.5.1: deprecated; the library reads such an address as IPv4-mapped, which is another one. */
const IPV4_COMPATIBLE = /^::\d+\./

/** Compiles addresses, CIDR ranges and the names of @fastify/proxy-addr. Throws with the option's name. */
export function addressRanges (ranges: string[], option?: string): Ranges {
  if (ranges.length === 0) return () => false
  try {
    const contains = proxyAddr.compile(ranges)
    return (address) => isIP(address) !== 0 && !IPV4_COMPATIBLE.test(address) && contains(address, 0)
  } catch (error) {
    if (option === undefined) throw error
    const hint = 'use addresses, CIDR ranges, loopback, linklocal or uniquelocal'
    throw new Error(`${option}: ${(error as Error).message}; ${hint}`, { cause: error })
  }
}
