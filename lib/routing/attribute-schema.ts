import { inspect } from 'node:util'
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import { closest, distance } from 'fastest-levenshtein'
import { secondsOf, type RouteAttributes } from './attributes.js'

// Error messages contain the descriptions: `it has to be <description>`.
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
          properties: {
            enum: { type: 'array', minItems: 1, items: { anyOf: [{ type: 'string' }, { type: 'number' }] } }
          }
        },
        {
          type: 'object',
          required: ['converter'],
          additionalProperties: false,
          properties: { converter: text('a name'), options: {} }
        }
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

const NAMES = Object.keys(schemas)
let compiled: ValidateFunction | undefined

function compile (): ValidateFunction {
  const ajv = new Ajv({ verbose: true, allowUnionTypes: true, meta: false, validateSchema: false })
  const keyword = (name: string, validate: (value: unknown) => boolean): void => {
    ajv.addKeyword({ keyword: name, validate: (_: boolean, value: unknown) => validate(value) })
  }
  keyword('callable', (value) => typeof value === 'function')
  keyword('date', (value) => value instanceof Date && !Number.isNaN(value.getTime()))
  keyword('duration', (value) => secondsOf(value) !== null)
  return ajv.compile({ type: 'object', properties: schemas })
}

/** Checks what a route declares in its `config`. Throws with the names of the route and the attribute at a mistake. */
export function checkAttributes (route: string, config: Readonly<Record<string, unknown>>): void {
  // Other plugins have keys of their own: only a key that is similar to one of ours is a mistake.
  for (const key of Object.keys(config)) {
    const similar = NAMES.includes(key)
      ? undefined
      : NAMES.find((name) => isSimilar(key.toLowerCase(), name.toLowerCase()))
    if (similar !== undefined) {
      throw new Error(`Route "${route}": config.${key} is unknown; did you mean config.${similar}?`)
    }
  }
  const attributes = attributesIn(config)
  if (attributes === null) return
  const validate = compiled ??= compile()
  if (!validate(attributes)) {
    throw new Error(`Route "${route}": ${messageOf((validate.errors as ErrorObject[]).at(-1) as ErrorObject)}`)
  }
}

/** The attributes that a `config` declares; null where it declares none. */
export function attributesIn (config: Readonly<Record<string, unknown>> | undefined): RouteAttributes | null {
  const declared = NAMES.filter((name) => config?.[name] !== undefined)
  return declared.length === 0 ? null : Object.fromEntries(declared.map((name) => [name, config?.[name]]))
}

function isSimilar (key: string, name: string): boolean {
  const edits = distance(key, name)
  const isTransposed = key.length === name.length && edits === 2 &&
    [...key].sort().join('') === [...name].sort().join('')
  return isTransposed || edits <= (name.length > 6 ? 2 : 1)
}

function messageOf ({ keyword, instancePath, params, parentSchema, data }: ErrorObject): string {
  const keys = instancePath.split('/').slice(1).map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
  const path = ['config', ...keys].join('.')
  const { description, properties } = parentSchema as { description: string, properties?: object }
  if (keyword === 'additionalProperties') {
    const known = Object.keys(properties ?? {})
    const key = String(params.additionalProperty)
    return `${path}.${key} is unknown; did you mean "${closest(key, known)}"? Known are ${known.join(', ')}`
  }
  if (keyword === 'required') {
    return `${path}.${String(params.missingProperty)} is missing: ${path} has to be ${description}`
  }
  if (keyword === 'dependencies') {
    return `${path}.${String(params.property)} needs ${path}.${String(params.missingProperty)}`
  }
  const found = inspect(data, { depth: 2, breakLength: Infinity, maxStringLength: 100, maxArrayLength: 10 })
  return `${path} is ${found}; it has to be ${description}`
}
