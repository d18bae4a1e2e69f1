import t from 'tap'
import { SlotMemory, type Changes } from '../../plugins/kernel/slot-memory.js'

const plain = (_name: string, value: string): string => value
const memory = (): SlotMemory => new SlotMemory({ index: 3, stage: 'kernel.response', listener: 'cors' })
const header = (to: string | string[], from?: string): Changes => ({ headers: [{ name: 'vary', from, to }], status: null })

t.test('an outcome has one signature, unless there are too many reasons', async (t) => {
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

t.test('changes that are made again are one object, others are not', async (t) => {
  const slot = memory()
  t.same(slot.shown(header('origin'), plain, true), { headers: [{ name: 'vary', from: null, to: 'origin' }] })
  const second = slot.shown(header('origin'), plain, true)
  t.equal(slot.shown(header('origin'), plain, true), second)
  const others: Array<[Changes, expected: unknown]> = [
    [header('accept'), { headers: [{ name: 'vary', from: null, to: 'accept' }] }],
    [header('origin', 'x'), { headers: [{ name: 'vary', from: 'x', to: 'origin' }] }],
    [header(['origin']), { headers: [{ name: 'vary', from: null, to: 'origin' }] }],
    [{ headers: null, status: { from: 200, to: 404 } }, { status: { from: 200, to: 404 } }],
    [{ ...header('origin'), status: { from: 200, to: 404 } }, { headers: [{ name: 'vary', from: null, to: 'origin' }], status: { from: 200, to: 404 } }]
  ]
  for (const [changes, expected] of others) {
    const shown = slot.shown(changes, plain, true)
    t.not(shown, second)
    t.same(shown, expected)
  }
  t.same(slot.shown(header(['a=1', 'b=2']), (_name, value) => value.replace(/=.*/, '=***'), true), { headers: [{ name: 'vary', from: null, to: 'a=***, b=***' }] })
})

t.test('what one mask has shown is not shown with another one', async (t) => {
  const slot = memory()
  for (let i = 0; i < 3; i++) slot.shown(header('secret'), plain, true)
  t.same(slot.shown(header('secret'), () => '******', true), { headers: [{ name: 'vary', from: null, to: '******' }] })
})

t.test('changes that are not to be remembered replace none that are', async (t) => {
  const slot = memory()
  slot.shown(header('origin'), plain, true)
  const known = slot.shown(header('origin'), plain, true)
  for (let i = 0; i < 20; i++) {
    const shown = slot.shown(header('origin'), (_name, value) => value, false)
    t.not(shown, known)
    t.same(shown, known)
  }
  t.equal(slot.shown(header('origin'), plain, true), known)
})

t.test('eight different changes are remembered', async (t) => {
  const slot = memory()
  const twice = (value: string) => { slot.shown(header(value), plain, true); return slot.shown(header(value), plain, true) }
  const first = twice('0')
  for (let i = 1; i < 8; i++) twice(String(i))
  t.equal(slot.shown(header('0'), plain, true), first)
  twice('8')
  t.not(slot.shown(header('0'), plain, true), first)
})
