import t from 'tap'
import { sharedText } from '../../plugins/kernel/shared-part.js'
import { SlotMemory, type Changes } from '../../plugins/kernel/slot-memory.js'

const plain = (_name: string, value: string): string => value
const memory = (): SlotMemory => new SlotMemory({ index: 3, stage: 'kernel.response', listener: 'cors' })
const header = (to: string | string[], from?: string): Changes => ({ headers: [{ name: 'vary', from, to }], status: null })

t.test('an outcome has one signature, as long as there are not too many reasons', async (t) => {
  const slot = memory()
  const ran = slot.signature('main', 'ran', null)
  t.same(ran, { index: 3, stage: 'kernel.response', listener: 'cors', pass: 'main', outcome: 'ran', reason: null })
  t.equal(slot.signature('main', 'ran', null), ran)
  for (const [pass, outcome, reason] of [['error', 'ran', null], ['main', 'raised', null], ['main', 'skipped', 'no rule'], ['main', 'skipped', 'other']] as const) {
    t.not(slot.signature(pass, outcome, reason), ran)
    t.equal(slot.signature(pass, outcome, reason), slot.signature(pass, outcome, reason))
  }
  for (let i = 0; i < 200; i++) slot.signature('main', 'skipped', `made of the request ${i}`)
  t.match(slot.signature('main', 'skipped', 'made of the request 199'), { reason: 'made of the request 199' })
  t.equal(slot.signature('main', 'ran', null), ran)
})

t.test('changes that come again are a shared part, others are not', async (t) => {
  const slot = memory()
  const first = slot.shown(header('origin'), plain, true)
  t.same(first, { headers: [{ name: 'vary', from: null, to: 'origin' }] })
  t.equal(sharedText(first), undefined)
  const second = slot.shown(header('origin'), plain, true)
  t.type(sharedText(second), 'string')
  t.equal(slot.shown(header('origin'), plain, true), second)
  for (const other of [header('accept'), header('origin', 'x'), header(['origin']), { headers: null, status: { from: 200, to: 404 } }, { ...header('origin'), status: { from: 200, to: 404 } }]) {
    t.not(slot.shown(other, plain, true), second)
  }
  t.same(slot.shown(header(['a=1', 'b=2']), (_name, value) => value.replace(/=.*/, '=***'), true), { headers: [{ name: 'vary', from: null, to: 'a=***, b=***' }] })
})

t.test('what another mask has shown is not shown again', async (t) => {
  const slot = memory()
  slot.shown(header('secret'), plain, true)
  slot.shown(header('secret'), plain, true)
  t.same(slot.shown(header('secret'), () => '******', true), { headers: [{ name: 'vary', from: null, to: '******' }] })
})

t.test('what nobody is to remember is not, and drives out nothing', async (t) => {
  const slot = memory()
  slot.shown(header('origin'), plain, true)
  const known = slot.shown(header('origin'), plain, true)
  for (let i = 0; i < 20; i++) {
    const shown = slot.shown(header('origin'), (_name, value) => value, false)
    t.equal(sharedText(shown), undefined)
    t.same(shown, known)
  }
  t.equal(slot.shown(header('origin'), plain, true), known)
})

t.test('as much is remembered as of eight ways', async (t) => {
  const slot = memory()
  const twice = (value: string) => { slot.shown(header(value), plain, true); return slot.shown(header(value), plain, true) }
  const first = twice('0')
  for (let i = 1; i < 8; i++) twice(String(i))
  t.equal(slot.shown(header('0'), plain, true), first)
  twice('8')
  t.not(slot.shown(header('0'), plain, true), first)
})
