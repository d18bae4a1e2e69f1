import Fastify from 'fastify'
import { pbkdf2, pbkdf2Sync } from 'node:crypto'
import { promisify } from 'node:util'

export const hash = promisify(pbkdf2)
export { pbkdf2Sync }

export function build (options = {}) {
  const app = Fastify(options)
  app.get('/hash', async () => pbkdf2Sync('a', 'b', 300000, 64, 'sha512').toString('hex'))
  app.get('/fast', async () => 'ok')
  return app
}
