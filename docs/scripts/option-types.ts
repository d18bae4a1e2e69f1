import { LIFECYCLE_OPTIONS, PROCESS_OPTIONS, ROUTE_ATTRIBUTES, SERVER_OPTIONS } from '../../lib/check-options.js'
import {
  OPTIONS, ROUTE_OPTIONS, type OptionSchema, type OptionSchemas
} from '../../packages/hindsight/src/check-options.js'

/** The interfaces that options contain, and that applications implement. */
const IMPORTS = `
import type { FastifyRequest } from 'fastify'
import type { Collector } from './parts/part.js'
import type { ProfileStorage } from './store/storage.js'
`
const SERVICE_IMPORTS = `
import type { FastifyCorsOptions } from '@fastify/cors'
import type { FastifyRequest } from 'fastify'
import type { HindsightOptions } from 'fastify-hindsight'
import type { Duration, QuerySettings } from 'fastify-hindsight/recorder'
import type { RateLimiterAbstract } from 'rate-limiter-flexible'
import type { Link } from './link.js'
import type { IsGrantedAttribute, ParamAttribute, Validator } from './attributes.js'
import type { AppConverters } from './param-conversion.js'
import type { Voter } from './security/voters.js'
import type { Authenticated, Authenticator } from './security/authenticators.js'
import type { PasswordHasher, UserProvider } from './security/users.js'
import type { SessionStore } from './session/session-store.js'
`
const WIDTH = 120

/** The module of the types of the package's options, as TypeScript. */
export function optionTypes (): string {
  return [
    `${IMPORTS.trim()}\n`,
    interfaceOf('HindsightOptions', { description: 'The options of the plugin', properties: OPTIONS }),
    ...nestedInterfaces(OPTIONS),
    ...nestedInterfaces(ROUTE_OPTIONS)
  ].join('\n')
}

/** The module of the types of the service's options, as TypeScript. */
export function serviceOptionTypes (): string {
  return [
    `${SERVICE_IMPORTS.trim()}\n`,
    interfaceOf('ServiceOptions extends HindsightOptions', {
      description: 'The options of the service', properties: LIFECYCLE_OPTIONS
    }),
    ...nestedInterfaces(LIFECYCLE_OPTIONS),
    interfaceOf('RouteAttributes', {
      description: 'What a route may declare in its `config` for the listeners', properties: ROUTE_ATTRIBUTES
    }),
    ...nestedInterfaces(without(ROUTE_ATTRIBUTES, ROUTE_OPTIONS)),
    interfaceOf('ServerSettings', {
      description: 'Limits of connections and requests, and how messages are read; times in milliseconds, 0 for none',
      properties: SERVER_OPTIONS,
      required: Object.keys(SERVER_OPTIONS)
    }),
    interfaceOf('ProcessSettings', {
      description: 'Further settings that `npm start` reads from the environment',
      properties: PROCESS_OPTIONS,
      required: Object.keys(PROCESS_OPTIONS)
    })
  ].join('\n')
}

function without (schemas: OptionSchemas, others: OptionSchemas): OptionSchemas {
  return Object.fromEntries(Object.entries(schemas).filter(([name]) => !(name in others)))
}

function nestedInterfaces (schemas: OptionSchemas): string[] {
  return Object.values(schemas).flatMap((schema) => {
    if (schema.tsType !== undefined) return []
    const { title, properties = {}, items, additionalProperties: others } = schema
    return [
      // The property that has this type has the description.
      ...title === undefined ? [] : [interfaceOf(title, { ...schema, description: undefined })],
      ...nestedInterfaces({ ...properties, ...items && { items }, ...others && { others } })
    ]
  })
}

function interfaceOf (
  name: string, { description, properties = {}, required = [] }: Omit<OptionSchema, 'types'>
): string {
  const members = Object.entries(properties).map(([key, schema]) => {
    const member = `  ${key}${required.includes(key) ? '' : '?'}: ${typeOf(schema)}`
    const lines = member.replace(new RegExp(`(.{1,${WIDTH - 6}} \\|) `, 'g'), '$1\n    ')
    return `${comment(schema, '  ')}${member.length <= WIDTH ? member : lines}\n`
  })
  return `${comment({ description })}export interface ${name} {\n${members.join('')}}\n`
}

function typeOf (schema: OptionSchema): string {
  const { tsType, title, types, enum: known, items, properties, additionalProperties: others } = schema
  if (tsType !== undefined) return tsType
  const names = types.map((type) => {
    switch (type) {
      case 'integer': return 'number'
      case 'duration': return 'Duration'
      case 'string': return known?.map((value) => `'${value}'`).join(' | ') ?? type
      case 'array': return items && arrayOf(typeOf(items))
      case 'object':
        if (properties !== undefined) return title
        return others ? `Record<string, ${typeOf(others)}>` : 'Record<string, unknown>'
      case 'function': return undefined
      default: return type
    }
  })
  if (names.includes(undefined)) throw new Error(`A schema needs tsType, title or items: ${JSON.stringify(schema)}`)
  return names.join(' | ')
}

function arrayOf (type: string): string {
  return /\W/.test(type) ? `Array<${type}>` : `${type}[]`
}

function comment ({ description, default: preset, without }: Partial<OptionSchema>, indent = ''): string {
  if (description === undefined) return ''
  // Links are relative to the page of the documentation.
  const text = description.replace(/\[([^\]]+)\]\([^)]+\)/g, '$1')
  const fallback = without ?? (preset === undefined ? undefined : `\`${preset}\``)
  const sentences = `${text[0]?.toUpperCase()}${text.slice(1)}.${fallback === undefined ? '' : ` Default: ${fallback}.`}`
  const line = `${indent}/** ${sentences} */`
  if (line.length <= WIDTH) return `${line}\n`
  const wrapped = sentences.replace(new RegExp(`(.{1,${WIDTH - indent.length - 3}})(?: |$)`, 'g'), `${indent} * $1\n`)
  return `${indent}/**\n${wrapped}${indent} */\n`
}
