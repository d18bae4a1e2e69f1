import type { Step, StepOutcome, Steps } from '../../lifecycle/steps.js'
import { style as readStyle } from '../../view/style.js'
import { KeptMarkup, type Part } from '../../view/parts.js'
import { html, text } from '../../view/html.js'

/** How the strip and the list behind it look. */
export const style = readStyle(import.meta.url, './style.css')

const SAID: Readonly<Record<StepOutcome, string>> = {
  ran: 'ran', skipped: 'skipped', answered: 'answered', raised: 'raised', unreached: 'not reached', pending: 'to come'
}

const SILENT: ReadonlySet<StepOutcome> = new Set(['unreached', 'pending'])
// Short, as there are many of them.
const MARK: Readonly<Record<StepOutcome, string>> = { ran: 'r', skipped: 's', answered: 'a', raised: 'x', unreached: 'u', pending: 'p' }

// Requests that walk the same way have the same steps.
const rendered = new WeakMap<Steps, KeptMarkup>()

/** The 42 steps on one strip, each by its outcome; it unfolds into the list of them by name. */
export function render (steps: Steps | undefined): Part {
  if (steps === undefined || steps.main.length === 0) return ''
  const known = rendered.get(steps)
  if (known !== undefined) return known
  const markup = new KeptMarkup(html`<details class="lifecycle card">
<summary><h2>Lifecycle</h2> <span class="told">${told(steps)}</span>
<span class="strip" aria-hidden="true"><span>!${strip(steps.main, steps.handler)}</span>!${steps.error.length === 0 ? '' : `<span>then ${strip(steps.error, 'page')}</span>`}</span></summary>
<div class="passes">
<h3>Main pass</h3>
<div class="stages">!${stages(steps.main, handlerItem(steps.handler))}</div>
!${steps.error.length === 0
? ''
: html`<h3>Error pass</h3>
<div class="stages">!${stages(steps.error, '<li class="r">this page</li>')}</div>`}
<p class="note legend">!${(Object.keys(SAID) as StepOutcome[]).map((outcome) => `<span><i class="${MARK[outcome]}"></i> ${SAID[outcome]}</span> `)}</p>
</div>
</details>`)
  rendered.set(steps, markup)
  return markup
}

// The handler, or this page, stands between what prepares the response and what finishes it.
function strip (steps: readonly Step[], handler: Steps['handler'] | 'page'): string {
  let markup = ''
  let stage = ''
  for (const step of steps) {
    if (step.stage !== stage) {
      if (step.stage === 'kernel.response') markup += `</span><span><i class="h ${MARK[handler === 'page' ? 'ran' : handler]}"></i>`
      markup += stage === '' ? '<span>' : '</span><span>'
      stage = step.stage
    }
    markup += `<i class="${MARK[step.outcome]}"></i>`
  }
  return `${markup}</span>`
}

function stages (steps: readonly Step[], handler: string): string {
  let markup = ''
  for (let from = 0; from < steps.length;) {
    const { stage, outcome } = steps[from] as Step
    const end = steps.findIndex((step, i) => i > from && step.stage !== stage)
    const part = steps.slice(from, end === -1 ? steps.length : end)
    // What none of a stage has come to is said once.
    const same = SILENT.has(outcome) && part.every((step) => step.outcome === outcome)
    if (stage === 'kernel.response') markup += `<div><h4>handler</h4><ul>${handler}</ul></div>`
    markup += `<div><h4>${text(stage)}${same ? ` <span>${SAID[outcome]}</span>` : ''}</h4>${same && outcome === 'pending' ? '' : `<ol start="${from + 1}">${part.map((step) => item(step, same)).join('')}</ol>`}</div>`
    from += part.length
  }
  return markup
}

function item ({ listener, outcome, reason }: Step, same: boolean): string {
  const said = same ? '' : ` <span>${SAID[outcome]}${reason === undefined ? '' : `: ${text(reason)}`}</span>`
  return `<li class="${MARK[outcome]}">${text(listener)}${said}</li>`
}

function handlerItem (handler: Steps['handler']): string {
  return `<li class="${MARK[handler]}">the route’s handler <span>${SAID[handler]}</span></li>`
}

/** In one sentence: who raised. */
function told ({ main, handler }: Steps): string {
  const at = main.findIndex(({ outcome }) => outcome === 'raised')
  const step = main[at]
  if (step !== undefined) return `Step ${at + 1} of ${main.length} raised: ${step.listener} in ${step.stage}.`
  const ahead = main.findIndex(({ stage }) => stage === 'kernel.response')
  if (handler === 'raised') return `The route’s handler raised, behind step ${ahead} of ${main.length}.`
  if (main.every(({ outcome }) => outcome === 'unreached')) return 'Refused ahead of the first step.'
  return `None of the ${main.length} steps raised, nor did the handler: it was a hook of the application, a parser or a validation.`
}
