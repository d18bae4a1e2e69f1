import { readFileSync } from 'node:fs'
import Fastify, { type FastifyInstance } from 'fastify'
import ts from 'typescript'
import { OPTIONS } from '../../packages/hindsight/src/check-options.js'
import { hindsight } from '../../packages/hindsight/src/hindsight.js'
import { lifecycle } from '../../app/lifecycle.js'
import type { HindsightOptions } from '../../packages/hindsight/src/options.js'
import { HOOK_OF_STAGE, type Stage } from '../../packages/hindsight/src/lifecycle/events.js'

/** The page of the listeners, as Markdown: their order is that of `app/lifecycle.ts`. */
export function eventsPage (): string {
  let number = 0
  const sections = (Object.keys(HOOK_OF_STAGE) as Stage[]).map((stage) => {
    const rows = lifecycle[stage].map(({ listener }) => {
      return `| ${++number} | \`${listener}\` | ${switchedOnBy(listener)} | ${descriptionOf(listener, stage)} |`
    })
    return `## ${stage}

Runs in the hook \`${HOOK_OF_STAGE[stage]}\` of Fastify.

| | listener | option in \`observe\` mode | what it does |
|---|---|---|---|
${rows.join('\n')}
`
  })
  return `# Events

A profile has an event for each listener, and for each hook of the application that ran. In \`full\`
mode these ${number} listeners run, in this order. In \`observe\` mode a listener runs if one of the
options of its row is given.

[The documented lifecycle](../explanation/lifecycle.md) describes the stages, [the JSON of a
profile](profile.md#listenerevent) the members of an event.

${sections.join('\n')}`
}

/** The page of the hooks that each mode adds, as Markdown. */
export async function hooksPage (): Promise<string> {
  const modes: Array<readonly [string, HindsightOptions]> = [
    ['`observe`, debug mode', { debug: true }],
    ['`observe`, production', { debug: false }],
    ["`observe`, production, `profiler: 'errors'`", { debug: false, profiler: 'errors' }],
    ['`full`, debug mode', { lifecycle: 'full', debug: true }],
    ['`full`, production', { lifecycle: 'full', debug: false }]
  ]
  const counts = await Promise.all(modes.map(async ([, options]) => await hooksOf(options)))
  const names = [...new Set(counts.flatMap((count) => [...count.keys()]))]
  return `# Hooks

How many hooks the plugin adds, by mode, to an application without its own hooks. Fastify runs hooks
in the order in which they were added.

In debug mode, the plugin adds a \`preValidation\`, \`preHandler\` or \`preSerialization\` hook after each
such hook of the application, so that the last one is Hindsight's. In \`observe\` mode it adds an
\`onSend\` hook, too. See [architecture](../architecture.md#the-public-api-and-its-exceptions).

| mode | ${names.map((name) => `\`${name}\``).join(' | ')} |
|---|${names.map(() => '---|').join('')}
${modes.map(([mode], i) => `| ${mode} | ${names.map((name) => counts[i]?.get(name) ?? 0).join(' | ')} |`).join('\n')}
`
}

async function hooksOf (options: HindsightOptions): Promise<Map<string, number>> {
  const app = Fastify({ pluginTimeout: 60_000 }) as unknown as FastifyInstance
  const counts = new Map<string, number>()
  const { addHook } = app
  app.addHook = function (this: FastifyInstance, name: string, hook: unknown) {
    if (name.startsWith('on') && ['onRoute', 'onRegister', 'onReady', 'onListen', 'onClose'].includes(name)) {
      return addHook.call(this, name as never, hook as never)
    }
    counts.set(name, (counts.get(name) ?? 0) + 1)
    return addHook.call(this, name as never, hook as never)
  } as typeof app.addHook
  const profiler = typeof options.profiler === 'string' ? { production: true, onlyExceptions: true, minStatus: 500 } : {}
  await app.register(hindsight, { ...options, profiler: { ...profiler, storage: 'memory' } })
  await app.ready()
  await app.close()
  return counts
}

function switchedOnBy (listener: string): string {
  const options = Object.entries(OPTIONS).filter(([, { listeners = [] }]) => listeners.includes(listener))
  return options.map(([name]) => `\`${name}\``).join(', ')
}

/** The first sentence of the comment of a listener. */
function descriptionOf (listener: string, stage: string): string {
  const file = new URL(`../../plugins/${listener}.ts`, import.meta.url)
  const source = ts.createSourceFile(file.pathname, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest, true)
  const name = listener.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())
  const suffix = { 'kernel.response': 'Response', 'kernel.finish_request': 'Finish' }[stage] ?? ''
  for (const exported of [name + suffix, name]) {
    const declaration = `export const ${exported} =`
    const statement = source.statements.find((one) => one.getText().startsWith(declaration))
    if (statement === undefined) continue
    const [comment] = ts.getJSDocCommentsAndTags(statement)
    const text = (ts.getTextOfJSDocComment(comment?.comment as string) ?? '').replaceAll(/\s+/g, ' ')
    return (/^.*?[^.]\.(?= [A-Z]|$)/.exec(text)?.[0] ?? text).replaceAll('|', '\\|')
  }
  return ''
}
