import { compare, fewVariants } from '../../observe/compare.js'
import { observations } from '../../observe/processes.js'

// The plugin test compares all variants.
const bare = observations(undefined, fewVariants)

compare([
  ['the preload', 'debug surface', async () => await bare, async () => await observations(undefined, fewVariants, { preload: true })],
  [
    'the preload in production', 'nothing', async () => await bare,
    async () => await observations(undefined, fewVariants, { preload: true, environment: 'production' })
  ]
])
