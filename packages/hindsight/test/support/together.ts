import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { basename, join, relative, sep } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'

const ROOT = join(import.meta.dirname, '../../../..')
/** Milliseconds for a file, as in .taprc: on a machine with a load of ten some take minutes. */
const TIMEOUT = 900_000

/** The files of each process, by the folder of the tests and below it. */
const GROUPS: Readonly<Record<string, Readonly<Record<string, RegExp>>>> = {
  test: {
    docs: /^docs\//,
    'plugins-a': /^plugins\/[a-f]/,
    'plugins-g': /^plugins\/[g-z]/,
    service: /^(?:app|lib|observed)\//
  },
  'packages/hindsight/test': {
    errors: /^errors?(?:-page)?\//,
    package: /^(?:[\w-]+\.|(?:cli|frameworks|http|logs|mask|observe|reading|routing|support|view)\/)/,
    'parts-a': /^parts\/[a-g]/,
    'parts-h': /^parts\/[h-pr-z]/,
    profiler: /^routes\/\w+\/[a-h]/,
    'profiler-i': /^routes\/\w+\/[i-z]/,
    queries: /^(?:parts\/)?q/,
    recording: /^recording\//,
    store: /^store\//
  }
}

/** Those that .taprc names: they need a process of their own. */
const { include } = parse(readFileSync(join(ROOT, '.taprc'), 'utf8')) as { include: string[] }

/**
 * Runs the test files of a group one after another in this process: most of the time of a short one is the start of a
 * process with tap, Fastify and the modules of the project. Each file runs alone, too: `npx tap test/plugins/cors.test.ts`.
 */
export async function runTogether (group: string): Promise<void> {
  const folder = relative(ROOT, join(group, '../..')).split(sep).join('/')
  const groups = GROUPS[folder] ?? {}
  const files = readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => /^(?!slow\/|together\/|fixtures\/|packages\/).*\.test\.ts$/.test(file) && !isAlone(`${folder}/${file}`)).sort()
  for (const file of files) {
    const names = Object.keys(groups).filter((name) => groups[name]?.test(file))
    if (names.length !== 1) throw new Error(`${folder}/${file} is in ${names.length} groups: ${names.join(', ')}`)
  }
  // What a file does at its end, before the next one begins. tap does it at the end of the process.
  const teardowns: Array<() => unknown> = []
  Object.assign(t, { teardown: (teardown: () => unknown) => teardowns.unshift(teardown) })
  for (const file of files.filter((file) => groups[basename(group, '.test.ts')]?.test(file))) {
    t.comment(`${folder}/${file}`)
    t.setTimeout(TIMEOUT)
    await import(join(ROOT, folder, file))
    if (!t.idle) await once(t, 'idle')
    for (const teardown of teardowns.splice(0)) await teardown()
  }
}

function isAlone (file: string): boolean {
  return include.includes(file) || (include.includes('test/*.test.ts') && /^test\/[^/]+$/.test(file))
}
