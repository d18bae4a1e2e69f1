import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, posix, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import ts from 'typescript'
import { testdir } from './support/folder.js'

/** One import as it is written: from one file of ours to another, both relative to the root, with forward slashes. */
interface Edge {
  from: string
  to: string
  /** Erased by the compiler. */
  typeOnly: boolean
}

const ROOT = join(import.meta.dirname, '..')
const SOURCES = ['app', 'cli', 'lib', 'plugins', 'routes']

/** Imports go from a higher layer to a lower one, or stay within their own part. */
const LAYERS: ReadonlyArray<readonly [folder: string, layer: number, part?: string]> = [
  ['app', 12],
  ['cli', 12],
  ['routes', 11],
  ['plugins', 11],
  ['lib/full', 10],
  ['lib/reading', 10],
  // What a profile is: the parts read it.
  ['lib/store/profile.ts', 6],
  ['lib/store', 8],
  // What is recorded of a request: lower layers add to it.
  ['lib/recording/recording.ts', 1, 'lib/lifecycle'],
  ['lib/recording', 9],
  ['lib/parts', 7],
  ['lib/error-page', 6],
  ['lib/errors', 5],
  ['lib/routing', 4],
  ['lib/mask', 3],
  ['lib/http', 2],
  ['lib/logs', 2],
  ['lib/lifecycle', 1],
  ['lib/view', 1],
  ['lib/postgres.ts', 1],
  // The package's entry for database clients, which is loaded before the application.
  ['lib/queries', 1],
  ['lib/require.ts', 0, 'lib/options.ts'],
  ['lib/options.ts', 0],
  ['lib/check-options.ts', 0, 'lib/options.ts'],
  ['lib/duration.ts', 0, 'lib/options.ts'],
  ['lib/similar-name.ts', 0, 'lib/options.ts'],
  ['lib/clock.ts', 0],
  ['lib/call.ts', 0]
]
/** The generated types of the options. They contain the interfaces that applications implement. */
const OPTION_TYPES = 'lib/options.ts'

/** Files that start the service when they are imported. */
const ENTRIES = ['app/dev.ts', 'app/server.ts']

/** The interface of stores, and its engines. */
const ENGINES = /^lib\/store\/(?:criteria|memory|open|postgres|sql|sqlite|storage)\b/

/** Files that treat all parts alike. The toolbar of a response that is not sent yet reads its route. */
const READERS = /^lib\/reading\/(?:pages\/(?!toolbar\/insert)|compare\/|profile-markdown)/

/** What may import the parts of `full` mode. */
const IMPORTS_FULL = /^(?:app\/(?:app|full|full-mode|index|lifecycle|server-options|server)\.ts$|plugins\/|lib\/options\.ts$)/

/** What the layers alone would allow, or cannot see because it stays within one part. */
const BOUNDARIES: ReadonlyArray<{ says: string, breaks: (from: string, to: string) => boolean }> = [
  {
    says: 'listeners do not import each other',
    breaks: (from, to) => within(from, 'plugins') && within(to, 'plugins')
  },
  {
    says: 'storage imports only the profile, its summary and the connections to PostgreSQL',
    breaks: (from, to) => ENGINES.test(from) && !ENGINES.test(to) &&
      !['lib/call.ts', 'lib/store/profile.ts', 'lib/store/summary.ts', 'lib/postgres.ts', 'lib/require.ts'].includes(to)
  },
  {
    says: 'pages, comparison and Markdown read the list of parts, and none of them',
    breaks: (from, to) => READERS.test(from) && /^lib\/parts\/[\w-]+\//.test(to)
  },
  {
    says: 'listeners import no panel',
    breaks: (from, to) => within(from, 'plugins') && within(to, 'lib/parts') && to.endsWith('/index.ts')
  },
  {
    says: 'the diagnostic page imports neither the recorder nor the store',
    breaks: (from, to) => (within(from, 'lib/errors') || within(from, 'lib/error-page')) && (within(to, 'lib/store') || within(to, 'lib/recording'))
  },
  {
    says: 'only full mode, its listeners, the server and the names that are exported import lib/full',
    breaks: (from, to) => within(to, 'lib/full') && !within(from, 'lib/full') && !IMPORTS_FULL.test(from)
  },
  {
    says: 'what is shipped imports only what is shipped',
    breaks: (from, to) => isSource(from) && !isSource(to)
  }
]

