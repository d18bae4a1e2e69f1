import type { Steps } from '../lifecycle/steps.js'
import type { LogRecord } from '../logs/log-record.js'
import type { FlattenedException } from './exception.js'

/** So many lines of a log at most are read for a report, and shown on a page. */
export const MAX_LOGS = 1_000

/** A remark that helps to mend the failure: shown only where it is right. */
export interface Hint {
  title: string
  text: string
  /** Source to paste, shown as a block. */
  code?: string
  /** Routes that nearly took the request, and why they did not. */
  routes?: Array<{ methods: string[], pattern: string, why: string }>
}

/** Why a request was refused, or what of its answer a browser will not take: the rule, and the option that decides it. */
export interface Refusal {
  kind: 'credentials' | 'access' | 'method' | 'size' | 'type' | 'rate' | 'cors' | 'csp' | 'cookie'
  /** One sentence for people. */
  sentence: string
  /** What decided, in a few words. */
  rule: string
  /** The option that would have decided otherwise; null where that is none of Hindsight's or Fastify's. */
  option: string | null
}

/** Everything that the diagnostic page says, in whatever representation: plain data, masked already. */
export interface ErrorReport {
  status: number
  /** The reason phrase, such as `Not Found`. */
  reason: string
  /** From the root cause to the error that the page is about. */
  exceptions: FlattenedException[]
  logs: LogRecord[]
  /** How many more were logged, of the oldest and least severe, and how many of those tell of an error. */
  logsOmitted?: { lines: number, failures: number }
  request: {
    method: string
    /** Absolute, with its query. */
    url: string
    ip: string
    headers: Array<[name: string, value: string]>
  }
  hints: Hint[]
  /** Which listener raised (`kernel.request`, `router`), where one did. */
  raisedBy?: { stage: string, listener: string }
  /** The method of a class that a framework calls as the handler, and where it is defined, `file:line`. */
  controller?: { name: string, source: string | null }
  /** What became of each of the 42 steps, and of the handler. */
  steps?: Steps
  /** When the request arrived, ISO 8601. */
  started?: string
  /** The stored profile. */
  profile?: { token: string, url: string }
}
