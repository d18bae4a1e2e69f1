import { execFile } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { build, type BuildOptions } from 'esbuild'
import t from 'tap'
import { link, pack, unpack } from '../support/packed.js'

const run = promisify(execFile)
const folder = mkdtempSync(join(tmpdir(), 'hindsight-bundle-'))
const consumer = join(folder, 'consumer')

t.teardown(() => rmSync(folder, { recursive: true, force: true }))

t.before(async () => {
  const { filename } = await pack(folder)
  for (const name of [...await unpack(join(folder, filename), consumer), 'fastify']) link(consumer, name)
  cpSync(join(import.meta.dirname, '../fixtures/consumer'), consumer, { recursive: true })
})

/** What a program of the consumer prints, in another folder, where it finds no package. */
async function start (file: string, environment: string): Promise<{ said: unknown, warned: string[] }> {
  const env = { PATH: process.env.PATH, NODE_ENV: environment }
  const { stdout, stderr } = await run(process.execPath, [file], { cwd: join(file, '..'), env })
  return { said: JSON.parse(stdout), warned: stderr.match(/HindsightWarning: .*/g) ?? [] }
}

const PRODUCTION = { list: 404, status: 500 }
const DEBUG = { list: 200, status: 500, page: true, stored: 500, engine: 'memory' }

const FASTIFY_AS_ESM = "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url)"
const BUNDLES: Readonly<Record<string, BuildOptions & { entry: string }>> = {
  'an ES module': { entry: 'bundled.js', format: 'esm', banner: { js: FASTIFY_AS_ESM } },
  'a minified ES module': { entry: 'bundled.js', format: 'esm', banner: { js: FASTIFY_AS_ESM }, minify: true },
  CommonJS: { entry: 'bundled.js', format: 'cjs' },
  'CommonJS that requires the package': { entry: 'consumer.cjs', format: 'cjs' }
}

for (const [name, { entry, ...options }] of Object.entries(BUNDLES)) {
  t.test(`a bundle runs: ${name}`, async (t) => {
    const outfile = join(folder, 'bundles', name, options.format === 'esm' ? 'app.mjs' : 'app.cjs')
    const { errors, warnings } = await build({ entryPoints: [join(consumer, entry)], outfile, bundle: true, platform: 'node', logLevel: 'silent', ...options })
    t.same([errors, warnings.map(({ text }) => text)], [[], []])
    if (entry === 'consumer.cjs') {
      t.same((await start(outfile, 'development')).said, { list: 200, status: 500, page: true, token: true, stored: 500 })
      return
    }
    t.match(await start(outfile, 'production'), { said: PRODUCTION, warned: [] }, 'production')
    const { said, warned } = await start(outfile, 'development')
    t.same(said, DEBUG, 'debug')
    t.equal(warned.length, 1)
    for (const line of warned) t.match(line, /kept in memory only: fastify-hindsight is part of a bundle; .* mark it as an external package/)
  })
}

t.test('a bundle uses the package that is marked as external', async (t) => {
  const outfile = join(consumer, 'dist/app.mjs')
  await build(
    { entryPoints: [join(consumer, 'bundled.js')], outfile, bundle: true, platform: 'node', format: 'esm', external: ['fastify', 'fastify-hindsight'] }
  )
  link(consumer, '@photostructure/sqlite')
  t.teardown(() => rmSync(join(consumer, 'node_modules/@photostructure/sqlite')))
  t.same(await start(outfile, 'development'), { said: { ...DEBUG, engine: 'sqlite' }, warned: [] })
})
