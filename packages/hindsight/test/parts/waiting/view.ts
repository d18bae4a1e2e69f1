import type { Waiting } from '../../../src/parts/waiting/collector.js'
import type { WaitingRequest } from '../../../src/recording/waiting.js'
import type { WaitingView as StoredView } from '../../../src/recording/waiting.js'

export type WaitingRow = WaitingRequest & Waiting

/** `/_profiler/waiting.json`. */
export type WaitingView = Omit<StoredView, 'waiting'> & { waiting: WaitingRow[] }
