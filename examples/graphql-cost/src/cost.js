// What a query costs: a unit for each field, times the length of the lists it stands in.
import { Kind, TypeInfo, visit, visitWithTypeInfo } from 'graphql'

const LONGEST_LIST = 100

/** The most that a document can cost, from what it asks for: lists count by their argument `first`. */
export function costOf(schema, document, variables = {}) {
  const factors = [1]
  let cost = 0
  const types = new TypeInfo(schema)
  const enter = (field) => {
    const [factor] = factors.slice(-1)
    cost += factor
    const isList = types.getFieldDef()?.args.some(({ name }) => name === 'first')
    factors.push(isList ? factor * lengthOf(field, variables) : factor)
  }
  visit(document, visitWithTypeInfo(types, { Field: { enter, leave: () => void factors.pop() } }))
  return cost
}

function lengthOf({ arguments: args }, variables) {
  const value = args.find(({ name }) => name.value === 'first')?.value
  const first = value?.kind === Kind.VARIABLE ? variables[value.name.value] : value?.value
  return Math.min(Math.max(Number(first) || LONGEST_LIST, 1), LONGEST_LIST)
}

/** What an answer really holds: a unit for each field of it. */
export function sizeOf(data) {
  if (Array.isArray(data)) return data.reduce((sum, entry) => sum + sizeOf(entry), 0)
  if (typeof data !== 'object' || data === null) return 0
  return Object.values(data).reduce((sum, value) => sum + 1 + sizeOf(value), 0)
}
