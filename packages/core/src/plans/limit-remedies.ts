const WINDOW = "write window: '15 min', or a number of ms"
const QUOTA = 'write quota: 100'
/** What to write for the options of other packages. */
export const LIMIT_REMEDIES = new Map([
  ['windowMs', WINDOW],
  ['timeWindow', WINDOW],
  ['duration', WINDOW],
  ['interval', WINDOW],
  ['per', WINDOW],
  ['max', QUOTA],
  ['limit', QUOTA],
  ['points', QUOTA],
  ['requests', QUOTA],
  ['wait', "it goes to the plan: plans: { batch: { limits: '10/s burst 20', wait: { maxDelay: '2s' } } }"],
])
