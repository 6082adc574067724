// What a query costs: a unit for each field, as often as the lists that it stands in are long.
import { getArgumentValues, getNamedType, getVariableValues, Kind } from 'graphql'

const LONGEST_LIST = 100

/** How many entries a list has at most. The resolvers ask it, too, so that nothing costs less than it gives. */
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
  // Each fragment once, however often it is spread: else a short query takes long to price.
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
  // Fragments of fragments can name more fields than a number can count; a cost is a whole one.
  return Math.min(cost, Number.MAX_SAFE_INTEGER)
}

/** What an answer really holds: a unit for each field of it. */
export function sizeOf(data) {
  if (Array.isArray(data)) return data.reduce((sum, entry) => sum + sizeOf(entry), 0)
  if (typeof data !== 'object' || data === null) return 0
  return Object.values(data).reduce((sum, value) => sum + 1 + sizeOf(value), 0)
}
