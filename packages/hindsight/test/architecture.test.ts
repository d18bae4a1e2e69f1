import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { styleOf, styleProblems } from './support/code-style.js'
import { testdir } from './support/folder.js'
import { circlesOf, importsOf, sourceFiles, textOf, upwardImports, type Import } from './support/imports.js'

const SOURCES = join(import.meta.dirname, '../src')

/** The lowest layer that has a part comes first; the files of the folder itself, which are not listed, are above all. */
const LAYERS: ReadonlyArray<readonly string[]> = [
  ['call.ts', 'clock.ts', 'require.ts', 'options.ts', 'check-options.ts', 'duration.ts', 'similar-name.ts'],
  ['view', 'queries', 'postgres.ts'],
  ['http'],
  ['mask'],
  // Files of `recording`, which lower layers add to: see TRACE.
  ['trace'],
  ['logs'],
  ['routing'],
  ['errors'],
  ['inspection'],
  // What a profile is: the error page and the parts read it.
  ['store/profile.ts'],
  ['error-page'],
  ['parts'],
  ['store'],
  ['recording'],
  ['reading'],
  ['routes'],
  ['cli']
]
const TOP = ['plugin', LAYERS.length] as const
/** The trace of a request, and what is recorded of it. */
const TRACE = [
  'recording/trace.ts', 'recording/recording.ts', 'recording/sending.ts', 'recording/events.ts', 'recording/event-recorder.ts',
  'recording/event-loop.ts', 'recording/hooks.ts', 'recording/work-log.ts', 'logs/log-record.ts', 'logs/pino-line.ts'
]
/** Parts of several files. */
const PART_OF: Readonly<Record<string, string>> = {
  'options.ts': 'call.ts',
  'check-options.ts': 'call.ts',
  'require.ts': 'call.ts',
  ...Object.fromEntries(TRACE.map((file) => [file, 'trace'])),
  'routing/route-table.ts': 'mask',
  'routing/route-pattern.ts': 'mask',
  'errors/exception.ts': 'view',
  'errors/thrown-value.ts': 'view',
  'duration.ts': 'call.ts',
  'similar-name.ts': 'call.ts',
  'clock.ts': 'call.ts',
  'open-browser.ts': 'call.ts'
}

/** The interface of stores, and its engines. */
const ENGINES = /^store\/(?:criteria|memory|open|postgres|sql|sqlite|storage)\b/
const FOR_ENGINES = ['call.ts', 'store/profile.ts', 'store/summary.ts', 'postgres.ts', 'require.ts']
/** The entries export what a part has for applications, and for the service. */
const NAMES_PARTS = /^(?:parts\/|cli\/commands\/|(?:index|recorder)\.ts$)/

const BOUNDARIES: Readonly<Record<string, (one: Import) => boolean>> = {
  'storage imports only the profile, its summary and the connections to PostgreSQL': ({ from, to }) =>
    ENGINES.test(from) && to.endsWith('.ts') && !ENGINES.test(to) && !FOR_ENGINES.includes(to),
  'recorder, store, pages, comparison and Markdown read the list of parts, and name none of them': ({ from, to }) =>
    !NAMES_PARTS.test(from) && /^parts\/[\w-]+\//.test(to),
  'the error page imports neither the recorder nor the store: it renders a profile': ({ from, to }) =>
    /^error(?:s|-page)\//.test(from) && /^(?:store|recording)\//.test(to) && ![...TRACE, 'store/profile.ts'].includes(to),
  'the package imports nothing of the service, of tests or of itself by its name': ({ to }) => /^(?:\.\.\/|fastify-hindsight)/.test(to)
}

function layerOf (file: string): readonly [part: string, layer: number] {
  const names = [PART_OF[file] ?? file, file.split('/')[0] ?? '']
  for (const name of names) {
    const layer = LAYERS.findIndex((parts) => parts.includes(name))
    if (layer >= 0) return [name, layer]
  }
  return TOP
}

/** What the imports break, in words. The generated types of the options name what applications implement. */
function violations (imports: readonly Import[]): string[] {
  const within = imports.filter(({ to }) => to.endsWith('.ts') && !to.startsWith('..'))
  const upward = upwardImports(within.filter(({ from, isType }) => from !== 'options.ts' || !isType), layerOf)
  const crossed = Object.entries(BOUNDARIES).flatMap(([rule, breaks]) => imports.filter(breaks).map((one) => `${rule}: ${textOf(one)}`))
  return [...circlesOf(within).map((circle) => `circle: ${circle}`), ...upward.map((text) => `upward: ${text}`), ...crossed]
}

t.test('imports go down, without circles, and the boundaries hold', async (t) => {
  const imports = importsOf(SOURCES, sourceFiles(SOURCES, ['']))
  t.ok(imports.length > 500)
  t.same(imports.filter(({ to }) => to.endsWith('.ts') && !existsSync(join(SOURCES, to))), [], 'each import was followed to a file')
  t.same(violations(imports), [])
})

