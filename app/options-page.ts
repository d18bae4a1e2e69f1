import { pathToFileURL } from 'node:url'
import type { OptionEntries } from './check-options.js'
import { OPTIONS } from './options-table.js'
import { SERVER_LIMITS } from './server-limits.js'

/** The page of the docs that lists every option: `npm run docs:options` writes it, a test holds it. */
export function optionsPage (): string {
  return `# Options

Given to the plugin (\`hindsight\` in \`app/app.ts\`). Where an environment variable is named, \`npm start\` takes it from there. An option that nobody
knows, or one of the wrong type, stops the start with its name. This page is made from \`app/options-table.ts\` by \`npm run docs:options\`.

| option | environment | type | default | what it does |
|---|---|---|---|---|
${rows(OPTIONS).join('\n')}

## What clients may cost the server

Options of the server itself, which \`npm start\` takes from the environment, and so does fastify-cli with \`--options\`
(\`options\` in \`app/app.ts\`). Times are in milliseconds, and 0 is none. [reliability](reliability.md) tells what each is for.

| environment | default | what it does |
|---|---|---|
${Object.values(SERVER_LIMITS).map(({ env, default: preset, what }) => `| \`${env}\` | \`${preset}\` | ${what} |`).join('\n')}
`
}

function rows (entries: OptionEntries, path = ''): string[] {
  return Object.entries(entries).flatMap(([name, { types, default: preset, env, what, fields, items }]) => [
    `| \`${path}${name}\` | ${env === undefined ? '' : `\`${env}\``} | ${types.join(', ')} | ${preset} | ${what.replaceAll('|', '\\|')} |`,
    ...fields === undefined ? [] : rows(fields, `${path}${name}.`),
    ...items === undefined ? [] : rows(items, `${path}${name}[].`)
  ])
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) process.stdout.write(optionsPage())
