import { fromLine, lineAt, seqAt } from '../summary-block.js'
import { blockFields, type Blocks } from './blocks.js'
import { headOf } from './codec.js'
import type { RedisConnection, Reply } from './connection.js'
import { FRESH, HEADS, PACK, REPLACE } from './scripts.js'

export interface TidyOptions {
  connection: RedisConnection
  root: string
  blocks: Blocks
}

/** Packs the older rows, and replaces the blocks from which something was removed. Whoever does it at the same time does no harm. */
export async function tidy (options: TidyOptions): Promise<void> {
  for (const lane of ['s', 'f']) while (await pack(options, lane));
  await replaceStale(options)
  await options.connection.send('DEL', `${options.root}tidying`)
}

/** Replaces the blocks from which something was removed. */
export async function replaceStale ({ connection, root, blocks }: TidyOptions): Promise<void> {
  for (;;) {
    const stale = await connection.send('SPOP', `${root}stale`)
    if (stale === null) return
    const [lane = '', id = ''] = String(stale).split(':')
    const [seq, rows] = (await blocks.read([id], ['seq', 'rows'])).get(id) ?? []
    if (seq === undefined || rows === undefined) continue
    const all = Array.from({ length: seq.length / 8 }, (_, i) => {
      const line = lineAt(rows, i)
      return { line, order: seqAt(seq, i), token: fromLine(line).summary.token }
    })
    const heads = (await connection.run(HEADS, `${root}meta`, root, ...all.map(({ token }) => token)) as Buffer[]).map(headOf)
    const left = all.filter(({ order }, i) => heads[i]?.lane === lane && heads[i].order === order)
    if (left.length === all.length) continue
    const fields = left.length === 0 ? [] : blockFields(left.map(({ line }) => line), left.map(({ order }) => order))
    await connection.run(REPLACE, `${root}meta`, root, lane, id, ...fields)
  }
}

async function pack ({ connection, root }: TidyOptions, lane: string): Promise<boolean> {
  const answer = await connection.run(FRESH, `${root}meta`, root, lane) as Reply[]
  if (answer.length === 0) return false
  const lines = answer.filter((_, i) => i % 2 === 0).map(String)
  const orders = answer.filter((_, i) => i % 2 === 1).map(Number)
  const done = await connection.run(PACK, `${root}meta`, root, lane, String(orders[0]), String(orders.at(-1)), String(orders.length), ...blockFields(lines, orders))
  return done === 1
}
