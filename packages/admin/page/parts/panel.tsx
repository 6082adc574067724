import type { ComponentChildren, VNode } from 'preact'
import { useId } from 'preact/hooks'
import { Ago } from './time.tsx'

interface Given {
  readonly title: string
  /** What it covers. */
  readonly covers?: ComponentChildren
  readonly tools?: ComponentChildren
  readonly children?: ComponentChildren
  readonly name?: string
  /** When its figures came, if they are old. */
  readonly oldAt?: number | undefined
  /** Why there are no newer ones. */
  readonly problem?: string
}

export function Panel({ title, covers, tools, children, name = '', oldAt, problem = '' }: Given): VNode {
  const id = useId()
  return (
    <section class={`panel ${name} ${oldAt === undefined ? '' : 'old'}`} aria-labelledby={id}>
      <div class="panel-head">
        <h2 id={id}>{title}</h2>
        {tools}
      </div>
      <Covers covers={covers} problem={problem} oldAt={oldAt} />
      {children}
    </section>
  )
}

function Covers({ covers, problem = '', oldAt }: Pick<Given, 'covers' | 'problem' | 'oldAt'>): VNode | null {
  if (oldAt === undefined && problem === '')
    return covers === undefined ? null : <p class="covers">{covers}</p>
  return (
    <p class="covers dated">
      {problem}
      {oldAt !== undefined && (
        <>
          {' '}
          As it was <Ago at={oldAt} />
        </>
      )}
    </p>
  )
}

export function Problem({ says }: { readonly says: string }): VNode | null {
  if (says === '') return null
  return <p class="problem">{says}</p>
}

export function Bone({ width = '100%' }: { readonly width?: string }): VNode {
  return <span class="bone" aria-hidden="true" style={{ width }} />
}