function within (file: string, folder: string): boolean {
  return file.startsWith(`${folder}/`)
}

function isSource (file: string): boolean {
  return SOURCES.some((folder) => within(file, folder))
}

function partOf (file: string): readonly [part: string, layer: number] | undefined {
  const found = LAYERS.find(([folder]) => within(file, folder) || file === folder)
  return found && [found[2] ?? found[0], found[1]]
}

/** Every `.ts` file under the source folders of a tree, relative to it. */
function sourceFiles (root: string): string[] {
  return SOURCES.filter((folder) => existsSync(join(root, folder))).flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts') && !file.endsWith('.d.ts'))
      .map((file) => posix.join(folder, file.split(sep).join('/'))))
}

/** The relative imports of one file: static, re-exported, dynamic, `import('x').T` in a type, and whether they are erased. */
function importsOf (file: string, text: string): Edge[] {
  const edges: Edge[] = []
  const add = (specifier: ts.Node | undefined, typeOnly: boolean) => {
    if (!specifier || !ts.isStringLiteralLike(specifier) || !/^\.\.?(\/|$)/.test(specifier.text)) return
    const to = posix.join(posix.dirname(file), specifier.text).replace(/\.js$/, '.ts')
    edges.push({ from: file, to, typeOnly })
  }
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node)) add(node.moduleSpecifier, node.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword)
    else if (ts.isExportDeclaration(node)) add(node.moduleSpecifier, node.isTypeOnly)
    else if (ts.isImportTypeNode(node)) add(ts.isLiteralTypeNode(node.argument) ? node.argument.literal : undefined, true)
    else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) add(node.arguments[0], false)
    ts.forEachChild(node, visit)
  }
  visit(ts.createSourceFile(file, text, ts.ScriptTarget.Latest))
  return edges
}

function edgesOf (root: string): Edge[] {
  return sourceFiles(root).flatMap((file) => importsOf(file, readFileSync(join(root, file), 'utf8')))
}

/** Each circle of imports, those of types included, once, as a path that ends where it began. */
function circles (edges: readonly Edge[]): string[] {
  const next = new Map<string, string[]>()
  for (const { from, to } of edges) next.set(from, [...next.get(from) ?? [], to])
  const found: string[] = []
  const done = new Set<string>()
  const walk = (file: string, path: string[]): void => {
    const start = path.indexOf(file)
    if (start >= 0) found.push([...path.slice(start), file].join(' > '))
    if (start >= 0 || done.has(file)) return
    for (const to of next.get(file) ?? []) walk(to, [...path, file])
    done.add(file)
  }
  for (const file of next.keys()) walk(file, [])
  return found
}

/** Every rule that these imports break, in words; none: an empty list. */
function violations (edges: readonly Edge[]): string[] {
  const broken = circles(edges).map((circle) => `a circle: ${circle}`)
  for (const { from, to, typeOnly } of edges) {
    const importer = partOf(from)
    const imported = partOf(to)
    if (!importer) broken.push(`on no layer: ${from}`)
    if (isSource(to) && !imported) broken.push(`on no layer: ${to}`)
    const isAllowed = from === OPTION_TYPES && typeOnly
    if (importer && imported && importer[0] !== imported[0] && importer[1] <= imported[1] && !isAllowed) {
      broken.push(`not downward: ${from} (${importer[1]}) > ${to} (${imported[1]})`)
    }
    for (const { says, breaks } of BOUNDARIES) {
      if (breaks(from, to)) broken.push(`${says}: ${from} > ${to}`)
    }
  }
  return broken
}

