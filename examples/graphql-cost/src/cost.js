// What a query costs: a unit for each field, times the length of the lists around it.
import { getArgumentValues, getNamedType, getVariableValues, Kind } from 'graphql'

const LONGEST_LIST = 100

/** The most entries of a list. Resolvers ask it too, so that no list is longer than what was paid for. */
export const lengthOf = ({ first }) => Math.min(Math.max(first, 0), LONGEST_LIST)

/**
 * The most that an operation can cost, from what it asks for.
 *
 * @param document  valid by the schema, without introspection
 * @param operation the one of the document that is to be executed
 * @throws {GraphQLError} when the variables are wrong
 */
export function costOf(schema, document, operation, given) {
  const { coerced: variables, errors } = getVariableValues(
    schema,
    operation.variableDefinitions ?? [],
    given ?? {},
  )
  if (errors) throw errors[0]
  const fragments = new Map(
    document.definitions
      .filter(({ kind }) => kind === Kind.FRAGMENT_DEFINITION)
      .map((fragment) => [fragment.name.value, fragment]),
  )
  // Each fragment is priced once, however often it is spread. Otherwise a short query could take very long.
  const known = new Map()
  const ofFragment = (name) => {
    const { typeCondition, selectionSet } = fragments.get(name)
    if (!known.has(name)) known.set(name, ofSet(selectionSet, schema.getType(typeCondition.name.value)))
    return known.get(name)
  }
  const ofField = (node, parent) => {
    const field = parent.getFields?.()[node.name.value]
    if (!field || !node.selectionSet) return 1 // a leaf, or __typename
    const isList = field.args.some(({ name }) => name === 'first')
    const times = isList ? lengthOf(getArgumentValues(field, node, variables)) : 1
    return 1 + times * ofSet(node.selectionSet, getNamedType(field.type))
  }
  const ofSelection = (node, parent) => {
    if (node.kind === Kind.FIELD) return ofField(node, parent)
    if (node.kind === Kind.FRAGMENT_SPREAD) return ofFragment(node.name.value)
    const { typeCondition, selectionSet } = node
    return ofSet(selectionSet, typeCondition ? schema.getType(typeCondition.name.value) : parent)
  }
  const ofSet = ({ selections }, parent) =>
    selections.reduce((sum, node) => sum + ofSelection(node, parent), 0)

  const cost = ofSet(operation.selectionSet, schema.getRootType(operation.operation))
  // Nested fragments can name more fields than a number can hold exactly.
  return Math.min(cost, Number.MAX_SAFE_INTEGER)
}

/** What an answer holds: a unit for each of its fields. */
export function sizeOf(data) {
  if (Array.isArray(data)) return data.reduce((sum, entry) => sum + sizeOf(entry), 0)
  if (typeof data !== 'object' || data === null) return 0
  return Object.values(data).reduce((sum, value) => sum + 1 + sizeOf(value), 0)
}
