import { beginQuery, endQuery, type Query } from '../query.js'
import type { Kind } from '../run.js'
import { wrapMethod } from '../stack.js'

/** An event of the driver; it has removed the commands that authenticate. */
interface CommandEvent {
  requestId: number
  connectionId?: unknown
  commandName: string
  command?: Record<string, unknown>
  reply?: { n?: number, cursor?: { firstBatch?: unknown[], nextBatch?: unknown[] } }
  failure?: unknown
}

/** Fields of a command that differ with the connection. */
const CONNECTION_FIELDS = new Set([
  'lsid', '$db', '$clusterTime', '$readPreference', 'txnNumber', 'startTransaction', 'autocommit', 'readConcern'
])

export const mongoKind: Kind = {
  name: 'MongoClient of mongodb',
  methods: ['db', 'startSession'],
  is: (client) => 'monitorCommands' in client,
  observe: observeMongo
}

/** Switches its monitoring of commands on, and reads these events without a listener that others could see. */
function observeMongo (client: Record<string, unknown>): void {
  const open = new Map<number, Query>()
  client.monitorCommands = true
  wrapMethod(client, 'emit', (self, args, original) => {
    const [event, detail] = args as [string, CommandEvent]
    if (event === 'commandStarted') {
      const { commandName, command = {} } = detail
      const { [commandName]: target, ...rest } = command
      const parameters = Object.fromEntries(Object.entries(rest).filter(([name]) => !CONNECTION_FIELDS.has(name)))
      // Of `getMore` it is a field of its own.
      const collection = [target, rest.collection].find((name) => typeof name === 'string')
      const statement = collection === undefined ? commandName : `${collection}.${commandName}`
      const connection = JSON.stringify(command.lsid)
      const query = beginQuery({ system: 'mongodb', statement, parameters, connection })
      if (query !== null) open.set(detail.requestId, query)
    } else if (event === 'commandSucceeded' || event === 'commandFailed') {
      const { requestId, reply, failure } = detail
      const batch = reply?.cursor?.firstBatch ?? reply?.cursor?.nextBatch
      const rows = batch?.length ?? reply?.n
      endQuery(open.get(requestId), event === 'commandFailed' ? { error: failure } : { rows })
      open.delete(requestId)
    }
    return original.apply(self, args) as unknown
  })
}
