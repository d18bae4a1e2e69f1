import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { build, type BuildOptions } from 'esbuild'
import { rollup } from 'rollup'
import { link, pack, unpack } from '../../support/packed.js'

const run = promisify(execFile)
const ROOT = join(import.meta.dirname, '../../../../..')
const FIXTURES = join(ROOT, 'packages/hindsight/test/fixtures/failing')
const LOADERS = ['tsx', 'ts-node', '@swc-node/register', '@swc/core', 'typescript-5.9', '@types/node', 'undici-types']
const EXTERNAL = ['fastify', 'fastify-hindsight']

/** How a program is started, and the file of the source in which it fails, in the folder of a project. */
export interface Format { args: string[], source: string, isReduced?: boolean }

const BUNDLES: Readonly<Record<string, BuildOptions>> = {
  'a bundle of esbuild': {},
  'a bundle of esbuild with short names': { minifyIdentifiers: true, minifyWhitespace: true, keepNames: true },
  'a minified ES module of esbuild': { minify: true, keepNames: true, format: 'esm', sourcemap: 'inline' }
}

const CODE = new Map(['program', 'shapes'].map((name) => [name, readFileSync(join(FIXTURES, `${name}.js`), 'utf8')]))

/** The same program in each format. */
export async function writeFormats (project: string): Promise<Record<string, Format>> {
  const { filename } = await pack(project)
  for (const name of [...await unpack(join(project, filename), project), 'fastify', ...LOADERS]) {
    link(project, name.replace(/-5\.9$/, ''), name)
  }
  const formats: Record<string, Format> = {}
  const write = (folder: string, extension: string, change: (code: string) => string): void => {
    mkdirSync(join(project, folder), { recursive: true })
    writeFileSync(join(project, folder, 'package.json'), JSON.stringify({ type: folder === 'esm' ? 'module' : 'commonjs' }))
    for (const [name, code] of CODE) writeFileSync(join(project, folder, `${name}.${extension}`), change(code))
  }
  write('esm', 'js', (code) => code)
  write('cjs', 'js', asCommonJs)
  // What compilers write has other lines.
  write('ts', 'ts', (code) => 'export interface Planted {\n  name: string\n}\n\n' + code.replace(/\.\/shapes\.js/, './shapes'))
  const compilerOptions = { target: 'es2022', module: 'commonjs', esModuleInterop: true, sourceMap: true, types: ['node'] }
  writeFileSync(join(project, 'ts/tsconfig.json'), JSON.stringify({ compilerOptions }))
  const source = 'ts/shapes.ts'
  formats['ES modules'] = { args: ['esm/program.js'], source: 'esm/shapes.js' }
  formats.CommonJS = { args: ['cjs/program.js'], source: 'cjs/shapes.js' }
  formats.tsx = { args: ['--import=tsx', 'ts/program.ts'], source }
  formats['ts-node'] = { args: ['-r', 'ts-node/register/transpile-only', 'ts/program.ts'], source }
  formats.swc = { args: ['-r', '@swc-node/register', 'ts/program.ts'], source }
  const args = ['-p', join(project, 'ts'), '--outDir', join(project, 'tsc'), '--noCheck']
  await run(process.execPath, [join(project, 'node_modules/typescript/bin/tsc'), ...args])
  formats['a build of tsc'] = { args: ['tsc/program.js'], source }
  const entry = join(project, 'ts/program.ts')
  for (const [name, options] of Object.entries(BUNDLES)) {
    const outfile = `${name}/program.${options.format === 'esm' ? 'mjs' : 'cjs'}`
    await build({
      entryPoints: [entry],
      outfile: join(project, outfile),
      bundle: true,
      platform: 'node',
      external: EXTERNAL,
      logLevel: 'silent',
      sourcemap: 'linked',
      ...options
    })
    formats[name] = { args: [outfile], source, isReduced: options.minify === true }
  }
  const bundle = await rollup({ input: join(project, 'esm/program.js'), external: [...EXTERNAL, /^node:/], treeshake: false })
  await bundle.write({ file: join(project, 'rollup/program.mjs'), sourcemap: true })
  formats['a bundle of rollup'] = { args: ['--enable-source-maps', 'rollup/program.mjs'], source: 'esm/shapes.js' }
  return formats
}

function asCommonJs (code: string): string {
  const required = code.replaceAll(/^import (.+) from '(.+)'$/gm, "const $1 = require('$2')")
  const hindsight = required.replace('const hindsight =', 'const { hindsight } =')
  return hindsight.replaceAll(/^export const (\w+) =/gm, 'const $1 = exports.$1 =')
}
