/**
 * Runs TypeScript with its types erased: each becomes as many spaces, so that coverage and stack traces are in the
 * places of the source. What has been erased is kept by the hash of its text, as most files are loaded by many tests.
 */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = new URL('../../../../../', import.meta.url).href
const KEPT = join(import.meta.dirname, '../../../../../node_modules/.cache/erased-types')
/** The packages that only slow tests need. */
const SLOW_PACKAGES = new URL('packages/hindsight/test/packages/package.json', ROOT).href
mkdirSync(KEPT, { recursive: true })

export async function resolve (specifier, context, nextResolve) {
  // Within the project the package is its sources, as `paths` in tsconfig.json say.
  const own = /^fastify-hindsight(?:\/([\w-]+))?$/.exec(specifier)
  const [, entry = 'index'] = own ?? []
  const isBuilt = context.parentURL?.startsWith(`${ROOT}dist/`)
  if (own !== null && !isBuilt && context.parentURL?.startsWith(ROOT)) return await nextResolve(`${ROOT}packages/hindsight/src/${entry}.ts`, context)
  // The sources import the compiled files. Names with a query are those of mocks, which are resolved first.
  const isOwn = /^\.[^?]*\.js$/.test(specifier) && /^[^?]*\.ts$/.test(context.parentURL)
  const source = isOwn ? new URL(specifier.replace(/\.js$/, '.ts'), context.parentURL) : null
  if (source !== null && existsSync(source)) return await nextResolve(source.href, context)
  try {
    return await nextResolve(specifier, context)
  } catch (error) {
    const isPackage = error.code === 'ERR_MODULE_NOT_FOUND' && /^[@\w]/.test(specifier) && context.parentURL?.startsWith(ROOT)
    if (isPackage) return await nextResolve(specifier, { ...context, parentURL: SLOW_PACKAGES })
    // What is mocked has a query behind its name.
    const [, module, query] = /^([^?]*)\.js(\?.*)?$/.exec(error.url ?? '') ?? []
    if (module === undefined || module.includes('/node_modules/')) throw error
    return await nextResolve(`${module}.ts${query ?? ''}`, context)
  }
}

export async function load (url, context, nextLoad) {
  if (!url.startsWith('file:') || !/\.ts(?:\?|$)/.test(url)) return await nextLoad(url, context)
  return { format: 'module', shortCircuit: true, source: await erased(readFileSync(fileURLToPath(url), 'utf8'), url) }
}

async function erased (source, url) {
  const file = join(KEPT, `${createHash('sha256').update(source).digest('hex')}.js`)
  try {
    return readFileSync(file, 'utf8')
  } catch {
    // TypeScript itself is loaded only where there is something to erase.
    const { default: erase } = await import('ts-blank-space')
    const text = erase(source, (node) => { throw new Error(`${url}: types cannot be erased from ${node.getText().slice(0, 80)}`) })
    // Whole or not at all: other tests look at the same time.
    writeFileSync(`${file}.${process.pid}`, text)
    renameSync(`${file}.${process.pid}`, file)
    return text
  }
}
