import type { ComponentChildren, VNode } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import type { ChangeBody } from '../../src/answers.ts'
import { change } from '../api.ts'
import { say } from '../toast.tsx'
import { localText } from '../words.ts'

export interface Ends {
  readonly onDone: () => void
  readonly onClose: () => void
}

interface Given extends Ends {
  readonly title: string
  /** What the button does, exactly. */
  readonly button: string
  /** What the change would mean. */
  readonly means: string
  /** null: something is missing. */
  readonly body: ChangeBody | null
  readonly isGrave?: boolean
  readonly children?: ComponentChildren
}

function useModal(): { current: HTMLDialogElement | null } {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    const opener = document.activeElement
    dialog.current?.showModal()
    return () => {
      if (opener instanceof HTMLElement) opener.focus()
    }
  }, [])
  return dialog
}

interface Sending {
  readonly isSending: boolean
  readonly problem: string
  readonly send: () => Promise<void>
}

function useSending({ body, onDone, onClose }: Given): Sending {
  const [isSending, setSending] = useState(false)
  const [problem, setProblem] = useState('')
  const send = async (): Promise<void> => {
    if (!body || isSending) return
    setSending(true)
    setProblem('')
    try {
      const { says } = await change(body)
      say(localText(says))
      onDone()
      onClose()
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error))
      setSending(false)
    }
  }
  return { isSending, problem, send }
}

function Failure({ says }: { readonly says: string }): VNode | null {
  if (says === '') return null
  return (
    <p class="problem" role="alert">
      {says}
    </p>
  )
}

export function FormDialog(given: Given): VNode {
  const { title, button, means, body, isGrave = false, onClose, children } = given
  const dialog = useModal()
  const { isSending, problem, send } = useSending(given)
  const id = useId()
  return (
    <dialog ref={dialog} aria-labelledby={id} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void send()
        }}
      >
        <h2 id={id} dir="auto">
          {title}
        </h2>
        {children}
        <p class="means" id={`${id}-means`} dir="auto">
          {means}
        </p>
        <Failure says={problem} />
        <div class="dialog-buttons">
          <button type="button" onClick={() => dialog.current?.close()}>
            Cancel
          </button>
          <button
            type="submit"
            class={isGrave ? 'primary grave' : 'primary'}
            aria-describedby={`${id}-means`}
            disabled={!body || isSending}
          >
            {button}
          </button>
        </div>
      </form>
    </dialog>
  )
}
