import type { TargetedKeyboardEvent, VNode } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { live } from './live.ts'
import { Name } from './parts/name.tsx'
import { customerHref, looksLikeAddress, type Customer } from './route.ts'

const MOST = 8
const NONE: readonly never[] = []

interface Choice extends Customer {
  readonly note: string
}

/** The customers that were seen. */
function seen(): readonly Choice[] {
  const { figures } = live.value
  if (!figures) return []
  const all = [...figures.busiest, ...figures.nearest, ...figures.mostDenied]
  const found = new Map<string, Choice>()
  for (const { subject, plan } of all) {
    const isAddress = looksLikeAddress(subject)
    if (!found.has(subject)) found.set(subject, { id: subject, plan, note: plan, isAddress })
  }
  return [...found.values()]
}

function choicesFor(text: string): readonly Choice[] {
  const sought = text.trim().toLowerCase()
  if (sought === '') return seen().slice(0, MOST)
  const matching = seen().filter(({ id }) => id.toLowerCase().includes(sought))
  const begins = (one: Choice): number => (one.id.toLowerCase().startsWith(sought) ? 0 : 1)
  const sorted = matching.toSorted((one, other) => begins(one) - begins(other)).slice(0, MOST)
  if (!looksLikeAddress(text.trim())) return sorted
  const asAddress = { id: text.trim(), isAddress: true, note: 'client address' }
  const others = sorted.filter(({ id }) => id !== asAddress.id)
  return [asAddress, { id: text.trim(), note: 'customer’s id' }, ...others]
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.closest('input, textarea, select, dialog') !== null
}

function useSlash(): { current: HTMLInputElement | null } {
  const field = useRef<HTMLInputElement>(null)
  useEffect(() => {
    const focus = (event: KeyboardEvent): void => {
      if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target))
        return
      event.preventDefault()
      field.current?.focus()
    }
    addEventListener('keydown', focus)
    return () => removeEventListener('keydown', focus)
  }, [])
  return field
}

interface Seeking {
  readonly text: string
  readonly choices: readonly Choice[]
  readonly active: number
  readonly type: (text: string) => void
  readonly open: (isOpen: boolean) => void
  readonly step: (by: 1 | -1) => void
  readonly go: (customer: Customer) => void
  readonly submit: () => void
}

function useSeeking(): Seeking {
  const [text, setText] = useState('')
  const [isOpen, open] = useState(false)
  const [active, setActive] = useState(-1)
  const choices = isOpen ? choicesFor(text) : NONE
  const type = (typed: string): void => {
    setText(typed)
    setActive(-1)
    open(true)
  }
  const go = (customer: Customer): void => {
    type('')
    open(false)
    location.hash = customerHref(customer)
  }
  const submit = (): void => {
    const typed = text.trim()
    const chosen = choices[active] ?? choices.find(({ id }) => id === typed)
    if (chosen) go(chosen)
    else if (typed !== '') go({ id: typed })
  }
  const step = (by: 1 | -1): void => {
    open(true)
    const { length } = choices
    const from = active < 0 && by < 0 ? 0 : active
    if (length > 0) setActive((from + by + length) % length)
  }
  return { text, choices, active, type, open, step, go, submit }
}

export function Search(): VNode {
  const seeking = useSeeking()
  const { choices, active, submit } = seeking
  const id = useId()
  const field = useSlash()
  const go = (customer: Customer): void => {
    seeking.go(customer)
    field.current?.blur()
  }
  return (
    <form
      class="search"
      role="search"
      onSubmit={(event) => {
        event.preventDefault()
        submit()
      }}
    >
      <Combobox field={field} id={id} seeking={seeking} />
      <kbd aria-hidden="true">/</kbd>
      <Choices id={id} choices={choices} active={active} go={go} />
    </form>
  )
}

interface ComboboxGiven {
  readonly field: { current: HTMLInputElement | null }
  readonly id: string
  readonly seeking: Seeking
}

function Combobox({ field, id, seeking }: ComboboxGiven): VNode {
  const { text, choices, active, type, open, step } = seeking
  const onKeyDown = (event: TargetedKeyboardEvent<HTMLInputElement>): void => {
    if (event.key === 'Escape') open(false)
    if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return
    event.preventDefault()
    step(event.key === 'ArrowDown' ? 1 : -1)
  }
  return (
    <input
      ref={field}
      type="text"
      role="combobox"
      aria-label="Find a customer"
      aria-autocomplete="list"
      aria-expanded={choices.length > 0}
      aria-controls={`${id}-list`}
      aria-activedescendant={choices[active] ? `${id}-${active}` : undefined}
      placeholder="Find a customer"
      autocomplete="off"
      spellcheck={false}
      value={text}
      onInput={({ currentTarget }) => type(currentTarget.value)}
      onFocus={() => open(true)}
      onBlur={() => open(false)}
      onKeyDown={onKeyDown}
    />
  )
}

interface ChoicesGiven {
  readonly id: string
  readonly choices: readonly Choice[]
  readonly active: number
  readonly go: (customer: Customer) => void
}

function Choices({ id, choices, active, go }: ChoicesGiven): VNode {
  return (
    <ul id={`${id}-list`} role="listbox" aria-label="Customers that were seen" hidden={choices.length === 0}>
      {choices.map((choice, nth) => (
        <li
          key={`${choice.note} ${choice.id}`}
          id={`${id}-${nth}`}
          role="option"
          aria-selected={nth === active}
          onMouseDown={(event) => {
            event.preventDefault()
            go(choice)
          }}
        >
          <Name id={choice.id} />
          <span class="soft">{choice.note}</span>
        </li>
      ))}
    </ul>
  )
}
