/** Whether slow tests run in their long form: `LONG_TESTS=1`. The short one proves the same in fewer repetitions. */
export const isLong = process.env.LONG_TESTS === '1'
