import { join } from 'node:path'
import { Eta } from 'eta'
import { JSDOM } from 'jsdom'
import t from 'tap'
import { z } from 'zod'
import { readMessage } from '../../src/errors/message.js'
import { profileOf } from '../support/app.js'
import { inBothProducts } from '../support/products.js'

const VIEWS = join(import.meta.dirname, '../../../../test/fixtures/views')

t.test('the excerpts of template engines are places, the innermost first', async (t) => {
  const excerpt = '    1| html\n  > 2|   p= a.b\n    3| \n\n'
  t.match(readMessage(`/app/a.pug:2\n${excerpt}no a`), { text: 'no a', frames: [{ file: '/app/a.pug', line: 2, column: 0, own: true }] })
  t.match(readMessage('C:\\app\\a.ejs:1\n >> 1| <%= x %>\n\nx is not defined').text, 'x is not defined')
  t.match(readMessage('/app/a.pug:2:5\n  > 2| p(=\n-----^\n\nno bracket').frames, [{ line: 2, column: 5 }])
  t.match(readMessage(`/app/page.ejs:7\n${excerpt}/app/part.ejs:3\n${excerpt}x`), { text: 'x', frames: [{ file: '/app/part.ejs' }, { file: '/app/page.ejs' }] })
  for (const text of ['/app/a.ejs:1\nno excerpt', 'ejs:1\n >> 1| x\n\ny', '[1]', '[]', '[{"message":"a"}]', '[', '', '\n'.repeat(9)]) {
    t.same(readMessage(text), { text, frames: [] })
  }
})

t.test('the issues of zod are words', async (t) => {
  const { error } = z.object({ rate: z.number(), days: z.array(z.object({ open: z.string() })) }).safeParse({ rate: '1', days: [{ open: 1 }] })
  t.match(readMessage(String(error?.message)).text, /^rate: .*expected number.*; days\.0\.open: .*expected string/)
  const many = Array.from({ length: 7 }, (_, i) => ({ path: [], message: `m${i}` }))
  t.equal(readMessage(JSON.stringify(many)).text, 'm0; m1; m2; m3; m4; and 2 more issues')
})

inBothProducts('the line of a template, and words, are the first that is shown', async (t, build) => {
  const app = await build((app) => {
    app.get('/view', async () => new Eta({ views: VIEWS, debug: true }).render('/broken', {}))
    app.get('/zod', async () => z.object({ rate: z.number() }).parse({}))
    app.get('/lines', async () => { throw new Error('The first line\nthe second\nthe third') })
  })
  const get = async (url: string) => await app.inject({ url, headers: { accept: 'text/html' } })
  const response = await get('/view')
  const page = JSDOM.fragment(response.body)
  t.match(page.querySelector('h1')?.textContent, /^Cannot read properties of undefined/)
  t.match(page.querySelector('.where h2')?.textContent, /views\/broken\.eta:1/)
  t.match(page.querySelector('.where')?.textContent, /it\.nothing\.here/)
  const { exceptions } = await profileOf(app, response) as { exceptions: Array<{ message: string, stack: string }> }
  t.match(exceptions.map(({ message }) => message), Array(2).fill(/^Cannot read/))
  t.match(exceptions[1]?.stack, />> 1\| <%= it\.nothing\.here %>/, 'the stack stays as it is')
  t.match(JSDOM.fragment((await get('/zod')).body).querySelector('h1')?.textContent, /^rate: /)
  const lines = JSDOM.fragment((await get('/lines')).body)
  t.equal(lines.querySelector('title')?.textContent, 'The first line the second the third (500 Internal Server Error)')
  t.equal(lines.querySelector('h1')?.textContent, 'The first line')
  t.equal(lines.querySelector('.about pre')?.textContent, 'the second\nthe third')
})
