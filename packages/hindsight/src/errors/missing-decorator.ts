import type { FastifyInstance } from 'fastify'
import type { RequestTrace } from '../recording/trace.js'
import { similarName } from '../similar-name.js'
import { declaredPlace, handlerFrame } from './declared-place.js'
import type { FlattenedException, StackFrame } from './exception.js'
import { excerptAt } from './source-file.js'
import { frameAt, placeOf } from './stack-frame.js'

const HAS = { instance: 'hasDecorator', request: 'hasRequestDecorator', reply: 'hasReplyDecorator' } as const
const CALLS = { instance: 'decorate', request: 'decorateRequest', reply: 'decorateReply' } as const
type Kind = keyof typeof HAS

const MAX_LINES = 5_000
/** Lines before a failing one in which its name may be destructured. */
const MAX_BEFORE = 60
const MAX_FILES = 50
const READ = /^Cannot (?:read|set) properties of undefined \(/
const NAMED = /^Cannot destructure property '.+' of '([\w$.]+)' as it is undefined|^([\w$.]+) is not a function$/
const PARAMETERS = /\(\s*(\{[^{}]*\}|[\w$]+)\s*(?:,\s*(\{[^{}]*\}|[\w$]+)\s*)?\)\s*(?:=>|\{)/

/** Why a decorator is undefined in the failing line: another scope has it, or its name is misspelled. Else null. */
export function decoratorSentence (trace: RequestTrace, [error]: readonly FlattenedException[]): string | null {
  const { request, reply, services } = trace
  const frame = error?.frames[0]
  if (!services.debug || error?.name !== 'TypeError' || frame?.own !== true) return null
  const route = handlerFrame(trace)
  const lines = route?.file === frame.file ? frame.line - route.line : -1
  // Fastify binds the handler, which then has no source.
  const source = lines >= 0 && lines < MAX_BEFORE ? excerptAt(frame.file, frame.line, lines, 0)?.lines.join('\n') : ''
  const parameters = PARAMETERS.exec(source ?? '') ?? []
  const access = accessIn(error.message, frame, parameters)
  const kind = access && kindOf(access.base, frame, parameters)
  if (access === null || kind === null) return null
  const { server } = request
  const { name } = access
  if (server[HAS[kind]](name)) return null
  const { routes, scopes } = services.routeTable
  const owners = scopes.filter((scope) => scope[HAS[kind]](name))
  const [owner, ...others] = owners.filter((one) => !owners.some((outer) => outer !== one && isInside(one, outer)))
  if (owner === undefined) {
    const object = { instance: server, request, reply }[kind]
    const names: string[] = []
    for (const key in object) if (server[HAS[kind]](key)) names.push(key)
    const similar = similarName(name, names)
    if (similar === undefined) return null
    return `No scope has a decorator ${name}; a similar name is ${similar}.`
  }
  const files = routes.flatMap(({ declaredAt }) => (declaredAt && declaredPlace(declaredAt)?.source) ?? [])
  const place = decoratedAt([frame.file, ...files.map((source) => frameAt(source).file)], CALLS[kind], name)
  let decorated = `${name} is decorated in ${scopeText(owner)}`
  if (place !== undefined) decorated += ` (${place})`
  decorated += `, not in ${scopeText(server)}`
  if (others.length > 0) return `${decorated}.`
  const parent = Object.getPrototypeOf(owner) as FastifyInstance
  if (parent !== server && !isInside(server, parent)) return `${decorated}: register the route inside of that plugin.`
  return `${decorated}: wrap that plugin in fastify-plugin, or register the route inside of it.`
}

function isInside (scope: FastifyInstance, outer: FastifyInstance): boolean {
  return Object.prototype.isPrototypeOf.call(outer, scope)
}

function scopeText ({ pluginName }: FastifyInstance): string {
  const [name = ''] = pluginName.split(' -> ')
  if (name === 'fastify') return 'the root scope'
  if (/^[\w@/-]+$/.test(name)) return `the scope ${name}`
  return 'a scope without a name'
}

/** The name that was undefined, and the expression it was read of. */
function accessIn (
  message: string, { file, line, column }: StackFrame, [, first = '', second = '']: readonly string[]
): { base: string, name: string } | null {
  const before = excerptAt(file, line, MAX_BEFORE, 0)?.lines ?? []
  const [, a, b] = NAMED.exec(message) ?? []
  let expression = a ?? b
  if (READ.test(message)) expression = /([\w$.]+)\??\.$/.exec(before.at(-1)?.slice(0, column - 1) ?? '')?.[1]
  if (expression === undefined) return null
  const names = expression.split('.')
  const name = names.pop() ?? ''
  if (names.length > 0) return { base: names.join('.'), name }
  const patterns = [...before.join('\n').matchAll(/\{([^{}]*)\}\s*=\s*([\w$.]+)/g)]
    .map(([, list = '', base = '']) => ({ list, base })).reverse()
  if (first.startsWith('{')) patterns.push({ list: first, base: 'request' })
  if (second.startsWith('{')) patterns.push({ list: second, base: 'reply' })
  for (const { list, base } of patterns) {
    const fields = list.replace(/^\{|\}$/g, '').split(',').map((field) => field.split('=')[0]?.split(':') ?? [])
    const [property] = fields.find((field) => field.at(-1)?.trim() === name) ?? []
    if (property !== undefined) return { base, name: property.trim() }
  }
  return null
}

/** What an expression is, where that is certain. */
function kindOf (base: string, frame: StackFrame, [, first, second]: readonly string[]): Kind | null {
  const [type = ''] = frame.function.replace(/^async /, '').split('.')
  if (base === 'this' && /^_?Request$/.test(type)) return 'request'
  if (base === 'this' && /^_?Reply$/.test(type)) return 'reply'
  // Another class has properties of its own.
  if (base === 'this' && frame.function.includes('.') && type !== 'Object') return null
  if (base === 'this') return 'instance'
  if (base === first || /^req(?:uest)?$/.test(base)) return 'request'
  if (base === second || /^(?:reply|rep|res)$/.test(base)) return 'reply'
  if (/^(?:app|fastify|server|instance|scope|req(?:uest)?\.server)$/.test(base)) return 'instance'
  return null
}

/** The only call in the files of routes that decorates with a name, `file:line`. */
function decoratedAt (files: readonly string[], call: string, name: string): string | undefined {
  const found = [...new Set(files)].slice(0, MAX_FILES).flatMap((file) => {
    const { lines } = excerptAt(file, 1, 0, MAX_LINES) ?? { lines: [] }
    return [...lines.entries()]
      .filter(([, text]) => text.includes(`.${call}('${name}'`) || text.includes(`.${call}("${name}"`))
      .map(([i]) => placeOf(frameAt(`${file}:${i + 1}`)))
  })
  if (found.length === 1) return found[0]
}
