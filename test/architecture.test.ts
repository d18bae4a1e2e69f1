import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { styleProblems } from '../packages/hindsight/test/support/code-style.js'
import { circlesOf, importsOf, sourceFiles, textOf, upwardImports, type Import } from '../packages/hindsight/test/support/imports.js'

const ROOT = join(import.meta.dirname, '..')
/** From the highest to the lowest. A file of `routes/` is the user's. */
const LAYERS = ['app', 'plugins', 'lib']
/** The entries of the package that the documents name. */
const ENTRIES = /^fastify-hindsight(?:\/(?:recorder|server-options|queries|storage))?$/

const BOUNDARIES: Readonly<Record<string, (one: Import) => boolean>> = {
  'listeners do not import each other': ({ from, to }) => from.startsWith('plugins/') && to.startsWith('plugins/'),
  'the service imports the documented entries of the package': ({ to }) =>
    to.startsWith('packages/') || (to.startsWith('fastify-hindsight') && !ENTRIES.test(to)),
  'the service imports no tests, examples or documents': ({ to }) => /^(?:test|examples|docs|bench)\//.test(to)
}

function violations (imports: readonly Import[]): string[] {
  const within = imports.filter(({ to }) => LAYERS.some((folder) => to.startsWith(`${folder}/`)))
  const upward = upwardImports(within, (file) => {
    const folder = file.split('/')[0] ?? ''
    return [folder, -LAYERS.indexOf(folder)]
  })
  const crossed = Object.entries(BOUNDARIES).flatMap(([rule, breaks]) => imports.filter(breaks).map((one) => `${rule}: ${textOf(one)}`))
  // The state of a request and the options name types of the modules that use them.
  const atRuntime = within.filter(({ isType }) => !isType)
  return [...circlesOf(atRuntime).map((circle) => `circle: ${circle}`), ...upward.map((text) => `upward: ${text}`), ...crossed]
}

t.test('imports go from app to plugins to lib, and from the service to the package', async (t) => {
  const imports = importsOf(ROOT, sourceFiles(ROOT, LAYERS))
  t.ok(imports.length > 200)
  t.same(violations(imports), [])
})

t.test('each entry that the service imports is an export of the package', async (t) => {
  const { exports } = JSON.parse(readFileSync(join(ROOT, 'packages/hindsight/package.json'), 'utf8')) as { exports: object }
  const names = importsOf(ROOT, sourceFiles(ROOT, LAYERS)).filter(({ to }) => ENTRIES.test(to)).map(({ to }) => to.replace('fastify-hindsight', '.'))
  t.same([...new Set(names)].filter((name) => !(name in exports)), [])
})

t.test('each rule can fail', async (t) => {
  const [siblings, entries, others] = Object.keys(BOUNDARIES)
  for (const [from, to, expected] of [
    ['app/app.ts', 'lib/state.ts', []],
    ['lib/state.ts', 'fastify-hindsight/recorder', []],
    ['lib/state.ts', 'plugins/cors.ts', ['upward: lib/state.ts > plugins/cors.ts']],
    ['lib/state.ts', 'lib/state.ts', ['circle: lib/state.ts > lib/state.ts']],
    ['plugins/cors.ts', 'plugins/session.ts', [`${siblings}: plugins/cors.ts > plugins/session.ts`]],
    ['lib/state.ts', 'fastify-hindsight/register', [`${entries}: lib/state.ts > fastify-hindsight/register`]],
    ['app/app.ts', 'packages/hindsight/src/postgres.ts', [`${entries}: app/app.ts > packages/hindsight/src/postgres.ts`]],
    ['app/app.ts', 'test/support.ts', [`${others}: app/app.ts > test/support.ts`]]
  ] as const) {
    t.same(violations([{ from, to, isType: false }]), expected, `${from} > ${to}`)
  }
})

t.test('few conditional expressions, functions with names of two words, and no name with the word own', async (t) => {
  const files = sourceFiles(ROOT, LAYERS)
  t.same(styleProblems(ROOT, files, (file) => file.split('/')[0] ?? '', ['hindsight', 'service']), [])
})
