import { createHash } from 'node:crypto'
import { renderChain, renderExcerpt, renderTraces, renderValues } from '../../error-page/exceptions.js'
import { rejectedIn } from '../../error-page/failure-profile.js'
import { rejectedMarkup, rejectedTitle } from '../../error-page/render-request.js'
import {
  chainParts, mainSource, mainValues, rejectedParts, sourceParts, valuesParts
} from '../../error-page/render-text.js'
import { CAUGHT } from '../../errors/caught-errors.js'
import { functionOf, mainCause, type FlattenedException, type RootCause } from '../../errors/exception.js'
import type { FailureSummary } from '../../errors/failure-summary.js'
import { placeOf } from '../../errors/stack-frame.js'
import { isFailure, type Profile } from '../../store/profile.js'
import { noteText, titledSection } from '../../view/components.js'
import { cutText, html, visibleLine, type HtmlValue } from '../../view/text.js'
import { listHint, listOf } from '../read.js'
import { caughtCount, caughtMarkup } from './caught.js'
import type { OverviewTile, PanelView, Part } from '../part.js'
import { plainCopy } from '../collect.js'

/** Characters. */
const MAX_SHOWN = 300
/** Lines of an excerpt of the overview before and after its line. */
const AROUND = 2
const MAX_MESSAGE = 1_000

/** The exceptions of the response, from the root cause to the last. */
export const exceptions: Part<Partial<FailureSummary>> = {
  name: 'exceptions',
  panel: {
    label: 'Errors',
    group: 'errors',
    always: true,
    count: (_, profile) => profile.exceptions.length + caughtCount(profile),
    problem: (_, { exceptions }) => exceptions.length,
    render (_, profile, view) {
      const { exceptions } = profile
      const chain = exceptions.length === 0 ? noteText('No exceptions.') : exceptionsMarkup(exceptions, view)
      return [chain, caughtMarkup(profile, view.editor)]
    }
  },
  overview (_, profile) {
    const source = mainSource(profile)
    const rejected = rejectedIn(profile)
    const tiles: OverviewTile[] = []
    if (rejected?.fields !== undefined) {
      tiles.push({ order: 9, title: 'Rejected', column: 'main', value: rejectedMarkup(rejected) })
    }
    // The sentence above has the error. A route is longer than what fails in it.
    if (source !== null) {
      const title = visibleLine(cutText(`${source.title}: ${placeOf(source.frame)}`, MAX_SHOWN))
      const around = source.title === 'In your code' ? AROUND : AROUND * 2
      const value = [renderExcerpt(source.frame, around), renderValues(source.values.slice(0, 1))]
      tiles.push({ order: 10, title, column: 'main', value })
    }
    return tiles
  },
  toolbar (_, profile) {
    const cause = mainCause(profile)
    const exception = cause && nameAndMessage(cause)
    return {
      order: 50,
      className: 'exception bad',
      title: 'Exception',
      head: exception !== null && html`<span class="label">exception</span>`,
      facts: { Exception: cutText(exception ?? '', MAX_SHOWN) },
      // Name and message of the root cause.
      values: { exception }
    }
  },
  toolbarStyle: '.exception { --icon: "M7 0l7 13H0zM6 5v4h2V5zm0 5v2h2v-2z" }\n',
  markdown (_, profile) {
    if (profile.exceptions.length === 0) return []
    return [{ order: 10, title: 'Exceptions', blocks: chainBlocks(profile) }]
  },
  comparison: [{
    order: 20,
    values: (_, { exceptions }) => Object.fromEntries((listOf(exceptions) as unknown as FlattenedException[])
      .map((one) => [one.name, exceptionText(one)]))
  }],
  search: {
    exception: (_, { exceptions }) => exceptions.map(nameAndMessage),
    failure: {
      valueOf: (_, profile) => fingerprintOf(profile),
      pattern: /^f[0-9a-f]{8}$/,
      problem: 'not the fingerprint of a failure',
      help: 'fingerprint of a group of failures',
      column: null
    },
    line: {
      valueOf: (_, profile) => lineOfCause(profile as Profile),
      pattern: /:\d+$/,
      problem: 'not a file and a line such as src/cart.js:20',
      help: 'line of the application that failed, such as src/cart.js:20',
      column: null
    }
  }
}

/**
 * What equal failures have in common: the root cause, and the line of the application where it is thrown, otherwise its
 * message without numbers and identifiers; without an error the status and the route. Undefined for a success.
 */
