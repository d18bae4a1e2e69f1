import { takes } from '../routing/tried-routes.js'

/** The methods that a Fastify instance has a function for. */
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])
/** Numbers, UUIDs and other long hexadecimal strings with a digit. */
const IDENTIFIER = /^(?:\d+|(?=.*\d)[\da-f-]{12,})$/i
const NEEDS_ESCAPES = /['\\\p{C}\u2028\u2029]/u
const MAX_PATH = 200

/** The source of a route. */
export interface RouteCode {
  /** A name for its file, without extension. */
  file: string
  /** The call that declares it, of the instance `app`. */
  code: string
}

/**
 * Writes a route that matches a path: segments that look like identifiers become parameters, and all other segments
 * become part of a string literal. Null where the router would not match the path, or where it needs escapes.
 */
export function routeCode (method: string, path: string, typescript: boolean): RouteCode | null {
  const decoded = decode(path)
  if (decoded === null || NEEDS_ESCAPES.test(decoded) || path.length > MAX_PATH || !METHODS.has(method)) return null
  const names: string[] = []
  const pattern = decoded.split('/').map((segment, i, all) => {
    if (!IDENTIFIER.test(segment)) return segment.replaceAll(':', '::')
    names.push(nameFor(all[i - 1] ?? '', names))
    return `:${names.at(-1)}`
  }).join('/')
  if (!takes(pattern, method, path)) return null
  const types = names.length === 0 ? '' : `<{ Params: { ${names.map((name) => `${name}: string`).join(', ')} } }>`
  const fields = names.join(', ')
  const body = names.length === 0
    ? "return { hello: 'world' }"
    : `const { ${fields} } = request.params\n  return { ${fields} }`
  return {
    file: /^\/([a-z][\w-]*)/i.exec(decoded)?.[1]?.toLowerCase() ?? 'home',
    code: `app.${method.toLowerCase()}${typescript ? types : ''}('${pattern}', async (request, reply) => {
  ${body}
})
`
  }
}

/** The source of a plugin with a route, for the folder that the service loads. */
export function pluginOf ({ code }: RouteCode, typescript: boolean): string {
  const head = typescript ? "import type { FastifyInstance } from 'fastify'\n\n" : ''
  return `${head}export default async function routes (app${typescript ? ': FastifyInstance' : ''}) {
${code.replace(/^(?=.)/gm, '  ')}}
`
}

function nameFor (before: string, used: readonly string[]): string {
  const singular = /^[a-z]{2,20}$/i.test(before) ? before.toLowerCase().replace(/s$/, '') : ''
  const name = used.length === 0 || singular === '' ? 'id' : `${singular}Id`
  return used.includes(name) ? `${name}${used.length + 1}` : name
}

function decode (path: string): string | null {
  try {
    return decodeURI(path)
  } catch {
    return null
  }
}
