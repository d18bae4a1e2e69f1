import { OPTIONS, PROCESS_OPTIONS, SERVER_OPTIONS, type OptionSchema, type OptionSchemas } from '../../app/check-options.js'

/** The page of all options, as Markdown. */
export function optionsPage (): string {
  return `# Options

The options of the plugin: \`app.register(hindsight, { … })\`, and in the service \`hindsight\` in
\`app/app.ts\`. An unknown option, or one with an invalid value, stops the start with an error that
names it. Options with an environment variable are read from it by \`npm start\`: see
[environment](environment.md). The limits of the server are on that page, too.

| option | environment | type | default | what it does |
|---|---|---|---|---|
${rows(OPTIONS).join('\n')}
`
}

/** The page of all environment variables, as Markdown. */
export function environmentPage (): string {
  return `# Environment

The service (\`npm start\`) reads these variables. An invalid value stops the start with an error that
names the variable. The plugin reads \`NODE_ENV\` and no other; which ones the preload reads is in
[existing application](../how-to/existing-application.md#the-preload).

## The process

| variable | default | what it does |
|---|---|---|
${variables(PROCESS_OPTIONS).join('\n')}

## Options of the plugin

| variable | option | default | what it does |
|---|---|---|---|
${variables(OPTIONS, true).join('\n')}

## Limits of the server

Options of the server itself, which fastify-cli takes with \`--options\`, too (\`options\` in
\`app/app.ts\`). Times are in milliseconds, and 0 is none. The bounds of what is parsed are in
[limits](limits.md).

| variable | default | what it does |
|---|---|---|
${variables(SERVER_OPTIONS).join('\n')}
`
}

function variables (schemas: OptionSchemas, withOption = false, path = ''): string[] {
  return Object.entries(schemas).flatMap(([name, schema]) => {
    const { env, description = '', properties = {} } = schema
    const option = withOption ? ` \`${path}${name}\` |` : ''
    const row = `| \`${env}\` |${option} ${presetOf(schema)} | ${description.replaceAll('|', '\\|')} |`
    return [...env === undefined ? [] : [row], ...variables(properties, withOption, `${path}${name}.`)]
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
