import { closest, distance } from 'fastest-levenshtein'

/** What kind of value an option takes; `false` is the one that switches something off. */
export type OptionType = 'boolean' | 'number' | 'string' | 'array' | 'object' | 'function' | 'RegExp' | 'false'

/** What is to be said about one option: to its reader in the docs, and to the start that checks it. */
export interface OptionEntry {
  types: readonly OptionType[]
  /** As the docs show it. */
  default: string
  /** The environment variable that sets it for `npm start`. */
  env?: string
  what: string
  /** Of an object: its own options, `*` for any name. An object without them is checked by whoever reads it. */
  fields?: OptionEntries
  /** Of an array of objects: the options of each. */
  items?: OptionEntries
  /** Of an array of anything else: the types of each. */
  of?: readonly OptionType[]
  /** Of a number: a whole one, from this. */
  from?: number
}

export type OptionEntries = Readonly<Record<string, OptionEntry>>

/** Stops the start at an option that nobody knows or that has the wrong type: by its name, with the nearest known one. */
export function checkOptions (options: object, entries: OptionEntries, path = ''): void {
  for (const [name, value] of Object.entries(options)) {
    const entry = Object.hasOwn(entries, name) ? entries[name] : entries['*']
    if (entry === undefined) throw new Error(unknown(path + name, name, Object.keys(entries)))
    if (value === undefined) continue
    if (!entry.types.some((type) => isOf(type, value))) {
      throw new Error(`Option "${path}${name}" must be ${oneOf(entry.types)}, not ${kindOf(value)}`)
    }
    if (entry.from !== undefined && typeof value === 'number' && !(Number.isSafeInteger(value) && value >= entry.from)) {
      throw new Error(`Option "${path}${name}" must be a whole number from ${entry.from}, not ${value}`)
    }
    if (entry.fields !== undefined && isOf('object', value)) checkOptions(value as object, entry.fields, `${path}${name}.`)
    if (entry.items !== undefined && Array.isArray(value)) checkItems(value, entry.items, path + name)
    if (entry.of !== undefined && Array.isArray(value)) checkEach(value, entry.of, path + name)
  }
}

function checkItems (values: unknown[], entries: OptionEntries, path: string): void {
  values.forEach((value, i) => {
    if (!isOf('object', value)) throw new Error(`Option "${path}[${i}]" must be an object, not ${kindOf(value)}`)
    checkOptions(value as object, entries, `${path}[${i}].`)
  })
}

function checkEach (values: unknown[], types: readonly OptionType[], path: string): void {
  // A hole is no value either.
  Array.from(values).forEach((value, i) => {
    if (!types.some((type) => isOf(type, value))) throw new Error(`Option "${path}[${i}]" must be ${oneOf(types)}, not ${kindOf(value)}`)
  })
}

function unknown (path: string, name: string, known: string[]): string {
  const nearest = closest(name, known)
  const meant = distance(name.toLowerCase(), nearest.toLowerCase()) <= Math.min(3, Math.max(1, name.length / 3))
  return `Unknown option "${path}"${meant ? `; did you mean "${nearest}"?` : `; known are ${known.join(', ')}`}`
}

function isOf (type: OptionType, value: unknown): boolean {
  switch (type) {
    case 'false': return value === false
    case 'array': return Array.isArray(value)
    case 'RegExp': return value instanceof RegExp
    case 'object': return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof RegExp)
    case 'number': return typeof value === 'number' && !Number.isNaN(value)
    case 'boolean': return typeof value === 'boolean'
    case 'string': return typeof value === 'string'
    case 'function': return typeof value === 'function'
  }
}

function kindOf (value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'an array'
  if (value instanceof RegExp) return 'a RegExp'
  return Number.isNaN(value) ? 'NaN' : typeof value === 'object' ? 'an object' : `a ${typeof value}`
}

const WORDS: Readonly<Record<OptionType, string>> = {
  boolean: 'a boolean',
  number: 'a number',
  string: 'a string',
  array: 'an array',
  object: 'an object',
  function: 'a function',
  RegExp: 'a RegExp',
  false: 'false'
}

function oneOf (types: readonly OptionType[]): string {
  return types.map((type) => WORDS[type]).join(' or ')
}
