import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { FastifyRequest } from 'fastify'
import { testdir } from '../support/folder.js'
import { inBothProducts } from '../support/products.js'

const MARKER = 'Xq7ZsecretZq7X'

// What is a path parameter of a secret name is hidden wherever it stands: on the other path each place is on its own.
for (const [name, path] of [['a secret in the path', `/pay/${MARKER}`], ['nothing in the path', '/buy']] as const) {
  inBothProducts(`${name}: the files of the store contain no secret, even in deleted pages`, async (t, build) => {
    const dataDir = testdir(t)
    const app = await build((app) => {
      const handler = async (request: FastifyRequest) => {
        request.log.warn(
          { card: { password: MARKER }, 'user[pass]': MARKER, userOtp: MARKER, form: `user[pass]=${MARKER}&user%5Botp%5D=${MARKER}` },
          `connecting to postgres://app:${MARKER}@db/shop with Bearer ${MARKER}`
        )
        throw new Error(
          `cannot connect to redis://:${MARKER}@cache:6379/0?password=${MARKER}`, { cause: Object.assign(new Error('cause'), { apiKey: MARKER }) }
        )
      }
      app.post('/pay/:token', handler)
      app.post('/buy', handler)
    }, { profiler: { storage: 'sqlite', dataDir } })
    for (let i = 0; i < 5; i++) {
      await app.inject({
        method: 'POST',
        url: `${path}?access_token=${MARKER}&n=${i}&user[otp]=${MARKER}&user%5Bpass%5D=${MARKER}&pass[]=${MARKER}&auth[0]=${MARKER}` +
          `&user_otp=${MARKER}&userOtp=${MARKER}&_profile=${MARKER}#token=${MARKER}`,
        headers: {
          authorization: `Bearer ${MARKER}`,
          cookie: `sid=${MARKER}`,
          'x-api-key': MARKER,
          'x-hindsight-profile': MARKER,
          'x-otp': MARKER,
          referer: `https://a:${MARKER}@b/?token=${MARKER}`
        },
        payload: { password: MARKER, 'user[pass]': MARKER, user_otp: MARKER, deep: { list: [{ secret: MARKER }] }, note: `my key is api_key=${MARKER}` }
      })
    }
    await app.hindsight.profiler.flush()
    t.equal((await app.hindsight.profiler.search({ limit: 9 })).profiles.length, 5)
    await app.close()
    const files = readdirSync(dataDir)
    t.ok(files.includes('profiles.db'))
    for (const file of files) {
      const bytes = readFileSync(join(dataDir, file))
      t.equal(bytes.indexOf(MARKER), -1, file)
      t.equal(bytes.indexOf(Buffer.from(MARKER, 'utf16le')), -1, `${file}, in two octets each`)
      t.equal(bytes.indexOf(Buffer.from(MARKER).toString('base64').slice(2, -4)), -1, `${file}, in base 64`)
    }
    t.ok(files.some((file) => readFileSync(join(dataDir, file)).includes('cannot connect to')), 'values that are not secret are readable')
  })
}
