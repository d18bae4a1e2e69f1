import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'

const ROOT = join(import.meta.dirname, '..')
const DIST = process.argv[2] ?? join(ROOT, 'dist')
const SOURCES = ['app', 'plugins', 'routes']

interface Manifest {
  name: string
  version: string
  description: string
  license: string
  engines: object
  dependencies: Record<string, string>
  peerDependencies: Record<string, string>
  peerDependenciesMeta: object
}

/** What npm is told of the package: nothing of how it is developed, so nothing that runs when it is installed. */
function manifest (): object {
  const { name, version, description, license, engines, dependencies, peerDependencies, peerDependenciesMeta } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Manifest
  // It runs the sources, of which there are none here.
  const { tsx, ...needed } = dependencies
  return {
    name,
    version,
    description,
    license,
    type: 'module',
    exports: {
      '.': { require: { types: './app/index.d.cts', default: './app/index.cjs' }, default: { types: './app/index.d.ts', default: './app/index.js' } },
      './nest': {
        require: { types: './app/nest.d.cts', default: './app/nest.cjs' },
        default: { types: './app/nest.d.ts', default: './app/nest.js' }
      },
      './register': { types: './app/register.d.ts', default: './app/register.js' },
      './storage': { types: './app/storage.d.ts', default: './app/storage.js' },
      './storage-contract': { types: './app/storage-contract.d.ts', default: './app/storage-contract.js' },
      './package.json': './package.json'
    },
    imports: { '#index': './app/index.js', '#nest': './app/nest.js' },
    bin: { hindsight: 'bin/hindsight.js' },
    engines,
    keywords: ['fastify', 'fastify-plugin', 'debug', 'profiler', 'error page', 'lifecycle'],
    dependencies: needed,
    peerDependencies,
    peerDependenciesMeta
  }
}

const COMMAND = `#!/usr/bin/env node
import { run } from '../app/cli/run.js'

await run(process.argv.slice(2))
`

rmSync(DIST, { recursive: true, force: true })
const compiler = createRequire(import.meta.url).resolve('typescript/bin/tsc')
execFileSync(process.execPath, [compiler, '-p', join(import.meta.dirname, 'tsconfig.json'), '--outDir', DIST, '--sourceMap', 'false'], { stdio: 'inherit' })
for (const source of SOURCES) {
  for (const entry of readdirSync(join(ROOT, source), { recursive: true, withFileTypes: true })) {
    // What pages are made of lies beside what makes them.
    if (!entry.isFile() || !/\.(?:css|c?js|d\.cts)$/.test(entry.name)) continue
    const file = join(entry.parentPath, entry.name)
    const place = join(DIST, relative(ROOT, file))
    mkdirSync(dirname(place), { recursive: true })
    cpSync(file, place)
  }
}
for (const text of ['README.md', 'LICENSE', 'CHANGELOG.md']) cpSync(join(ROOT, text), join(DIST, text))
mkdirSync(join(DIST, 'bin'), { recursive: true })
writeFileSync(join(DIST, 'bin/hindsight.js'), COMMAND, { mode: 0o755 })
writeFileSync(join(DIST, 'package.json'), `${JSON.stringify(manifest(), null, 2)}\n`)
