import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { JSDOM } from 'jsdom'
import t from 'tap'
import { testdir } from '../../support/folder.js'

const ROOT = join(import.meta.dirname, '../../..')

t.setTimeout(120_000)

t.test('the site is built, and each of its links leads to a page or a file of it', async (t) => {
  const folder = testdir(t)
  await promisify(execFile)(process.execPath, [join(ROOT, 'node_modules/vitepress/bin/vitepress.js'), 'build', 'docs', '--outDir', folder], { cwd: ROOT })
  const pages = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.html'))
  t.ok(pages.includes('architecture.html') && pages.length >= 40, `${pages.length} pages`)
  const dead = pages.flatMap((page) => {
    const links = [...new JSDOM(readFileSync(join(folder, page))).window.document.querySelectorAll('main a[href]')]
    const paths = links.map((link) => decodeURI((link.getAttribute('href') ?? '').replace(/[?#].*$/, '')))
    const own = paths.filter((path) => path !== '' && !/^[a-z]+:/.test(path))
    const target = (path: string): string => path.startsWith('/') ? join(folder, path) : resolve(folder, dirname(page), path)
    return own.filter((path) => ![target(path), `${target(path)}.html`].some((file) => existsSync(file))).map((path) => `${page}: ${path}`)
  })
  t.same([...new Set(dead)], [])
})
