/** One part of a conversation that is not a tool: words, reasoning, a request, a note, the end of a turn. */
import { useSignal } from "@preact/signals";
import { memo } from "preact/compat";
import type { Conversation } from "../model/conversation-state.ts";
import type { Entry, NoteEntry, StateEntry, TextEntry } from "../model/entries.ts";
import { nameText, visibleText } from "../model/plain.ts";
import { clock, duration, folderName } from "../model/words.ts";
import { now } from "../state/clock.ts";
import type { SessionStore } from "../state/store.ts";
import { EndView } from "./end-line.tsx";
import { Icon, Status } from "./icons.tsx";
import { Markdown } from "./markdown.tsx";
import { PermissionCard } from "./permission-card.tsx";
import { Pictures } from "./pictures.tsx";
import { QuestionCard } from "./question-card.tsx";

interface EntryProps {
  readonly entry: Entry;
  /** Entries change in place; this says when. */
  readonly rev: number;
  readonly store: SessionStore;
  readonly conversation: Conversation;
  readonly waiting: boolean;
}

export const EntryView = memo(
  ({ entry, rev, store, conversation }: EntryProps) => {
    switch (entry.type) {
      case "prompt":
        return <Prompt entry={entry} rev={rev} />;
      case "text":
        return <Words entry={entry} rev={rev} />;
      case "reasoning":
        return <Reasoning entry={entry} rev={rev} />;
      case "system":
        return <Summary entry={entry} rev={rev} />;
      case "permission":
        return <PermissionCard entry={entry} rev={rev} store={store} conversation={conversation} />;
      case "question":
        return <QuestionCard entry={entry} rev={rev} store={store} />;
      case "retrying":
      case "compacting":
        return <State entry={entry} rev={rev} />;
      case "note":
        return <Note entry={entry} rev={rev} />;
      case "end":
        return <EndView turn={entry.turn} conversation={conversation} store={store} />;
      case "tool":
        return null;
    }
  },
  (before, after) => before.entry === after.entry && before.rev === after.rev && before.waiting === after.waiting,
);

interface TextProps {
  readonly entry: TextEntry;
  readonly rev: number;
}

function Prompt({ entry }: TextProps) {
  return (
    <div class="you" data-entry={entry.key}>
      {entry.text !== "" && <Markdown text={entry.text} streaming={false} />}
      <Pictures images={entry.images} />
      {entry.files.length > 0 && (
        <p class="attached">
          {entry.files.map(({ path }) => (
            <span key={path} class="row">
              <Icon sign="clip" /> {nameText(folderName(path))}
            </span>
          ))}
        </p>
      )}
    </div>
  );
}

function Words({ entry }: TextProps) {
  return (
    <div class="say" data-entry={entry.key}>
      <Markdown text={entry.text} streaming={entry.streaming} />
      {entry.failed && <span class="dim broken">broken off here</span>}
      <Pictures images={entry.images} />
    </div>
  );
}

const FIRST_WORDS = 140;

function Reasoning({ entry }: TextProps) {
  const open = useSignal(false);
  const took = entry.endedAt === null ? null : entry.endedAt - entry.startedAt;
  const words = entry.text.replaceAll(/\s+/g, " ").trim();
  const preview = entry.streaming ? words.slice(-FIRST_WORDS) : words.slice(0, FIRST_WORDS);
  return (
    <div class="thought" data-entry={entry.key}>
      <button
        type="button"
        class="fold"
        aria-expanded={open.value}
        onClick={() => {
          open.value = !open.value;
        }}
      >
        <Icon sign={open.value ? "down" : "right"} />
        <span class="when">
          {took === null ? "Thinking" : took === 0 ? "Thought" : `Thought for ${duration(took)}`}
        </span>
        {!open.value && (
          <span class="cut dim">
            {entry.hidden && words === "" ? "not shown by the provider" : visibleText(preview)}
          </span>
        )}
      </button>
      {open.value && (
        <div class="thinking">
          <Markdown text={entry.text} streaming={entry.streaming} />
        </div>
      )}
    </div>
  );
}

function Summary({ entry }: TextProps) {
  const open = useSignal(false);
  return (
    <div class="thought" data-entry={entry.key}>
      <button
        type="button"
        class="fold"
        aria-expanded={open.value}
        onClick={() => {
          open.value = !open.value;
        }}
      >
        <Status shape="compacting" named />
        <span class="when">Context summary</span>
        {!open.value && <span class="cut dim">{visibleText(entry.text.slice(0, FIRST_WORDS))}</span>}
      </button>
      {open.value && (
        <div class="thinking">
          <Markdown text={entry.text} streaming={entry.streaming} />
        </div>
      )}
    </div>
  );
}

function State({ entry }: { readonly entry: StateEntry; readonly rev: number }) {
  const isOver = entry.endedAt !== null;
  const { attempt, message, next, startedAt, type } = entry;
  const left = next === null || isOver ? 0 : Math.max(0, Math.ceil((next - now.value) / 1000));
  const word = type === "compacting" ? (isOver ? "Compacted" : "Compacting") : `Retry ${attempt ?? ""}`;
  return (
    <p class="state" data-entry={entry.key}>
      <Status shape={type} named />
      <b>
        {word}
        {left > 0 && ` in ${left} s`}
      </b>
      <span class="cut mut">{visibleText(message)}</span>
      <span class="grow" />
      <span class="dim num">
        {entry.endedAt === null ? clock(now.value - startedAt) : duration(entry.endedAt - startedAt)}
      </span>
    </p>
  );
}

function Note({ entry }: { readonly entry: NoteEntry; readonly rev: number }) {
  return (
    <p class={`note ${entry.tone}`} data-entry={entry.key}>
      {entry.tone === "error" && <Status shape="failed" named />}
      <span>{visibleText(entry.label)}</span>
      {entry.detail !== "" && <span class="dim">{visibleText(entry.detail)}</span>}
    </p>
  );
}
