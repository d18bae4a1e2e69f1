import type { FastifyRequest } from 'fastify'
import { contextOf } from './context.js'
import { csrfToken } from './csrf.js'
import { CSRF_FIELD, purposeOf } from './login-routes.js'
import type { Security } from './security.js'
import { keepLogin, peekLogin } from './session-login.js'

/** All that the page of a login needs. */
export interface LoginForm {
  /** Where the form is posted to. */
  action: string
  usernameField: string
  passwordField: string
  csrfField: string
  /** Empty where the firewall asks for none. */
  csrfToken: string
  /** Why the last attempt failed, once; null where it did not. */
  error: string | null
  lastUsername: string
}

/** What the login page of a request's firewall shows; throws where that has no login. */
export function loginForm (request: FastifyRequest, security: Security): LoginForm {
  const firewall = contextOf(request)?.firewall ?? null
  if (firewall === null || firewall.login === null) {
    throw new Error(`request.loginForm(): ${firewall === null ? 'no firewall is in front of this path' : `the firewall "${firewall.name}" has no login`}`)
  }
  const { name, login } = firewall
  const failure = peekLogin(request, name, security.cookieName)?.failure
  if (failure !== undefined) keepLogin(request, name, { failure: undefined })
  return {
    action: login.checkPath,
    usernameField: login.usernameField,
    passwordField: login.passwordField,
    csrfField: CSRF_FIELD,
    csrfToken: login.csrf ? csrfToken(request, purposeOf('login', name)) : '',
    error: failure?.message ?? null,
    lastUsername: failure?.username ?? ''
  }
}