t.test('imports go downward, without circles, and the boundaries hold', async (t) => {
  const edges = edgesOf(ROOT)
  t.ok(edges.length > 0, 'imports were found')
  t.same(edges.filter(({ to }) => !existsSync(join(ROOT, to))), [], 'each import was followed to a file')
  t.same(violations(edges), [])
})

// ESLint has a rule for the other files.
t.test('no line of a stylesheet has more than 120 columns', async (t) => {
  for (const folder of SOURCES) {
    const files = readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.css'))
    for (const file of files) {
      const lines = readFileSync(join(ROOT, folder, file), 'utf8').split('\n')
      t.same(lines.filter((line) => line.length > 120), [], `${folder}/${file}`)
    }
  }
})

t.test('every file has a layer', async (t) => {
  t.same(sourceFiles(ROOT).filter((file) => !partOf(file)), [])
})

// A file that no test loads would be missing from the table of coverage, which would then be too high.
t.test('every file can be imported', async (t) => {
  for (const file of sourceFiles(ROOT).filter((file) => !ENTRIES.includes(file))) {
    await t.resolves(import(pathToFileURL(join(ROOT, file)).href), file)
  }
})

t.test('each rule can fail', async (t) => {
  const cases: Array<[name: string, imports: Array<[from: string, to: string, typeOnly?: 'type']>, expected: string[]]> = [
    ['down by one layer and by five', [
      ['app/app.ts', 'plugins/cors.ts'],
      ['app/app.ts', 'lib/lifecycle/events.ts'],
      ['routes/_profiler/index.ts', 'lib/store/profiler.ts']
    ], []],
    ['within one part', [['lib/lifecycle/state.ts', 'lib/lifecycle/events.ts']], []],
    ['upward', [['lib/lifecycle/events.ts', 'lib/routing/table.ts']],
      ['not downward: lib/lifecycle/events.ts (1) > lib/routing/table.ts (4)']],
    ['upward, a type only', [['lib/store/profile.ts', 'app/hindsight.ts', 'type']],
      ['not downward: lib/store/profile.ts (6) > app/hindsight.ts (12)']],
    ['upward, from the types of the options', [['lib/options.ts', 'lib/parts/part.ts', 'type']], []],
    ['sideways to another part', [['lib/logs/log.ts', 'lib/http/origin.ts']],
      ['not downward: lib/logs/log.ts (2) > lib/http/origin.ts (2)']],
    ['a route and a listener', [['routes/index.ts', 'plugins/cors.ts']],
      ['not downward: routes/index.ts (11) > plugins/cors.ts (11)']],
    ['a circle of three', [
      ['lib/view/a.ts', 'lib/view/b.ts'],
      ['lib/view/b.ts', 'lib/view/c.ts'],
      ['lib/view/c.ts', 'lib/view/a.ts']
    ], ['a circle: lib/view/a.ts > lib/view/b.ts > lib/view/c.ts > lib/view/a.ts']],
    ['a file that imports itself', [['lib/view/a.ts', 'lib/view/a.ts']],
      ['a circle: lib/view/a.ts > lib/view/a.ts']],
    ['a circle that is closed by a type', [
      ['lib/view/a.ts', 'lib/view/b.ts'],
      ['lib/view/b.ts', 'lib/view/a.ts', 'type']
    ], ['a circle: lib/view/a.ts > lib/view/b.ts > lib/view/a.ts']],
    ['siblings among the listeners', [['plugins/cors.ts', 'plugins/session.ts', 'type']],
      ['listeners do not import each other: plugins/cors.ts > plugins/session.ts']],
    ['storage and the profile', [
      ['lib/store/memory.ts', 'lib/store/profile.ts'],
      ['lib/store/memory.ts', 'lib/store/storage.ts']
    ], []],
    ['storage and more of the profiler', [['lib/store/memory.ts', 'lib/store/follow.ts']],
      ['storage imports only the profile, its summary and the connections to PostgreSQL: lib/store/memory.ts > lib/store/follow.ts']],
    ['storage and a lower layer', [['lib/store/memory.ts', 'lib/lifecycle/events.ts']],
      ['storage imports only the profile, its summary and the connections to PostgreSQL: lib/store/memory.ts > lib/lifecycle/events.ts']],
    ['a listener and a panel', [['plugins/toolbar.ts', 'lib/parts/logs/index.ts']],
      ['listeners import no panel: plugins/toolbar.ts > lib/parts/logs/index.ts']],
    ['a page and one part', [['lib/reading/pages/list.ts', 'lib/parts/logs/index.ts']],
      ['pages, comparison and Markdown read the list of parts, and none of them: lib/reading/pages/list.ts > lib/parts/logs/index.ts']],
    ['a page and the list of parts', [['lib/reading/pages/list.ts', 'lib/parts/index.ts'], ['lib/reading/pages/list.ts', 'lib/parts/read.ts']], []],
    ['diagnostics and the profiler', [['lib/error-page/page.ts', 'lib/store/profile.ts', 'type']], [
      'not downward: lib/error-page/page.ts (6) > lib/store/profile.ts (6)',
      'the diagnostic page imports neither the recorder nor the store: lib/error-page/page.ts > lib/store/profile.ts'
    ]],
    ['the recorder and full mode', [['lib/recording/recorder.ts', 'lib/full/listener.ts', 'type']], [
      'not downward: lib/recording/recorder.ts (9) > lib/full/listener.ts (10)',
      'only full mode, its listeners, the server and the names that are exported import lib/full: lib/recording/recorder.ts > lib/full/listener.ts'
    ]],
    ['observe mode and full mode', [['app/observe.ts', 'lib/full/listener.ts']], [
      'only full mode, its listeners, the server and the names that are exported import lib/full: app/observe.ts > lib/full/listener.ts'
    ]],
    ['the tests', [['routes/index.ts', 'test/support/browser.ts']],
      ['what is shipped imports only what is shipped: routes/index.ts > test/support/browser.ts']],
    ['a part without a layer', [['lib/misc/a.ts', 'lib/lifecycle/events.ts']],
      ['on no layer: lib/misc/a.ts']]
  ]
  for (const [name, imports, expected] of cases) {
    t.same(violations(imports.map(([from, to, type]) => ({ from, to, typeOnly: type === 'type' }))), expected, name)
  }
})

