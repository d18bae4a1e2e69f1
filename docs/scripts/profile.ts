import { readFileSync } from 'node:fs'

interface Schema {
  $ref?: string
  title?: string
  description?: string
  type?: string | string[]
  const?: unknown
  enum?: unknown[]
  format?: string
  items?: Schema
  anyOf?: Schema[]
  required?: string[]
  properties?: Record<string, Schema>
  $defs?: Record<string, Schema>
}

export const PROFILE_SCHEMA = new URL('../reference/profile.schema.json', import.meta.url)

/** The page of the JSON of a profile, as Markdown: the tables of its JSON Schema. */
export function profilePage (): string {
  const schema = JSON.parse(readFileSync(PROFILE_SCHEMA, 'utf8')) as Schema
  return `# The JSON of a profile

A profile has the same JSON at \`/_profiler/<token>.json\`, in the output of
\`fastify-hindsight show <token> --json\`, and in the column \`json\` of the
[tables of a store](storage-schema.md). The package has its [JSON Schema](profile.schema.json). All
values are masked and bounded. A member with \`?\` is not always there.

${table(schema)}
${Object.entries(schema.$defs ?? {}).map(([name, each]) => `## ${name}\n\n${each.description ?? ''}\n\n${table(each)}`).join('\n')}`
}

function table ({ properties = {}, required = [] }: Schema): string {
  const rows = Object.entries(properties).map(([name, schema]) => {
    return `| \`${name}${required.includes(name) ? '' : '?'}\` | ${typeOf(schema)} | ${schema.description ?? ''} |`
  })
  return `| member | type | what it is |\n|---|---|---|\n${rows.join('\n')}\n`
}

function typeOf ({ $ref, type, items, anyOf, enum: known, const: only }: Schema): string {
  if ($ref !== undefined) return `[${$ref.split('/').at(-1)}](#${$ref.split('/').at(-1)?.toLowerCase()})`
  if (anyOf !== undefined) return anyOf.map(typeOf).join(' or ')
  if (known !== undefined) return known.map((value) => `\`${String(value)}\``).join(', ')
  if (only !== undefined) return `\`${String(only)}\``
  if (items !== undefined) return `array of ${typeOf(items)}`
  return [type ?? 'anything'].flat().join(' or ')
}
