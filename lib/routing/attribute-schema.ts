import { inspect } from 'node:util'
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import { closest, distance } from 'fastest-levenshtein'
import { secondsOf } from './duration.js'
import type { RouteAttributes } from './attributes.js'

// The descriptions are what a mistake is told to be mended by: `has to be <description>`.
const text = (description: string): object => ({ type: 'string', minLength: 1, description })
const flag = { type: 'boolean', description: 'true or false' }
const duration = { duration: true, description: 'whole seconds, 0 or more, or a duration such as "1 hour"' }
const callable = { callable: true, description: 'a function of the request' }

const granted = [
  text('a role or attribute'),
  {
    type: 'object',
    required: ['attribute'],
    additionalProperties: false,
    properties: { attribute: text('a role or attribute'), subject: { anyOf: [text('a name'), callable] } }
  }
]

const schemas: Readonly<Record<keyof RouteAttributes, object>> = {
  template: text('the name of a template'),
  cache: {
    type: 'object',
    description: 'an object of cache directives and validators',
    additionalProperties: false,
    dependencies: { weak: ['etag'] },
    properties: {
      public: flag,
      private: flag,
      maxAge: duration,
      sMaxAge: duration,
      staleWhileRevalidate: duration,
      staleIfError: duration,
      mustRevalidate: flag,
      noStore: flag,
      immutable: flag,
      expires: { anyOf: [duration, { date: true }], description: `${duration.description}, or a valid Date` },
      vary: {
        type: 'array',
        description: 'a list of header names',
        items: { type: 'string', pattern: "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$", description: 'a header name' }
      },
      lastModified: callable,
      etag: callable,
      weak: flag
    }
  },
  params: {
    type: 'object',
    description: 'an object of converters by the names of path parameters',
    additionalProperties: {
      description: '"int", "date", "uuid", the name of an own converter, { enum: [...] } or { converter, options }',
      anyOf: [
        text('a name'),
        {
          type: 'object',
          required: ['enum'],
          additionalProperties: false,
          properties: { enum: { type: 'array', minItems: 1, items: { anyOf: [{ type: 'string' }, { type: 'number' }] } } }
        },
        { type: 'object', required: ['converter'], additionalProperties: false, properties: { converter: text('a name'), options: {} } }
      ]
    }
  },
  security: text('an expression (CEL)'),
  isGranted: {
    description: 'a role or attribute, { attribute, subject }, or a list of these',
    anyOf: [...granted, { type: 'array', minItems: 1, items: { anyOf: granted } }]
  },
  links: {
    type: 'array',
    description: 'a list of { rel, href, attributes }',
    items: {
      type: 'object',
      description: '{ rel, href, attributes }',
      required: ['rel', 'href'],
      additionalProperties: false,
      properties: {
        rel: text('a relation'),
        href: text('a URL or path'),
        attributes: {
          type: 'object',
          description: 'an object of target attributes',
          additionalProperties: {
            description: 'a text, a number, true, { value, language }, or a list of texts',
            anyOf: [
              { type: ['string', 'number', 'boolean'], nullable: true },
              { type: 'array', items: { type: 'string' } },
              {
                type: 'object',
                required: ['value', 'language'],
                additionalProperties: false,
                properties: { value: { type: 'string' }, language: { type: 'string' } }
              }
            ]
          }
        }
      }
    }
  }
}

const NAMES = Object.keys(schemas) as Array<keyof RouteAttributes>
let validators: Map<string, ValidateFunction> | null = null

// Made at the first route that declares something.
function validatorOf (name: string): ValidateFunction {
  validators ??= compile()
  return validators.get(name) as ValidateFunction
}

function compile (): Map<string, ValidateFunction> {
  const ajv = new Ajv({ verbose: true, allowUnionTypes: true, meta: false, validateSchema: false })
  ajv.addKeyword({ keyword: 'callable', validate: (_: boolean, value: unknown) => typeof value === 'function' })
  ajv.addKeyword({ keyword: 'date', validate: (_: boolean, value: unknown) => value instanceof Date && !Number.isNaN(value.getTime()) })
  ajv.addKeyword({ keyword: 'duration', validate: (_: boolean, value: unknown) => secondsOf(value) !== null })
  return new Map(Object.entries(schemas).map(([name, schema]) => [name, ajv.compile(schema)]))
}

/**
 * The attributes that a route declares, or null where it declares none. Throws with the route's name, the attribute's,
 * what was found and what would be right.
 */
export function readAttributes (route: string, config: Readonly<Record<string, unknown>>): RouteAttributes | null {
  const found: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(config)) {
    const near = nearMiss(key)
    if (near !== null) throw new Error(`Route "${route}": config.${key} is unknown; did you mean config.${near}?`)
    if (value === undefined || !NAMES.includes(key as keyof RouteAttributes)) continue
    const validate = validatorOf(key)
    if (!validate(value)) throw new Error(`Route "${route}": ${complaint(key, value, (validate.errors as ErrorObject[]).at(-1) as ErrorObject)}`)
    found[key] = value
  }
  return Object.keys(found).length === 0 ? null : found
}

// Other plugins have keys of their own in `config`: only what is nearly one of ours is a mistake.
function nearMiss (key: string): string | null {
  if (NAMES.includes(key as keyof RouteAttributes)) return null
  return NAMES.find((name) => isNear(key.toLowerCase(), name.toLowerCase())) ?? null
}

function isNear (key: string, name: string): boolean {
  const edits = distance(key, name)
  const transposed = key.length === name.length && edits === 2 && [...key].sort().join('') === [...name].sort().join('')
  return transposed || edits <= (name.length > 6 ? 2 : 1)
}

function complaint (attribute: string, value: unknown, { keyword, instancePath, params, parentSchema, data }: ErrorObject): string {
  const path = ['config', attribute, ...instancePath.split('/').slice(1).map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))].join('.')
  const { description, properties } = parentSchema as { description: string, properties?: object }
  if (keyword === 'additionalProperties') {
    const known = Object.keys(properties ?? {})
    const key = String(params.additionalProperty)
    return `${path}.${key} is unknown; did you mean "${closest(key, known)}"? Known are ${known.join(', ')}`
  }
  if (keyword === 'required') return `${path}.${String(params.missingProperty)} is missing: ${path} has to be ${description}`
  if (keyword === 'dependencies') return `${path}.${String(params.property)} needs ${path}.${String(params.missingProperty)}`
  return `${path} is ${inspect(instancePath === '' ? value : data, { depth: 2, breakLength: Infinity, maxStringLength: 100, maxArrayLength: 10 })}; it has to be ${description}`
}
