/** What a request may bring into every text of a profile. */
export const HOSTILE = '"\'><script>alert(1)</script><img src=x onerror=alert(1)>&lt;b&gt;`</style>\u202e\u0000\u001b[31m'
