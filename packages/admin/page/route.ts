import { useEffect, useState } from 'preact/hooks'

export interface Customer {
  readonly id: string
  readonly plan?: string
  readonly isAddress?: boolean
}

export type Route =
  | { readonly page: 'overview' | 'plans' | 'rules' }
  | { readonly page: 'customer'; readonly customer: Customer }

const ADDRESS = /^(?:\d{1,3}\.){3}\d{1,3}$|^[\da-f]{0,4}(?::[\da-f]{0,4}){2,7}(?:\/\d{1,3})?$/i

export function looksLikeAddress(id: string): boolean {
  return ADDRESS.test(id)
}

function queryOf({ id, plan, isAddress }: Customer): string {
  return String(new URLSearchParams({ id, ...(plan && { plan }), ...(isAddress && { ip: '1' }) }))
}

export function customerHref(customer: Customer): string {
  return `#/customer?${queryOf(customer)}`
}

export function subjectPath(customer: Customer): string {
  return `api/subject?${queryOf(customer)}`
}

export function routeOf(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#/, '').split(/\?(.*)/s)
  if (path === '/plans') return { page: 'plans' }
  if (path === '/rules') return { page: 'rules' }
  const given = new URLSearchParams(query)
  const id = given.get('id')
  if (path !== '/customer' || !id) return { page: 'overview' }
  const plan = given.get('plan')
  return {
    page: 'customer',
    customer: { id, ...(plan && { plan }), ...(given.get('ip') === '1' && { isAddress: true }) },
  }
}

export function useRoute(): Route {
  const [route, setRoute] = useState(() => routeOf(location.hash))
  useEffect(() => {
    const follow = (): void => {
      setRoute(routeOf(location.hash))
      scrollTo(0, 0)
      document.querySelector('main')?.focus({ preventScroll: true })
    }
    addEventListener('hashchange', follow)
    return () => removeEventListener('hashchange', follow)
  }, [])
  return route
}
