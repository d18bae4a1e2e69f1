import { options } from './preload.js'

// The preload of the sources; register.cjs is that of the package.
if (options.debug === true) {
  const { watchStart } = await import('./failed-start.js')
  watchStart()
}
if (options.debug === true) {
  const { prepareDrivers } = await import('./drivers.js')
  prepareDrivers(options.queries !== false, options.profiler !== false)
  const { watchProcess } = await import('./process-job.js')
  await watchProcess(options)
}
