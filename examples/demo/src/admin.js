// Who may look at the dashboard. In an app of your own, your login says it.
import { createHash, timingSafeEqual } from 'node:crypto'
import { dashboard } from '@tollgate/admin'

/**
 * @param password asked for by the browser. Without one, only a browser on this machine gets in, with the dashboard's token
 * @returns middleware to mount
 */
export function createAdmin(limiter, password) {
  if (!password) return { admin: dashboard(limiter) }
  const authorize = (req) => knows(req, password) && { by: 'admin' }
  return { guard: askFor(password), admin: dashboard(limiter, { authorize }) }
}

function askFor(password) {
  return (req, res, next) => {
    if (knows(req, password)) return next()
    res.status(401).set('WWW-Authenticate', 'Basic realm="Tollgate"').end()
  }
}

function knows(req, password) {
  const [, given = ''] = /^Basic (.+)$/.exec(req.get('authorization') ?? '') ?? []
  const [hash, known] = [Buffer.from(given, 'base64').toString(), `admin:${password}`].map((text) =>
    createHash('sha256').update(text).digest(),
  )
  return timingSafeEqual(hash, known)
}
