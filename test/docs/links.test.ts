import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import t from 'tap'
import { ROOT } from '../../packages/hindsight/test/support/snippets.js'

const PAGES = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', ...[
  'docs', 'examples', 'packages'
].flatMap((folder) => readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.md') && !/node_modules|\.vitepress/.test(file)).map((file) => join(folder, file)))]
const textOf = (page: string): string => readFileSync(join(ROOT, page), 'utf8')

t.test('each link of each page leads to a file, and each anchor to a heading', async (t) => {
  t.ok(PAGES.length > 40, `${PAGES.length} pages`)
  const broken = PAGES.flatMap((page) => linksOf(textOf(page)).filter((link) => !isThere(page, link)).map((link) => `${page}: ${link}`))
  t.same(broken, [])
})

t.test('each page of the documentation is linked from another page', async (t) => {
  const linked = new Set(PAGES.flatMap((page) => linksOf(textOf(page)).map((link) => join(dirname(page), link.split('#')[0] ?? ''))))
  t.same(PAGES.filter((page) => page.startsWith('docs/') && !linked.has(page)), [])
})

t.test('each file of the documentation that the project names exists', async (t) => {
  const named = [
    'app', 'lib', 'packages', 'plugins', 'routes', 'test', 'examples', 'docs'
  ].flatMap((folder) => readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.(?:ts|sql)$/.test(file) && !file.includes('node_modules')).map((file) => join(folder, file)))
    .flatMap((file) => [...textOf(file).matchAll(/\bdocs\/[\w/-]+\.md\b/g)].map(([page]) => [relative('.', file), page] as const))
  t.same(named.filter(([, page]) => !existsSync(join(ROOT, page))), [])
})

/** The targets of links that are not addresses of the network, without code. */
function linksOf (text: string): string[] {
  const prose = text.replaceAll(/^( *)```[^]*?^\1```$/gm, '').replaceAll(/`[^`\n]*`/g, '`')
  return [...prose.matchAll(/\]\(([^()\s]+)\)/g)].map(([, link = '']) => link).filter((link) => !/^\w+:/.test(link))
}

function isThere (page: string, link: string): boolean {
  const [path = '', anchor = ''] = link.split('#')
  const file = path === '' ? page : join(dirname(page), path)
  if (!existsSync(join(ROOT, file))) return false
  return anchor === '' || anchorsOf(textOf(file)).has(anchor)
}

/** The anchors of the headings of a page, as GitHub makes them. */
function anchorsOf (text: string): Set<string> {
  const headings = text.replaceAll(/^```[^]*?^```$/gm, '').matchAll(/^#{1,6} (.*)$/gm)
  return new Set([...headings].map(
    ([, heading = '']) => heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase().replaceAll(/[^\p{L}\p{N}_ -]/gu, '').replaceAll(' ', '-')
  ))
}
