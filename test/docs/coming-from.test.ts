import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { lifecycle } from '../../app/lifecycle.js'
import { OPTIONS } from '../../lib/check-options.js'
import { pageProblems, ROOT } from '../support/snippets.js'

const page = readFileSync(join(ROOT, 'docs/explanation/coming-from.md'), 'utf8')
const ours = page.split('\n').filter((line) => line.startsWith('| ')).map((line) => line.split(' | ').slice(1).join(' | ')).join('\n')
const attributes = ['template', 'cache', 'params', 'security', 'isGranted', 'links', 'name']

t.test('the stages, attributes and options that the page names exist', async (t) => {
  for (const [, name = ''] of ours.matchAll(/`config\.(\w+)`/g)) t.ok(attributes.includes(name), `config.${name}`)
  for (const [, stage = ''] of ours.matchAll(/`(kernel\.\w+)`/g)) t.ok(stage in lifecycle, stage)
  for (const [, names = ''] of ours.matchAll(/options? ((?:`[\w.]+`(?:, | and )?)+)/g)) {
    for (const [, name = ''] of names.matchAll(/`([\w.]+)`/g)) t.ok(name in OPTIONS, `option ${name}`)
  }
  for (const name of ['localeAwareServices', 'profiler', 'security', 'converters']) t.ok(name in OPTIONS && ours.includes(name), name)
  const code = readdirSync(join(ROOT, 'lib'), { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts')).map(
    (file) => readFileSync(join(ROOT, 'lib', file), 'utf8')
  ).join('\n')
  for (const [, name = ''] of ours.matchAll(/`request\.(logoutPath|pagination|services)\b/g)) t.match(code, new RegExp(`\\b${name}\\b`), name)
  for (const [, link = ''] of page.matchAll(/\]\(([\w./-]+?)(?:#[\w-]+)?\)/g)) t.ok(existsSync(join(ROOT, 'docs/explanation', link)), link)
  const slots = Object.values(lifecycle).flat()
  for (const [, name = ''] of ours.matchAll(/the `([\w-]+)` listener/g)) t.ok(slots.some(({ listener }) => listener === name), `listener ${name}`)
  t.same(pageProblems('docs/explanation/coming-from.md'), [])
})
