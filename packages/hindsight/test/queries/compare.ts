import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { inspect } from 'node:util'
import type { Test } from 'tap'
import { observe } from '../../src/queries/observe.js'
import { QUERY_CHANNEL } from '../../src/queries/channel.js'
import type { Query } from '../../src/queries/query.js'
import { withoutInternalFrames } from '../support/internal-frames.js'

/** Writes what a program sees: the text is compared. */
export type Note = (...values: unknown[]) => void

/** What an application does with a client, and the queries that it sends by that. */
export interface Program<Client> {
  name: string
  run: (client: Client, note: Note) => unknown
  /** What each query has, or patterns of it. */
  queries: ReadonlyArray<Partial<Record<keyof Query, unknown>>>
}

/** Runs each program with a new client, without and with `observe`: both must see the same. */
export async function compare<Client extends object> (
  t: Test, open: () => Client | Promise<Client>, close: (client: Client) => unknown, programs: ReadonlyArray<Program<Client>>
): Promise<void> {
  for (const { name, run, queries } of programs) {
    await t.test(name, async (t) => {
      const outcomes = []
      const recorded: Query[] = []
      const record = (query: unknown): void => { recorded.push(query as Query) }
      for (const isObserved of [false, true]) {
        const opened = await open()
        const client = isObserved ? observe(opened) : opened
        if (isObserved) subscribe(QUERY_CHANNEL, record)
        try {
          outcomes.push(await outcomeOf(client, run))
        } finally {
          unsubscribe(QUERY_CHANNEL, record)
          await close(client)
        }
      }
      t.equal(outcomes[1], outcomes[0], 'the program sees the same')
      t.match(recorded, queries, 'its queries')
      t.equal(recorded.length, queries.length, recorded.map(({ statement }) => statement).join('; '))
      t.same(recorded.filter(({ endedAt }) => endedAt === undefined).map(({ statement }) => statement), [], 'each query has ended')
    })
  }
}

async function outcomeOf<Client> (client: Client, run: Program<Client>['run']): Promise<string> {
  const lines: string[] = []
  const note: Note = (...values) => lines.push(values.map(textOf).join(' '))
  try {
    note('result', await run(client, note))
  } catch (error) {
    note('thrown', error)
  }
  return lines.join('\n')
}

function textOf (value: unknown): string {
  // Identifiers of promises differ from run to run.
  const text = (typeof value === 'string' ? value : inspect(value, { depth: 4, sorted: true }))
    .replaceAll(/(_id_symbol\)\]?: )\d+/g, '$1…')
  return withoutInternalFrames(value instanceof Error ? `${text}\n${String(value.stack)}` : text)
}
