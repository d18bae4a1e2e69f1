import { bare, compare, productionVariants, variants } from '../../observe/compare.js'
import { observations } from '../../observe/processes.js'

compare([
  ['the preload', 'debug surface', async () => await bare, async () => await observations(undefined, variants, { preload: true })],
  [
    'the preload in production', 'nothing', async () => await bare,
    async () => await observations(undefined, productionVariants, { preload: true, environment: 'production' })
  ]
])