function fingerprintOf (profile: Profile): string | undefined {
  const { status, route } = profile
  const cause = mainCause(profile)
  if (!isFailure(profile)) return undefined
  if (cause !== null) return hashOf(`${cause.name} ${placeOrMessage(cause)}`)
  return route === null ? undefined : hashOf(`${status} ${route.name}`)
}

function hashOf (text: string): string {
  return `f${createHash('sha256').update(text).digest('hex').slice(0, 8)}`
}

function placeOrMessage ({ frame, message }: RootCause): string {
  const { file, line = 0 } = frame ?? {}
  // Without a source map it is 0: not known.
  if (line !== 0) return `${file}:${line}`
  // A part of a long message is enough, and a client may have written it.
  return message.slice(0, 200).replace(/[+-]?\d+\.\d+|\b(?=[\da-f-]*\d)[\da-f-]+\b|\d+/gi, '#')
}

/** The line of the application where the root cause of a failure was thrown. */
function lineOfCause (profile: Profile): string | undefined {
  const frame = mainCause(profile)?.frame
  if (frame === undefined || !isFailure(profile)) return undefined
  return placeOf(frame)
}

/** Further errors: raised after the response began, in an error handler, or caught by a framework. */
export const otherErrors: Part = {
  name: 'otherErrors',
  panel: {
    label: 'Other errors',
    group: 'errors',
    problem: (_, profile) => otherChains(profile).length,
    render (_, profile, view) {
      const chains = otherChains(profile)
      if (chains.length === 0) return noteText('No other error was raised.')
      return [
        noteText('Raised besides the first error, after the response began, or caught by a framework.'),
        chains.map((chain, i) => titledSection(`Error ${i + 1} of ${chains.length}`, exceptionsMarkup(chain, view, 4)))
      ]
    }
  },
  hints (_, profile) {
    const known = profile.exceptions.map(nameAndMessage)
    const others = otherChains(profile).flatMap((chain) => chain.slice(-1)).map(nameAndMessage)
    // A hook that has failed may fail again for the answer.
    return listHint('Other errors', others.filter((text) => !known.includes(text)), 40)
  },
  comparison: [],
  search: { exception: (_, profile) => otherChains(profile).flat().map(nameAndMessage) }
}

export function otherChains ({ collectors: { otherErrors } }: Pick<Profile, 'collectors'>): FlattenedException[][] {
  const chains: unknown[] = Array.isArray(otherErrors) ? otherErrors.filter(Array.isArray) : []
  return chains.map(listOf) as unknown as FlattenedException[][]
}

function nameAndMessage ({ name, message }: Pick<FlattenedException, 'name' | 'message'>): string {
  return `${name}: ${message}`
}

/** A chain of exceptions, root cause first, with their stack traces; `level` is the level of the headings. */
function exceptionsMarkup (chain: readonly FlattenedException[], { editor }: PanelView, level = 3): HtmlValue {
  const rejected = chain.at(-1)?.rejected
  return [
    handlingNote(chain).map(noteText),
    rejected?.fields !== undefined && titledSection(rejectedTitle(rejected), rejectedMarkup(rejected)),
    renderChain(chain, { editor, shown: new Set() }, level),
    titledSection('Stack traces', renderTraces(chain))
  ]
}

function chainBlocks (profile: Profile): string[] {
  const chain = plainCopy(profile.exceptions, (text) => cutText(text, MAX_MESSAGE)) as FlattenedException[]
  const rejected = rejectedIn(profile)
  const source = mainSource(profile)
  const blocks = chainParts(chain, null)
  blocks.unshift(...valuesParts(mainValues({ exceptions: chain })))
  if (source !== null && source.title !== 'In your code') blocks.unshift(...sourceParts(source))
  if (rejected !== undefined) blocks.unshift(...rejectedParts(rejected))
  blocks.unshift(...handlingNote(chain))
  return blocks
}

/** That Fastify has not received the error of the response, where that is so. */
function handlingNote (chain: readonly FlattenedException[]): string[] {
  const by = chain.at(-1)?.logged
  if (by === undefined) return []
  const what = by === CAUGHT ? 'This error was caught' : 'The application has logged this error'
  return [`${what}; it was not thrown to Fastify.`]
}

function exceptionText ({ code, frames: all, ...one }: FlattenedException): string {
  const frames = listOf(all) as unknown as FlattenedException['frames']
  const frame = frames.find(({ own }) => own) ?? frames[0]
  let text = nameAndMessage(one)
  if (code !== undefined) text += ` (${code})`
  if (frame !== undefined) text += ` at ${`${functionOf(frame)} ${placeOf(frame)}`.trim()}`
  return text
}
