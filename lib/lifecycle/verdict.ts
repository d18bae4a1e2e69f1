/** What a listener returns when it answers the request itself: the payload, after it has set status and headers. */
export class Answer {
  readonly payload: unknown
  constructor (payload: unknown) {
    this.payload = payload
  }
}

/** What a listener returns when it had nothing to do for this request. */
export class Skip {
  readonly reason: string
  constructor (reason: string) {
    this.reason = reason
  }
}
