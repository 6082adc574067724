import type { ComponentChildren, VNode } from 'preact'
import { useState } from 'preact/hooks'
import { numberText } from '../words.ts'
import { Bone } from './panel.tsx'

export interface Column<Row> {
  readonly title: string
  /** Its title where rows are blocks of their own. */
  readonly short?: string
  /** Sets its width and whether narrow screens have it. */
  readonly name: string
  readonly cell: (row: Row) => ComponentChildren
}

interface Given<Row> {
  readonly caption: string
  readonly columns: readonly Column<Row>[]
  /** null: they are not known yet. */
  readonly rows: readonly Row[] | null
  readonly keyOf: (row: Row) => string
  /** What is said of no rows. */
  readonly none: string
  readonly first?: number
  /** Narrow screens have each row as a block of its own. */
  readonly stacks?: boolean
}

const FIRST = 10

export function Table<Row>({
  caption,
  columns,
  rows,
  keyOf,
  none,
  first = FIRST,
  stacks = false,
}: Given<Row>): VNode {
  const [isWhole, setWhole] = useState(false)
  const shown = isWhole ? rows : rows?.slice(0, first)
  return (
    <div class={stacks ? 'table stacks' : 'table'}>
      <table role="table">
        <caption class="hidden">{caption}</caption>
        <thead role="rowgroup">
          <tr role="row">
            <Titles columns={columns} />
          </tr>
        </thead>
        <tbody role="rowgroup">
          {shown ? (
            shown.map((row) => <Row key={keyOf(row)} columns={columns} row={row} />)
          ) : (
            <BoneRows columns={columns} count={first} />
          )}
        </tbody>
      </table>
      {rows?.length === 0 && <p class="none">{none}</p>}
      {rows && rows.length > first && (
        <button type="button" class="quiet more" aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>
          {isWhole ? `Show the first ${first}` : `Show all ${numberText(rows.length)}`}
        </button>
      )}
    </div>
  )
}

function Titles<T>({ columns }: { readonly columns: readonly Column<T>[] }): VNode {
  return (
    <>
      {columns.map(({ title, name }) => (
        <th key={title} scope="col" role="columnheader" class={name}>
          {title}
        </th>
      ))}
    </>
  )
}

function Row<T>({ columns, row }: { readonly columns: readonly Column<T>[]; readonly row: T }): VNode {
  return (
    <tr role="row">
      {columns.map(({ title, short, name, cell }, at) =>
        at === 0 ? (
          <th key={title} scope="row" role="rowheader" class={name}>
            {cell(row)}
          </th>
        ) : (
          <td key={title} role="cell" class={name} data-title={short ?? title}>
            {cell(row)}
          </td>
        ),
      )}
    </tr>
  )
}

const BONES = [68, 52, 60, 45, 57, 64, 48, 55, 62, 50]

interface BonesGiven<T> {
  readonly columns: readonly Column<T>[]
  readonly count: number
}

function BoneRows<T>({ columns, count }: BonesGiven<T>): VNode {
  return (
    <>
      {BONES.slice(0, count).map((width, nth) => (
        <tr key={nth} role="row" class="bones">
          {columns.map(({ title, name }, at) => (
            <td key={title} role="cell" class={name}>
              <Bone width={at === 0 ? `${width}%` : '50%'} />
            </td>
          ))}
        </tr>
      ))}
    </>
  )
}
