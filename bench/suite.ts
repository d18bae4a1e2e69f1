import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { quartiles, type Quartiles } from './pair.js'

/** The time of a suite with the plugin, divided by its time without it, at most. */
export const SUITE_GOAL = 1.15

/** Runs the suite of `products/suite.cjs` in pairs of processes: seconds, and their ratio. */
export async function suite (pairs: number): Promise<{ ratio: Quartiles, subject: Quartiles, base: Quartiles }> {
  const folder = mkdtempSync(join(process.env.BENCH_FOLDER ?? tmpdir(), 'hindsight-bench-'))
  const [ours, theirs]: [number[], number[]] = [[], []]
  try {
    for (let pair = 0; pair < pairs; pair++) {
      theirs.push(await run('0', folder))
      ours.push(await run('1', folder))
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  return {
    ratio: quartiles(ours.map((time, i) => time / (theirs[i] ?? NaN))),
    subject: quartiles(ours),
    base: quartiles(theirs)
  }
}

async function run (withPlugin: string, folder: string): Promise<number> {
  const since = performance.now()
  const child = spawn(process.execPath, ['--test-reporter=dot', join(import.meta.dirname, 'products/suite.cjs')], {
    env: { ...process.env, NODE_ENV: 'test', WITH_PLUGIN: withPlugin, BENCH_FOLDER: folder },
    stdio: ['ignore', 'ignore', 'inherit']
  })
  const [code] = await once(child, 'exit') as [number | null]
  if (code !== 0) throw new Error(`The suite has ended with ${String(code)}`)
  return (performance.now() - since) / 1_000
}
