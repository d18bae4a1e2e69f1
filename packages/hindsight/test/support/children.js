import { channel } from 'node:diagnostics_channel'
import processOnSpawn from 'process-on-spawn'

// tap has each process load its own module hooks, and those that tests start in turn: a quarter of a second of CPU time
// in each, module hooks that the product would not have, and no coverage, as tsx puts a module on one line.
processOnSpawn.removeAllListeners()
const options = process.env.NODE_OPTIONS?.replace(/"?--import=\S*processinfo\S*/, '').trim()
if (options) process.env.NODE_OPTIONS = options
else delete process.env.NODE_OPTIONS

// Whether a failure has values depends on when their thread has started: only tests of them let it start.
const occupy = () => {}
// Node.js may lose the subscribers of a channel whose former object is garbage-collected: this one is kept.
const inspectorChannel = channel('fastify-hindsight:inspector')
inspectorChannel.subscribe(occupy)

export function allowValues () {
  inspectorChannel.unsubscribe(occupy)
}
