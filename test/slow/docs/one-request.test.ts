import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { ROOT } from '../../../packages/hindsight/test/support/snippets.js'

interface Reached {
  statusCode: number
  files: string[]
}

/** The files whose functions may run in one request of debug mode. Up to five of them run only where it is slow or blocked, as under load. */
const BOUNDS = {
  package: [['/nowhere', 404, 91], ['/fails', 500, 93], ['/_profiler/<token>', 200, 57]],
  service: [['/nowhere', 404, 119], ['/fails', 500, 124]]
} as const

for (const product of ['package', 'service'] as const) {
  t.test(`${product}: a request runs no more files than the bound`, async (t) => {
    const reached = await reachedBy(product, BOUNDS[product].map(([url]) => url))
    for (const [url, status, bound] of BOUNDS[product]) {
      const { statusCode, files } = reached[url] as Reached
      t.equal(statusCode, status, url)
      t.ok(files.length > 20 && files.length <= bound, `${url}: ${files.length} files, at most ${bound}`, { files })
    }
  })
}

/** Runs requests in a process whose functions report their files. */
async function reachedBy (product: string, urls: string[]): Promise<Partial<Record<string, Reached>>> {
  const fixture = join(ROOT, 'packages/hindsight/test/fixtures/reached')
  const args = ['--import=tsx', `--import=${join(fixture, 'register.js')}`, join(fixture, 'requests.ts'), product, ...urls]
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: ROOT, env: { ...process.env, NODE_ENV: 'test' } })
  return JSON.parse(stdout) as Record<string, Reached>
}
