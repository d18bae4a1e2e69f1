import { METHODS } from 'node:http'
import type { FastifyRequest } from 'fastify'
import type { PathPattern, Paths } from './paths.js'
import { isStrings } from './user.js'
import { addressRanges } from '../http/address-ranges.js'
import { servicesOf } from '../lifecycle/services.js'

/** Who may come to a path; the first rule that holds for a request decides, and where none does everybody may. */
export interface AccessRule {
  /** The paths that it is for; none: all. */
  path?: PathPattern
  /** The methods that it is for (a rule for GET is for HEAD too); none: all. */
  methods?: string[]
  /** The client addresses or networks that it is for, in CIDR notation; none: all. */
  ips?: string[]
  /** A role or attribute, or several of which one is enough; `PUBLIC_ACCESS` for everybody, `IS_AUTHENTICATED` for every user. */
  roles: string | string[]
}

/** A rule as it is used. */
export interface CompiledRule {
  index: number
  roles: readonly string[]
  /** As it was written, for the profile. */
  path: string
  methods: readonly string[]
  ips: readonly string[]
  holds: (path: string, request: FastifyRequest) => boolean
}

/** Checks the rules of the configuration; throws with the number of the one that is wrong. */
export function compileRules (rules: readonly AccessRule[] = [], paths: Paths): CompiledRule[] {
  return rules.map((rule, index) => {
    const where = `security.accessControl[${index}]`
    const roles = ([] as string[]).concat(rule.roles ?? [])
    if (roles.length === 0 || !isStrings(roles)) throw new Error(`${where}.roles: name a role, or PUBLIC_ACCESS`)
    if (typeof rule.path === 'string' && !rule.path.startsWith('/')) throw new Error(`${where}.path: a path starts with "/"`)
    const matches = paths.matcher(rule.path)
    const methods = (rule.methods ?? []).map((method, i) => methodOf(method, `${where}.methods[${i}]`))
    const { ips = [] } = rule
    const isOne = ips.length === 0 ? null : networks(where, ips)
    return {
      index,
      roles,
      path: String(rule.path ?? '/'),
      methods,
      ips,
      holds (path, request) {
        const { method } = request
        if (methods.length > 0 && !methods.includes(method) && !(method === 'HEAD' && methods.includes('GET'))) return false
        return matches(path) && (isOne === null || isOne(servicesOf(request).originOf(request).ip))
      }
    }
  })
}

function methodOf (given: string, where: string): string {
  const method = given.toUpperCase()
  if (!METHODS.includes(method)) throw new Error(`${where}: "${given}" is no method of HTTP`)
  return method
}

function networks (where: string, ips: string[]): (ip: string) => boolean {
  try {
    return addressRanges(ips)
  } catch (error) {
    throw new Error(`${where}.ips: ${(error as Error).message}`, { cause: error })
  }
}