t.test('where a lifecycle records nothing, what records and shows requests is not loaded', async (t) => {
  const imports = importsOf(SOURCES, sourceFiles(SOURCES, [''])).filter(({ isType, isLazy }) => !isType && isLazy !== true)
  const loaded = new Set(['recorder.ts'])
  for (const file of loaded) for (const { to } of imports.filter(({ from }) => from === file)) loaded.add(to)
  t.ok(loaded.has('services.ts'))
  const recording = /^(?:reading|routes|error-page\/render|parts\/(?:index|overview)|store\/(?:profiler|sqlite)|recording\/(?:recorder|profiles))/
  t.same([...loaded].filter((file) => recording.test(file)), [])
})

t.test('each folder has a layer', async (t) => {
  const folders = new Set(sourceFiles(SOURCES, ['']).filter((file) => file.includes('/')).map((file) => file.split('/')[0] ?? ''))
  t.same([...folders].filter((folder) => layerOf(`${folder}/x.ts`) === TOP), [])
})

t.test('each rule can fail', async (t) => {
  for (const [from, to, expected] of [
    ['observe.ts', 'view/text.ts', []],
    ['recording/trace.ts', 'recording/recording.ts', []],
    ['recording/trace.ts', 'recording/recorder.ts', ['upward: recording/trace.ts > recording/recorder.ts']],
    ['recording/trace.ts', 'routing/no-match.ts', ['upward: recording/trace.ts > routing/no-match.ts']],
    ['http/origin.ts', 'logs/log.ts', ['upward: http/origin.ts > logs/log.ts']],
    ['view/a.ts', 'view/a.ts', ['circle: view/a.ts > view/a.ts']],
    ['store/memory.ts', 'mask/masker.ts', [`${Object.keys(BOUNDARIES)[0]}: store/memory.ts > mask/masker.ts`]],
    ['reading/pages/list.ts', 'parts/logs/index.ts', [`${Object.keys(BOUNDARIES)[1]}: reading/pages/list.ts > parts/logs/index.ts`]],
    ['error-page/page.ts', 'store/summary.ts', [
      'upward: error-page/page.ts > store/summary.ts', `${Object.keys(BOUNDARIES)[2]}: error-page/page.ts > store/summary.ts`
    ]],
    ['observe.ts', '../../../lib/state.ts', [`${Object.keys(BOUNDARIES)[3]}: observe.ts > ../../../lib/state.ts`]]
  ] as const) {
    t.same(violations([{ from, to, isType: false }]), expected, `${from} > ${to}`)
  }
})

t.test('every form of import is found', async (t) => {
  const root = testdir(t, {
    app: {
      'app.ts': [
        "import a from './a.js'", "import type { B } from '../b.js'", "export * from './c.js'", "type D = import('./d.js').D",
        "const e = async () => await import('./e.js')", "// import './comment.js'", "import 'fastify'"
      ].join('\n')
    }
  })
  t.same(importsOf(root, sourceFiles(root, ['app'])).map(({ to, isType }) => `${to}${isType ? ' type' : ''}`), [
    'app/a.ts', 'b.ts type', 'app/c.ts', 'app/d.ts type', 'app/e.ts', 'fastify'
  ])
})

// ESLint has a rule for the other files.
t.test('no line of a stylesheet has more than 120 columns', async (t) => {
  const files = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.css'))
  t.ok(files.length > 0)
  for (const file of files) t.same(readFileSync(join(SOURCES, file), 'utf8').split('\n').filter((line) => line.length > 120), [], file)
})

t.test('few conditional expressions, functions with names of two words, and no name with the word own', async (t) => {
  const files = sourceFiles(SOURCES, [''])
  const folderOf = (file: string): string => file.includes('/') ? file.split('/')[0] ?? '' : 'src'
  t.same(styleProblems(SOURCES, files, folderOf, ['html', 'observe', 'profile']), [])
})

t.test('what may throw is called at the border', async (t) => {
  const guards = sourceFiles(SOURCES, ['']).flatMap((file) => readFileSync(join(SOURCES, file), 'utf8').split('\n')
    .filter((line) => /\b(?:attemptCall|readProperty)\(/.test(line)).map((line) => `${file}: ${line.trim()}`))
  t.ok(guards.length > 0)
  t.same(guards.slice(60), [], `at most 60 lines, not ${guards.length}`)
})

t.test('each rule of style can fail', async (t) => {
  t.same(styleOf('const a = b ? c ? 1 : 2 : 3\n').conditionals, 2)
  t.same(styleOf('export function render () {}\nexport async function send () {}\nexport function sendAll () {}\nfunction help () {}\n').oneWord,
    ['render', 'send'])
  t.same(styleOf('const { own } = frame; const own = 1; call(isOwn, OWN_FRAMES, x.ownHooks, Object.hasOwn, owner, known)\n').own,
    ['own', 'isOwn', 'OWN_FRAMES'])
  const root = testdir(t, { app: { 'app.ts': 'export function render (a) { return a ? 1 : 2 }\n' } })
  t.same(styleProblems(root, ['app/app.ts'], () => 'app', []), [
    'app/app.ts: the exported function render has a name of one word', 'app: 1000 conditional expressions in 1,000 lines, at most 30'
  ])
  t.equal(styleProblems(root, ['app/app.ts'], () => 'app', ['render']).length, 1, 'an exempt name')
})
