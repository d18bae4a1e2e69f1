import type { FastifyRequest } from 'fastify'

/** What a route asks of its user: a role or attribute, and what it is about. */
export interface GrantRequirement {
  readonly attribute: string
  /** A path parameter by its name, or a function that finds it. */
  readonly subject?: string | ((request: FastifyRequest) => unknown)
}

/** One requirement, or several of which each must be met. */
export type IsGranted = string | GrantRequirement | ReadonlyArray<string | GrantRequirement>

/** A requirement as it is asked. */
export interface CompiledRequirement {
  attribute: string
  subjectOf: (request: FastifyRequest) => unknown
}

/** Checks what a route declares; throws with what is wrong with it. */
export function compileRequirements (declared: unknown, pattern: string): CompiledRequirement[] {
  const list: unknown[] = Array.isArray(declared) ? declared : [declared]
  if (list.length === 0) throw new Error('names nothing')
  return list.map((one) => compileRequirement(one, pattern))
}

function compileRequirement (declared: unknown, pattern: string): CompiledRequirement {
  const { attribute, subject, ...rest } = (typeof declared === 'string' ? { attribute: declared } : declared ?? {}) as Record<string, unknown>
  if (typeof attribute !== 'string' || attribute === '') throw new Error('is a role or attribute, or { attribute, subject }')
  const [unknown] = Object.keys(rest)
  if (unknown !== undefined) throw new Error(`has "${unknown}", known are attribute, subject`)
  if (subject === undefined) return { attribute, subjectOf: () => undefined }
  if (typeof subject === 'function') return { attribute, subjectOf: subject as (request: FastifyRequest) => unknown }
  if (typeof subject !== 'string') throw new Error('has a subject that is neither the name of a parameter nor a function')
  if (!hasParameter(pattern, subject)) throw new Error(`has the subject "${subject}", which is no parameter of the route`)
  return { attribute, subjectOf: (request) => (request.params as Record<string, unknown>)[subject] }
}

function hasParameter (pattern: string, name: string): boolean {
  if (name === '*') return pattern.endsWith('*')
  const at = pattern.indexOf(`:${name}`)
  return at !== -1 && !/^\w/.test(pattern.slice(at + 1 + name.length))
}
