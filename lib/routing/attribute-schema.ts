import { createRequire } from 'node:module'
import { inspect } from 'node:util'
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import { closest, distance } from 'fastest-levenshtein'
import { secondsOf, type RouteAttributes } from './attributes.js'

const schema = createRequire(import.meta.url)('./attributes.schema.json') as { properties: object }
const NAMES = Object.keys(schema.properties)
let compiled: ValidateFunction | undefined

function compile (): ValidateFunction {
  const ajv = new Ajv({ verbose: true, allowUnionTypes: true, meta: false, validateSchema: false })
  const keyword = (name: string, validate: (value: unknown) => boolean): void => {
    ajv.addKeyword({ keyword: name, validate: (_: boolean, value: unknown) => validate(value) })
  }
  keyword('callable', (value) => typeof value === 'function')
  keyword('date', (value) => value instanceof Date && !Number.isNaN(value.getTime()))
  keyword('duration', (value) => secondsOf(value) !== null)
  return ajv.compile(schema)
}

/** Checks what a route declares in its `config`. Throws with the names of the route and the attribute at a mistake. */
export function checkAttributes (route: string, config: Readonly<Record<string, unknown>>): void {
  // Other plugins have keys of their own: only a key that is similar to one of ours is a mistake.
  for (const key of Object.keys(config).filter((key) => !NAMES.includes(key))) {
    // Two letters in the wrong order are two edits.
    const similar = NAMES.find((name) => distance(key.toLowerCase(), name.toLowerCase()) <= (name.length > 6 ? 2 : 1))
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
