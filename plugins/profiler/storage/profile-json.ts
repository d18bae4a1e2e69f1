import type { Profile } from '../profile.js'

type Part = Buffer | string

// A failure that comes again has the very same exceptions, and its log lines the same context: they are most of what its profile holds.
const known = new WeakMap<object, Buffer | null>()

/** A profile of a failure as JSON in UTF-8, in parts: what it has in common with others is kept. */
export function profileJson (profile: object): Part[] {
  const parts: Part[] = []
  let plain: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(profile)) {
    if ((name !== 'exceptions' && name !== 'logs') || !Array.isArray(value)) {
      plain[name] = value
      continue
    }
    addMembers(parts, plain)
    plain = {}
    parts.push(parts.length === 0 ? '{"' : ',"', name, '":[')
    value.forEach((item: Profile['exceptions' | 'logs'][number], i) => {
      if (i > 0) parts.push(',')
      if ('context' in item) addRecord(parts, item)
      else parts.push(kept(item))
    })
    parts.push(']')
  }
  addMembers(parts, plain)
  parts.push('}')
  return parts
}

function addRecord (parts: Part[], record: Profile['logs'][number]): void {
  const { context } = record
  // The stack of an error is long; what else a line has is not worth the parts.
  if (context.err === undefined) {
    parts.push(JSON.stringify(record))
    return
  }
  parts.push(JSON.stringify({ ...record, context: undefined }).slice(0, -1), ',"context":', kept(context), '}')
}

// Parts that are put together would be copied once more.
function addMembers (parts: Part[], members: object): void {
  const json = JSON.stringify(members)
  if (json !== '{}') parts.push(parts.length === 0 ? '{' : ',', json.slice(1, -1))
}

// Kept from the second time on: most of what comes once never comes again.
function kept (value: object): Part {
  const seen = known.get(value)
  if (seen instanceof Buffer) return seen
  const json = JSON.stringify(value)
  if (seen === undefined) {
    known.set(value, null)
    return json
  }
  const octets = Buffer.from(json)
  known.set(value, octets)
  return octets
}
