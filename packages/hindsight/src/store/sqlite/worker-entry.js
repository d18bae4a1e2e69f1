import { workerData } from 'node:worker_threads'

// The module of the worker is TypeScript in the repository, which needs a loader, and compiled in the package.
if (workerData.worker.endsWith('.ts')) {
  const { register } = await import('tsx/esm/api')
  register()
}
await import(workerData.worker)
