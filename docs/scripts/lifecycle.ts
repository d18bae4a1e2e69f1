import { readFileSync } from 'node:fs'
import ts from 'typescript'
import { lifecycle } from '../../app/lifecycle.js'
import { HOOK_OF_STAGE, type Stage } from '../../lib/stages.js'

/** The page of the listeners, as Markdown: their order is that of `app/lifecycle.ts`. */
export function eventsPage (): string {
  let number = 0
  const sections = (Object.keys(HOOK_OF_STAGE) as Stage[]).map((stage) => {
    const rows = lifecycle[stage].map(({ listener }) => {
      return `| ${++number} | \`${listener}\` | ${descriptionOf(listener, stage)} |`
    })
    return `## ${stage}

Runs in the hook \`${HOOK_OF_STAGE[stage]}\` of Fastify.

| | listener | what it does |
|---|---|---|
${rows.join('\n')}
`
  })
  return `# Events

A profile has an event for each hook of the application that ran, and in the service for each of
these ${number} listeners, in this order.

[The documented lifecycle](../explanation/lifecycle.md) describes the stages, [the JSON of a
profile](profile.md#listenerevent) the members of an event.

${sections.join('\n')}`
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
