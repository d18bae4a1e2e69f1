import t from 'tap'
import type { Profile } from '../../../src/store/profile.js'
import { exceptions as part } from '../../../src/parts/exceptions/index.js'
import { profileMarkdown } from '../../../src/reading/profile-markdown.js'
import { profile } from '../fixture.js'

const EXCERPT = { start: 4, lines: ['app.get(…)'] }
const FRAME = { file: '/app/a.ts', line: 4, column: 1, function: 'load', own: true, excerpt: EXCERPT }

t.test('a stored handler of another format is left out, and the rest is shown', async (t) => {
  for (const handler of [
    5, null, {}, 'x', { ...FRAME, file: 7 }, { ...FRAME, line: '4' }, { ...FRAME, function: undefined }, { ...FRAME, excerpt: 'x' },
    { ...FRAME, excerpt: null }, { ...FRAME, excerpt: { start: 4, lines: 'x' } }, { ...FRAME, excerpt: { start: 'x', lines: [] } },
    { ...FRAME, excerpt: { start: 4, lines: [1] } }
  ]) {
    const name = JSON.stringify(handler)
    const stored = profile('000001', {
      status: 500,
      exceptions: [{ name: 'TypeError', message: 'not there', stack: '', frames: [] }],
      collectors: { exceptions: { summary: 'It failed.', handler } }
    } as unknown as Partial<Profile>)
    const markdown = profileMarkdown(stored)
    t.match(markdown, /### \\\[1\/1\\\] TypeError\n\n```text\nnot there/, name)
    t.notMatch(markdown, 'not in the format', name)
    const shown = [part.overview?.({ handler } as never, stored, { editor: null } as never)].flat()
    t.notOk(shown.at(-1)?.value, name)
  }
  const { overview } = part
  const shown = [overview?.({ handler: FRAME }, profile('000001', { status: 500 }), { editor: null } as never)].flat()
  t.match(shown.at(-1), { title: 'Route' })
  t.match(String(shown.at(-1)?.value), /class="at">app/)
})
