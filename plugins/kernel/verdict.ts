/** What a listener returns when it answers itself: the payload, behind the status and headers that it has set. */
export class Answer {
  readonly payload: unknown
  constructor (payload: unknown) {
    this.payload = payload
  }
}

/** What a listener returns when this request gave it nothing to do. */
export class Skip {
  readonly reason: string
  constructor (reason: string) {
    this.reason = reason
  }
}

/** What a listener returns in place of throwing, where that is expected to happen: to throw costs more than all the rest of it. */
export class Raise {
  readonly error: Error
  constructor (error: Error) {
    this.error = error
  }
}
