import { takes } from '../routing/near-misses.js'

// The methods that Fastify takes routes for without being told; TRACE has no function of its own.
const SHORTHANDS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])
const IDENTIFIER = /^(?:\d+|[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}|(?=.*\d)[\da-f]{12,}|[\da-hjkmnp-tv-z]{26})$/i
const MAX_PATH = 200

/** Source that would answer a request, ready to paste. */
export interface RouteCode {
  /** A name for its file, without the extension. */
  file: string
  code: string
}

/**
 * Writes a route that takes a path: what looks like an identifier becomes a parameter, and whatever a client has sent stands
 * in the source as text. Null where no such route can be written: its pattern is given to a router, which must find it.
 */
export function routeCode (method: string, path: string, typescript: boolean): RouteCode | null {
  const decoded = safelyDecoded(path)
  if (decoded === null || path.length > MAX_PATH || !(SHORTHANDS.has(method) || method === 'TRACE')) return null
  const names: string[] = []
  const steps = decoded.split('/').map((step, i, all) => {
    if (!IDENTIFIER.test(step)) return step.replaceAll(':', '::')
    names.push(nameFor(all[i - 1] ?? '', names))
    return `:${names.at(-1)}`
  })
  const pattern = steps.join('/')
  if (!takes(pattern, method, path)) return null
  const call = SHORTHANDS.has(method) ? `app.${method.toLowerCase()}` : 'app.route'
  const file = /^\/([a-z][\w-]*)/i.exec(decoded)?.[1]?.toLowerCase() ?? 'home'
  const body = names.length === 0 ? ["return { hello: 'world' }"] : [`const { ${names.join(', ')} } = request.params`, `return { ${names.join(', ')} }`]
  const types = typescript && names.length > 0 ? `<{ Params: { ${names.map((name) => `${name}: string`).join(', ')} } }>` : ''
  const route = call === 'app.route'
    ? [`${call}${types}({`, `  method: ${literal(method)},`, `  url: ${literal(pattern)},`, '  handler: async (request, reply) => {', ...body.map((line) => `    ${line}`), '  }', '})']
    : [`${call}${types}(${literal(pattern)}, async (request, reply) => {`, ...body.map((line) => `  ${line}`), '})']
  return { file, code: inFile(route, typescript) }
}

function inFile (route: readonly string[], typescript: boolean): string {
  return [
    ...(typescript ? ["import type { FastifyInstance } from 'fastify'", ''] : []),
    `export default async function routes (app${typescript ? ': FastifyInstance' : ''}) {`,
    ...route.map((line) => `  ${line}`),
    '}',
    ''
  ].join('\n')
}

function nameFor (before: string, taken: readonly string[]): string {
  const singular = /^[a-z]{2,20}$/i.test(before) ? before.toLowerCase().replace(/s$/, '') : ''
  const name = taken.length === 0 || singular === '' ? 'id' : `${singular}Id`
  return taken.includes(name) ? `${name}${taken.length + 1}` : name
}

function safelyDecoded (path: string): string | null {
  try {
    return decodeURI(path)
  } catch {
    return null
  }
}

// A string literal in which nothing ends it, and nothing is unseen.
function literal (text: string): string {
  const escaped = JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")
  return `'${escaped.replace(/[^\P{C}]|[\u2028\u2029]/gu, (character) => `\\u{${(character.codePointAt(0) as number).toString(16)}}`)}'`
}
