import { pathToFileURL } from 'node:url'
import { OPTIONS, SERVER_OPTIONS, type OptionSchema, type OptionSchemas } from '../app/check-options.js'

/** The page of the docs with every option, as Markdown: `npm run docs:options` writes it. */
export function optionsPage (): string {
  return `# Options

Given to the plugin (\`hindsight\` in \`app/app.ts\`). \`npm start\` takes options with an environment variable from
there. An unknown option, or one with an invalid value, stops the start with an error that names it. This page is
generated from \`app/options.schema.json\` by \`npm run docs:options\`.

| option | environment | type | default | what it does |
|---|---|---|---|---|
${rows(OPTIONS).join('\n')}

## What clients may cost the server

Options of the server itself, which \`npm start\` takes from the environment, and so does fastify-cli with \`--options\`
(\`options\` in \`app/app.ts\`). Times are in milliseconds, and 0 is none. The purpose of each is in
[reliability](limits.md).

| environment | default | what it does |
|---|---|---|
${serverRows().join('\n')}
`
}

function serverRows (): string[] {
  return Object.values(SERVER_OPTIONS).map((schema) => {
    return `| \`${schema.env}\` | ${presetOf(schema)} | ${schema.description} |`
  })
}

function rows (schemas: OptionSchemas, path = ''): string[] {
  return Object.entries(schemas).flatMap(([name, schema]) => {
    const { types, env, description, properties = {}, additionalProperties: others, items } = schema
    const variable = env === undefined ? '' : `\`${env}\``
    const text = description?.replaceAll('|', '\\|')
    return [
      `| \`${path}${name}\` | ${variable} | ${types.join(', ')} | ${presetOf(schema)} | ${text} |`,
      ...rows(properties, `${path}${name}.`),
      ...others === undefined ? [] : rows({ '*': others }, `${path}${name}.`),
      ...rows(items?.properties ?? {}, `${path}${name}[].`)
    ]
  })
}

function presetOf ({ without, default: preset, env }: OptionSchema): string {
  if (without !== undefined) return without
  if (env === 'METHOD_OVERRIDE') return '`off`'
  return preset === undefined ? 'none' : `\`${preset}\``
}

const [, program = ''] = process.argv
if (program !== '' && import.meta.url === pathToFileURL(program).href) process.stdout.write(optionsPage())
