import t from 'tap'
import type { ListenerEvent } from '../../../lib/lifecycle/events.js'
import type { Slot } from '../../../lib/lifecycle/lifecycle.js'
import { stepsOf } from '../../../lib/lifecycle/steps.js'

const SLOTS = ([
  ['kernel.request', 'cors', 'no rules'], ['kernel.request', 'router', null], ['kernel.request', 'locale', null],
  ['kernel.controller', 'template', null], ['kernel.response', 'cors', 'no rules'], ['kernel.response', 'response', null]
] as const).map(([stage, listener, reason], index): Slot => ({ index, stage, listener, reason, run: null }))

function event (pass: ListenerEvent['pass'], slot: number, outcome: ListenerEvent['outcome'], reason?: string): ListenerEvent {
  const { stage, listener } = SLOTS[slot] as Slot
  return { stage, listener, pass, outcome, start: 0, duration: 0, ...(reason !== undefined && { reason }) }
}

function told (steps: ReturnType<typeof stepsOf>['main']): string[] {
  return steps.map(({ stage, listener, outcome, reason }) => `${stage} ${listener} ${outcome}${reason === undefined ? '' : `: ${reason}`}`)
}

t.test('a pass that raised, and the error pass behind it as far as it has come', async (t) => {
  const events = [event('main', 0, 'skipped', 'no rules'), event('main', 1, 'raised'), event('error', 3, 'skipped', 'no template')]
  const { main, handler, error } = stepsOf(SLOTS, events, 'unreached', true)
  t.same(told(main), [
    'kernel.request cors skipped: no rules', 'kernel.request router raised', 'kernel.request locale unreached',
    'kernel.controller template unreached', 'kernel.response cors unreached', 'kernel.response response unreached'
  ])
  t.equal(handler, 'unreached')
  t.same(told(error), [
    'kernel.controller template skipped: no template', 'kernel.response cors pending', 'kernel.response response pending'
  ])
})

t.test('no error pass', async (t) => {
  const { main, error } = stepsOf(SLOTS, [event('main', 2, 'ran'), event('main', 2, 'skipped', 'again')], 'ran', false)
  t.equal(told(main)[2], 'kernel.request locale ran', 'the first time counts')
  t.same(error, [])
})
