import type { FastifyInstance } from 'fastify'
import type { RequestTrace } from '../recording/trace.js'
import { appliesIn } from '../routing/route-table.js'
import { similarName } from '../similar-name.js'
import { declaredPlace, handlerFrame } from './declared-place.js'
import type { FlattenedException, StackFrame } from './exception.js'
import { excerptAt } from './source-file.js'
import { frameAt, placeOf } from './stack-frame.js'

/** `base`: the expressions that are the object; `type`: the class of `this` in the failing function. */
const KINDS = [
  { has: 'hasDecorator', call: 'decorate', type: '', base: /^(?:app|fastify|instance|scope|server|re\w+\.server)$/ },
  { has: 'hasRequestDecorator', call: 'decorateRequest', type: 'Request', base: /^req(?:uest)?$/ },
  { has: 'hasReplyDecorator', call: 'decorateReply', type: 'Reply', base: /^(?:res|reply)$/ }
] as const
const READ = /^Cannot (?:read|set) properties of undefined \(/
const NAMED = /^Cannot destructure property '.+' of '([\w$.]+)' as it|^([\w$.]+) is not (?:a function|iterable)/
const ASSIGNED = /\{([^{}]*)\}\s*=\s*([\w.]+)/g
const PARAMETERS = /\(([^()]*)\)\s*(?:=>|\{)/
const DESTRUCTURED = /^\s*(?:\w+|\{([^{}]*)\})\s*(?:,\s*\{([^{}]*)\}\s*)?$/
const MAX_LINES = 5_000
const MAX_FILES = 50

const BEFORE_BODY = /^(?:onRequest|preParsing)$/

/**
 * Why what the failing expression names is undefined: the body is not parsed yet; or only another scope has a decorator
 * of this name, or a similar one.
 */
export function undefinedSentence (trace: RequestTrace, [error]: readonly FlattenedException[]): string | null {
  const { request, reply, services } = trace
  const [frame] = error?.frames ?? []
  if (!services.debug || error?.name !== 'TypeError' || frame?.own !== true) return null
  const { base, name } = undefinedRead(trace, frame, error.message)
  const kind = KINDS.find((one) => base === 'this' ? one.type === typeOfThis(error.frames) : one.base.test(base))
  const { server } = request
  if (kind?.call === 'decorateRequest' && name === 'body' && BEFORE_BODY.test(trace.recording.raisedBy?.stage ?? '')) {
    return 'Fastify parses the body after onRequest and preParsing hooks: until then, request.body is undefined.'
  }
  if (kind === undefined || server[kind.has](name)) return null
  const { scopes } = services.routeTable
  const having = scopes.filter((scope) => scope[kind.has](name))
  const [owner, ...others] = having.filter((one) => !having.some((outer) => outer !== one && appliesIn(outer, one)))
  if (owner === undefined) {
    const objects = { decorate: scopes, decorateRequest: [request], decorateReply: [reply] }[kind.call]
    const similar = similarName(name, objects.flatMap(namesIn))
    if (similar === undefined) return null
    return `No scope has a decorator ${name}; a similar name is ${similar}.`
  }
  const place = decoratedAt(trace, frame, kind.call, name)
  const decorated = `${name} is decorated in ${scopeText(owner)}${place}, not in ${scopeText(server)}`
  if (others.length > 0) return `${decorated}.`
  const parent = Object.getPrototypeOf(owner) as FastifyInstance
  if (!appliesIn(parent, server)) return `${decorated}: register the route inside of that plugin.`
  return `${decorated}: wrap that plugin in fastify-plugin, or register the route inside of it.`
}

/** The object and the name of what was undefined: of the failing expression, or of where its variable comes from. */
function undefinedRead (trace: RequestTrace, { file, line, column }: StackFrame, message: string) {
  const source = linesOf(file).slice(0, line)
  let expression = NAMED.exec(message)?.slice(1).join('')
  if (READ.test(message)) {
    const before = [...source.slice(-3, -1), source.at(-1)?.slice(0, column - 1)].join('\n')
    expression = /([\w$.]+)(?: as [^()]*\))?!?\s*\.$/.exec(before)?.[1]
  }
  const [, base = '', name = ''] = /^(?:(.+)\.)?([\w$]+)$/.exec(expression ?? '') ?? []
  if (base !== '' || name === '') return { base, name }
  const route = handlerFrame(trace)
  const declaration = route?.file === file ? source.slice(route.line - 1).join('\n') : ''
  const [, first = '', second = ''] = DESTRUCTURED.exec(PARAMETERS.exec(declaration)?.[1] ?? '') ?? []
  const assigned = [...source.join('\n').matchAll(ASSIGNED)].map(([, fields = '', from = '']) => [fields, from])
  const found = [[second, 'reply'], [first, 'request'], ...assigned]
    .findLast(([fields = '']) => fields.split(',').some((field) => field.trim() === name))
  return { base: found?.[1] ?? '', name }
}

/** The class of `this`: empty for an instance, in a function that no other one of the application has called. */
function typeOfThis (frames: readonly StackFrame[]): string | null {
  const [type = '', method] = (frames[0]?.function ?? '').replace(/^async /, '').split('.')
  if (method !== undefined) return type.replace(/^_/, '')
  if (frames.filter(({ own }) => own).length > 1) return null
  return ''
}

function namesIn (object: object): string[] {
  const names: string[] = []
  for (const name in object) names.push(name)
  return names
}

function scopeText ({ pluginName }: FastifyInstance): string {
  const [name = ''] = pluginName.split(' -> ')
  if (name === 'fastify') return 'the root scope'
  if (/^[\w@/-]+$/.test(name)) return `the scope ${name}`
  return 'a scope without a name'
}

/** The only call that decorates with a name, in the failing file and those of routes and hooks; empty without one. */
function decoratedAt ({ services }: RequestTrace, frame: StackFrame, call: string, name: string): string {
  const { routes, hooks } = services.routeTable
  const declared = [...routes.map(({ declaredAt }) => declaredAt), ...hooks.map(({ addedAt }) => addedAt)]
  const places = declared.map((one) => frameAt((one && declaredPlace(one)?.source) ?? ''))
  const files = new Set([frame, ...places].map(({ file }) => file))
  const found = [...files].slice(0, MAX_FILES)
    .flatMap((file) => linesOf(file).map((text, i) => ({ text, place: `${file}:${i + 1}` })))
    .filter(({ text }) => text.includes(`.${call}('${name}'`) || text.includes(`.${call}("${name}"`))
  const [only, ...others] = found
  if (only === undefined || others.length > 0) return ''
  return ` (${placeOf(frameAt(only.place))})`
}

function linesOf (file: string): readonly string[] {
  return excerptAt(file, 1, 0, MAX_LINES)?.lines ?? []
}
