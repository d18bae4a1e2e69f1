import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'

const ROOT = join(import.meta.dirname, '../..')
/** Milliseconds. */
const TIMEOUT = 120_000

/** The files of each process, below `test`. */
const GROUPS: Readonly<Record<string, RegExp>> = {
  app: /^(?:app|frameworks|observed?|support)\//,
  docs: /^(?:cli|docs)\//,
  errors: /^lib\/errors?(?:-page)?\//,
  full: /^lib\/full\//,
  lib: /^lib\/(?:[\w-]+\.|(?:http|lifecycle|logs|mask|reading|routing|view)\/)/,
  'parts-a': /^lib\/parts\/[a-g]/,
  'parts-h': /^lib\/parts\/[h-pr-z]/,
  'plugins-a': /^plugins\/[a-f]/,
  'plugins-h': /^plugins\/[g-z]/,
  profiler: /^routes\/\w+\/[a-h]/,
  'profiler-i': /^routes\/\w+\/[i-z]/,
  queries: /^lib\/(?:parts\/)?q/,
  recording: /^lib\/recording\//,
  store: /^lib\/store\//
}

/** Those that .taprc names: they need a process of their own. */
const { include } = parse(readFileSync(join(ROOT, '.taprc'), 'utf8')) as { include: string[] }

/**
 * Runs the test files of a group one after another in this process: most of the time of a short one is the start of a
 * process with tap, Fastify and the modules of the project. Each file runs alone, too: `npx tap test/plugins/cors.test.ts`.
 */
export async function runTogether (group: string): Promise<void> {
  const files = readdirSync(join(ROOT, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((file) => /^(?!slow\/|together\/).*\/.*\.test\.ts$/.test(file) && !include.includes(`test/${file}`)).sort()
  for (const file of files) {
    const groups = Object.keys(GROUPS).filter((name) => GROUPS[name]?.test(file))
    if (groups.length !== 1) throw new Error(`test/${file} is in ${groups.length} groups: ${groups.join(', ')}`)
  }
  // What a file does at its end, before the next one begins. tap does it at the end of the process.
  const teardowns: Array<() => unknown> = []
  Object.assign(t, { teardown: (teardown: () => unknown) => teardowns.unshift(teardown) })
  for (const file of files.filter((file) => GROUPS[basename(group, '.test.ts')]?.test(file))) {
    t.comment(`test/${file}`)
    t.setTimeout(TIMEOUT)
    await import(join(ROOT, 'test', file))
    if (!t.idle) await once(t, 'idle')
    for (const teardown of teardowns.splice(0)) await teardown()
  }
}
