// Whether every tenant got what its plan says: no more, in any window, and no less.

/**
 * The most requests let through in any true window of this length. A request counts where both its sending and its
 * answer fall inside: from outside, the moment it was decided is known no better.
 */
export function mostInAnyWindow(log, windowMs) {
  const passed = log.filter(({ status }) => status === 200)
  const inWindow = ({ sentAt: start }) =>
    passed.filter(({ sentAt, answeredAt }) => sentAt >= start && answeredAt < start + windowMs).length
  return Math.max(0, ...passed.map(inWindow))
}

/** What is wrong, in sentences; nothing when all is well. */
export function findFaults(tenants, got, minuteMs) {
  const { free, starter, pro } = tenants
  const faults = []
  const expect = (holds, fault) => {
    if (!holds) faults.push(fault)
  }
  const atMost = (tenant, windowMs, most) => {
    const seen = mostInAnyWindow(tenant.log, windowMs)
    expect(seen <= most, `${tenant.name}: ${seen} in one window of ${windowMs} ms, the plan allows ${most}`)
  }
  atMost(free, minuteMs, 100)
  atMost(starter, minuteMs, 3000)
  atMost(pro, 1000, 150)
  expect(got.free.before === 100, `free got ${got.free.before} of the 100 of its first minute`)
  expect(got.free.after >= 1, 'free did not get the unit back that its first request had taken')
  expect(starter.limited === 0, `starter stayed below its plan, and ${starter.limited} requests were limited`)
  expect(got.pro.burst >= 100, `pro got ${got.pro.burst} of its burst of 100`)
  const refilled = Math.ceil(got.pro.burstMs / 20) + 1
  expect(got.pro.burst <= 100 + refilled, `pro got ${got.pro.burst} at once, of a burst of 100`)
  expect(pro.limited === 140 - got.pro.burst, `pro kept to 50/s after its burst, and was limited`)
  for (const tenant of Object.values(tenants)) {
    expect(tenant.failed === 0, `${tenant.name}: ${tenant.failed} requests were answered neither 200 nor 429`)
  }
  return faults
}
