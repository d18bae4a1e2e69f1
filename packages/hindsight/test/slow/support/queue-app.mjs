// An application with a queue, a worker and a task of a schedule, which prints the list of its profiles as JSON.
import { createRequire } from 'node:module'
import { Queue, Worker } from 'bullmq'
import cron from 'node-cron'

const Fastify = createRequire(process.env.FASTIFY)('fastify')
const connection = { host: '127.0.0.1', port: Number(process.env.REDIS_PORT), maxRetriesPerRequest: null }
const queue = new Queue('mails', { connection })
const app = Fastify()
app.get('/', async () => {
  await queue.add('welcome', { to: 'ann', password: 'pw' }, { attempts: 3, backoff: 1 })
  return 'queued'
})
await app.listen({ port: 0 })
let attempts = 0
const worker = new Worker('mails', async function sendMail (job, token) {
  if (++attempts < 3) throw new Error('the server of mails is down')
  return { sent: job.name, hasToken: typeof token }
}, { connection })
const completed = new Promise((resolve) => { worker.on('completed', (_job, result) => resolve(result)) })
await (await fetch(app.listeningOrigin)).text()
const result = await completed
const task = cron.schedule('0 0 1 1 *', async function sweep () { throw new Error('not swept') }, { name: 'sweeper' })
await task.execute().catch(() => {})
task.destroy()
const search = async (query) => (await (await fetch(`${app.listeningOrigin}/_profiler/search.json?${query}`)).json()).profiles
const profileOf = async ({ token }) => await (await fetch(`${app.listeningOrigin}/_profiler/${token}.json`)).json()
const [jobs, tasks, [request]] = [await search('kind=job'), await search('kind=schedule'), await search('method=GET')]
const profiles = await Promise.all([...jobs, ...tasks].map(profileOf))
console.log(JSON.stringify({ result, request: request.token, profiles }))
await worker.close()
await queue.close()
await app.close()
