import { parseArgs } from 'node:util'
import { findings, soak } from './soak.js'

// `npm run soak -- --minutes 30 --rate 100`
const { values } = parseArgs(
  { options: { minutes: { type: 'string', default: '30' }, rate: { type: 'string', default: '100' }, profiles: { type: 'string', default: '2000' } } }
)
const duration = Number(values.minutes) * 60_000
const megabytes = (bytes: number): string => (bytes / 1e6).toFixed(1)
const samples = await soak({
  duration,
  interval: Math.min(60_000, duration / 12),
  rate: Number(values.rate),
  maxProfiles: Number(values.profiles),
  progress: ({ at, requests, heap, resident, file, stored, written, lost, looked, unexpected }) =>
    console.log(`${at} s: ${requests} requests, heap ${megabytes(heap)} MB, resident ${megabytes(
      resident
    )} MB, file ${megabytes(file)} MB, ${stored} stored of ${written} written, ${lost} of ${looked} lost, ${unexpected} unexpected`)
})
const found = findings(samples)
console.log(found.length === 0 ? 'Flat, and nothing was lost.' : found.join('\n'))
process.exitCode = found.length === 0 ? 0 : 1
