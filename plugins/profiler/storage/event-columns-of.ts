import { EventColumns, type EventSignature, type Profile, type ProfileDraft } from '../profile.js'
import { MAX_TIME } from './chunk-format.js'

/** Events as columns of whole microseconds; null where there is more in them than columns have, or less. */
export function columnsOf (events: Profile['events'] | ProfileDraft['events']): EventColumns | null {
  // One that somebody else has stored may have none.
  const columns = events instanceof EventColumns ? events : Array.isArray(events) ? read(events) : null
  return columns !== null && columns.starts.every(isTime) && columns.durations.every(isTime) ? columns : null
}

function isTime (time: number): boolean {
  return Number.isInteger(time) && time >= 0 && time <= MAX_TIME
}

// Those of a profile that was read from somewhere: each as it is, for nobody knows which were filled in.
function read (events: Profile['events']): EventColumns | null {
  const signatures: EventSignature[] = []
  const starts: number[] = []
  const durations: number[] = []
  for (const event of events) {
    const { stage, listener, pass, outcome, reason, plugin, source, start, duration, changes } = event
    const known = 6 + [reason, plugin, source, changes].filter((value) => value !== undefined).length
    const [from, lasted] = [Math.round(start * 1_000), Math.round(duration * 1_000)]
    if (Object.keys(event).length !== known || from / 1_000 !== start || lasted / 1_000 !== duration) return null
    signatures.push({ index: -1, stage, listener, pass, outcome, reason: reason ?? null, plugin, source })
    starts.push(from)
    durations.push(lasted)
  }
  const layout = { recorded: signatures, signatures, sources: signatures.map((_, i) => i), places: signatures.map((_, i) => i + 1) }
  return new EventColumns(layout, starts, durations, events.map(({ changes }) => changes))
}