t.test('every form of import is detected', async (t) => {
  const root = testdir(t, {
    app: {
      'app.ts': [
        "import fastify from 'fastify'",
        "import a from '../lib/view/a.js'",
        "import type { B } from '../lib/view/b.js'",
        "import { type C } from '../lib/view/c.js'",
        "import '../lib/view/d.js'",
        "export * from '../lib/view/e.js'",
        "export type { F } from '../lib/view/f.js'",
        "type G = import('../lib/view/g.js').G",
        "const h = async () => await import('../lib/view/h.js')",
        "// import '../lib/view/comment.js'",
        "const text = \"import '../lib/view/text.js'\"",
        "declare module '../lib/view/declared.js' {}"
      ].join('\n'),
      'style.css': ''
    },
    test: { 'x.test.ts': "import '../app/app.js'" }
  })
  t.same(edgesOf(root).map(({ from, to, typeOnly }) => `${posix.basename(to)}${typeOnly ? ' type' : ''} < ${from}`), [
    'a.ts < app/app.ts',
    'b.ts type < app/app.ts',
    'c.ts < app/app.ts',
    'd.ts < app/app.ts',
    'e.ts < app/app.ts',
    'f.ts type < app/app.ts',
    'g.ts type < app/app.ts',
    'h.ts < app/app.ts'
  ])
})
