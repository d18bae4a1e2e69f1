import Fastify, { type FastifyInstance } from 'fastify'
import type { Test } from 'tap'
import { hash } from '@node-rs/argon2'
import { service } from '../../../app/service.js'
import type { ServiceOptions } from '../../../lib/options.js'
import type { SecuritySettings } from '../../../lib/options.js'
import { serverOptions } from '../../../lib/server-options.js'
import type { Profile } from '../../../packages/hindsight/src/store/profile.js'
import { argon2, type PasswordHasher } from '../../../lib/security/users.js'
import type { SecurityRecord } from '../../../lib/security/context.js'

const SECRET = 'a secret for tests, 32 letters or more'

/** Hashes as cheap as they can be: the tests are about what is verified, not about what it costs. */
const CHEAP = { memoryCost: 64, timeCost: 1 }
export const passwords = {
  ada: await hash('lovelace', CHEAP),
  bob: await hash('builder', CHEAP)
}

export const users = {
  users: [
    { identifier: 'ada', password: passwords.ada, roles: ['ROLE_ADMIN'], attributes: { age: 36, apiKey: 'do not show' } },
    { identifier: 'bob', password: passwords.bob, roles: ['ROLE_USER'] },
    { identifier: 'token-only', roles: ['ROLE_API'] }
  ]
}

export const TOKEN = 'tok-0123456789abcdef'

/** A hasher that counts what it verifies, and says which hashes. */
export function countingHasher (): PasswordHasher & { verified: string[] } {
  const verified: string[] = []
  return {
    verified,
    hash: (password) => argon2.hash(password),
    check: argon2.check as (hash: string) => void,
    verify (stored, password) {
      verified.push(stored)
      return argon2.verify(stored, password)
    }
  }
}

/** A fresh application with the given security. */
export async function build (
  t: Test, security: SecuritySettings | undefined, declare: (app: FastifyInstance) => unknown = () => {}, options: ServiceOptions = {}
): Promise<FastifyInstance> {
  const app = Fastify(serverOptions()) as unknown as FastifyInstance
  t.teardown(() => app.close())
  await app.register(
    service,
    { debug: true, profiler: { storage: 'memory' }, session: { secret: SECRET }, ...(security !== undefined && { security }), ...options }
  )
  await declare(app)
  await app.ready()
  return app
}

/** Why an application does not start. */
export async function refusal (security: unknown, declare: (app: FastifyInstance) => unknown = () => {}, options: ServiceOptions = {}): Promise<string> {
  const app = Fastify() as unknown as FastifyInstance
  try {
    await app.register(service, {
      debug: true,
      profiler: { storage: 'memory' },
      session: { secret: SECRET },
      ...(security !== undefined && { security: security as SecuritySettings }),
      ...options
    })
    await declare(app)
    await app.ready()
    return 'it started'
  } catch (error) {
    return (error as Error).message
  } finally {
    await app.close()
  }
}

export const basic = (name: string, password: string): { authorization: string } =>
  ({ authorization: `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}` })

export const HTML = { accept: 'text/html,application/xhtml+xml;q=0.9,*/*;q=0.8' }

interface Answer { headers: Record<string, unknown> }

export async function profileOf (app: FastifyInstance, { headers }: Answer): Promise<Profile> {
  const profile = await app.hindsight.profiler.find(String(headers['x-debug-token']))
  if (profile === undefined) throw new Error('No profile')
  return profile
}

export async function recordOf (app: FastifyInstance, answer: Answer): Promise<SecurityRecord> {
  return (await profileOf(app, answer)).collectors.security as SecurityRecord
}

/** A browser's cookies: those of an answer replace what was kept. */
export class Jar {
  readonly #cookies = new Map<string, string>()

  take (answer: { cookies: Array<{ name: string, value: string, maxAge?: number, expires?: Date }> }): void {
    for (const { name, value, expires } of answer.cookies) {
      if (expires !== undefined && expires.getTime() <= Date.now()) this.#cookies.delete(name)
      else this.#cookies.set(name, value)
    }
  }

  get header (): { cookie?: string } {
    const cookie = [...this.#cookies].map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('; ')
    return cookie === '' ? {} : { cookie }
  }

  get session (): string | undefined {
    return this.#cookies.get('sessionId')
  }
}
