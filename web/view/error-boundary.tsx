/** Keeps an error in one part of the page from emptying the rest: shows the error, the raw text and a retry button. */
import type { ComponentChildren } from "preact";
import { useErrorBoundary } from "preact/hooks";
import { visibleText } from "../model/plain.ts";
import { CopyButton } from "./copy.tsx";

interface BoundaryProps {
  /** The part that may fail, as in "This message could not be shown". */
  readonly name: string;
  /** Returns the content as plain text. */
  readonly raw?: () => string;
  /** Buttons that must stay usable, such as those that reject a request. */
  readonly actions?: ComponentChildren;
  /** Whether the part is the page's main region. */
  readonly main?: boolean;
  readonly children: ComponentChildren;
}

export function ErrorBoundary({ name, raw, actions, main = false, children }: BoundaryProps) {
  const [error, retry] = useErrorBoundary();
  if (error === undefined) return children;
  const Frame = main ? "main" : "div";
  return (
    <Frame class={main ? "main" : undefined}>
      <section class="unshown" role="alert">
        <p>
          <b>This {name} could not be shown.</b> <span class="dim">{messageOf(error)}</span>
        </p>
        {raw !== undefined && <Raw text={textOf(raw)} />}
        <div class="row">
          <button type="button" class="btn" onClick={retry}>
            Try again
          </button>
          {actions}
        </div>
      </section>
    </Frame>
  );
}

function Raw({ text }: { readonly text: string }) {
  if (text === "") return null;
  return (
    <details>
      <summary>Raw text</summary>
      <CopyButton text={text} what="raw text" label="Copy" />
      <pre tabIndex={0}>{text}</pre>
    </details>
  );
}

const MAX_MESSAGE = 300;

const messageOf = (error: unknown): string =>
  visibleText(error instanceof Error ? error.message : String(error)).slice(0, MAX_MESSAGE);

/** Returns the raw text with hidden characters written out, or unchanged where that is what fails. */
function textOf(raw: () => string): string {
  const text = raw();
  try {
    return visibleText(text);
  } catch {
    return text;
  }
}
