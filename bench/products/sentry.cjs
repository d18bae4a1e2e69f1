'use strict'
const Sentry = require('@sentry/node')

Sentry.init({ dsn: process.env.SENTRY_DSN, tracesSampleRate: 1 })
