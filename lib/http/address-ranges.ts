import { isIP } from 'node:net'
import proxyAddr from '@fastify/proxy-addr'

/** Whether an address is in one of the ranges that the function was made for; false for a text that is no address. */
export type Ranges = (address: string) => boolean

/** RFC 4291, section 2.5.5.1: deprecated, and another address than the IPv4 one. The library reads it as IPv4-mapped. */
const IPV4_COMPATIBLE = /^::\d+\./

/**
 * Compiles addresses, CIDR ranges and the names `loopback`, `linklocal` and `uniquelocal`; IPv4-mapped addresses
 * (RFC 4291, section 2.5.5.2) are in the ranges of their IPv4 address. Throws where one of them cannot be read.
 */
export function addressRanges (ranges: string[]): Ranges {
  if (ranges.length === 0) return () => false
  const contains = proxyAddr.compile(ranges)
  return (address) => isIP(address) !== 0 && !IPV4_COMPATIBLE.test(address) && contains(address, 0)
}

/** The same for the value of an option, whose name the error has. */
export function rangesOfOption (ranges: string[], option: string): Ranges {
  try {
    return addressRanges(ranges)
  } catch (error) {
    const hint = 'use addresses, CIDR ranges, loopback, linklocal or uniquelocal'
    throw new Error(`${option}: ${(error as Error).message}; ${hint}`, { cause: error })
  }
}
