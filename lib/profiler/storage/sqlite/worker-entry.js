import { workerData } from 'node:worker_threads'

// The worker's module: compiled in the package, and TypeScript in the repository, where the loader of this process has to be registered first.
if (workerData.worker.endsWith('.ts')) {
  const { register } = await import('tsx/esm/api')
  register()
}
await import(workerData.worker)
