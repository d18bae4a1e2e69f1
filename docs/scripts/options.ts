import { LIFECYCLE_OPTIONS, PROCESS_OPTIONS, SERVER_OPTIONS, SERVICE_OPTIONS } from '../../lib/check-options.js'
import { OPTIONS, type OptionSchema, type OptionSchemas } from '../../packages/hindsight/src/check-options.js'

/** The page of all options, as Markdown. */
export function optionsPage (): string {
  return `# Options

The options of the plugin, \`app.register(hindsight, { … })\`, and of the service, which are set in
\`app/config.ts\`. The service reads those with a variable from the [environment](environment.md). The
limits of its server are on that page, too.

An unknown option, or an invalid value, stops the start with an error that names the option.
Durations without a unit are in milliseconds.

## The plugin

The service has these options, too.

| option, and its variable | type | default | what it does |
|---|---|---|---|
${rows(OPTIONS).join('\n')}

## The service

| option, and its variable | type | default | what it does |
|---|---|---|---|
${rows(LIFECYCLE_OPTIONS).join('\n')}
`
}

/** The page of all environment variables, as Markdown. */
export function environmentPage (): string {
  return `# Environment

The service (\`npm start\`) reads these variables. An invalid value stops the start with an error that
names the variable. The plugin reads only \`NODE_ENV\`. [Existing
application](../how-to/existing-application.md#the-preload) has the variables of the preload.

## The process

| variable | default | what it does |
|---|---|---|
${variables(PROCESS_OPTIONS).join('\n')}

## Options

| variable | option | default | what it does |
|---|---|---|---|
${variables(SERVICE_OPTIONS, true).join('\n')}

## Limits of the server

Options of the server. fastify-cli reads them with \`--options\` from \`options\` in \`app/app.ts\`.
Times are in milliseconds; 0 is no limit. [Limits](limits.md) has the limits of what is parsed.

| variable | default | what it does |
|---|---|---|
${variables(SERVER_OPTIONS).join('\n')}
`
}

function variables (schemas: OptionSchemas, withOption = false, path = ''): string[] {
  return Object.entries(schemas).flatMap(([name, schema]) => {
    const { env, properties = {} } = schema
    const option = withOption ? ` \`${path}${name}\` |` : ''
    const row = `| \`${env}\` |${option} ${presetOf(schema)} | ${textOf(name, schema)} |`
    return [...env === undefined ? [] : [row], ...variables(properties, withOption, `${path}${name}.`)]
  })
}

function rows (schemas: OptionSchemas, path = ''): string[] {
  return Object.entries(schemas).flatMap(([name, schema]) => {
    const { types, env, properties = {}, additionalProperties: others, items } = schema
    const variable = env === undefined ? '' : ` (\`${env}\`)`
    return [
      `| \`${path}${name}\`${variable} | ${types.join(', ')} | ${presetOf(schema)} | ${textOf(`${path}${name}`, schema)} |`,
      ...rows(properties, `${path}${name}.`),
      ...others === undefined ? [] : rows({ '*': others }, `${path}${name}.`),
      ...rows(items?.properties ?? {}, `${path}${name}[].`)
    ]
  })
}

function textOf (name: string, { description }: OptionSchema): string {
  if (!description) throw new Error(`The option ${name} has no description`)
  return description.replaceAll('|', '\\|')
}

function presetOf ({ without, default: preset, env }: OptionSchema): string {
  if (without !== undefined) return without
  if (env === 'METHOD_OVERRIDE') return '`off`'
  return preset === undefined ? 'none' : `\`${preset}\``
}
