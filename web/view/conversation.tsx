/** The conversation: what was said and done, in one column, following the end while one is at the end. */
import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { Conversation } from "../model/conversation-state.ts";
import type { Entry, RequestEntry, ToolEntry } from "../model/entries.ts";
import { isOpen, isRequest } from "../model/entries.ts";
import { rawText } from "../model/raw-text.ts";
import { plural } from "../model/words.ts";
import { replyPermission, replyQuestion } from "../state/actions.ts";
import { link } from "../state/link.ts";
import { loadEarlier } from "../state/session.ts";
import { type SessionStore, shownConversation } from "../state/store.ts";
import { Composer } from "./composer.tsx";
import { useConversationKeys } from "./conversation-keys.ts";
import { EntryView } from "./entry.tsx";
import { ErrorBoundary } from "./error-boundary.tsx";
import { Scrubber } from "./scrubber.tsx";
import { ToolGroup } from "./tool-line.tsx";
import { TurnPanel } from "./turn-panel.tsx";

/** So many blocks are drawn at first; older ones when one scrolls up to them. */
const FIRST_BLOCKS = 60;
const MORE_BLOCKS = 60;
/** This near to the end counts as being there. */
const END_PX = 48;

export function ConversationView({ store }: { readonly store: SessionStore }) {
  store.rev.value;
  const conversation = shownConversation(store);
  const isPast = store.at.value !== null;
  useConversationKeys(store);
  return (
    <div class="with-panel">
      <main class="main" aria-label="Conversation">
        <Flow key={store.id} store={store} conversation={conversation} />
        {isPast || store.kind === "recording" ? (
          <Scrubber store={store} />
        ) : (
          <Composer store={store} conversation={conversation} />
        )}
      </main>
      <aside class="panel" aria-label="Turn and session">
        <ErrorBoundary name="panel">
          <TurnPanel store={store} conversation={conversation} />
        </ErrorBoundary>
      </aside>
    </div>
  );
}

interface FlowProps {
  readonly store: SessionStore;
  readonly conversation: Conversation;
}

/** Tools that follow one another stand in one frame. */
export type FlowBlock =
  | { readonly type: "entry"; readonly key: string; readonly entry: Entry }
  | { readonly type: "tools"; readonly key: string; readonly tools: readonly ToolEntry[] };

export function blocksOf(entries: readonly Entry[]): FlowBlock[] {
  const blocks: FlowBlock[] = [];
  let tools: ToolEntry[] | null = null;
  for (const entry of entries) {
    if (entry.type === "tool") {
      if (tools === null) {
        tools = [];
        blocks.push({ type: "tools", key: entry.key, tools });
      }
      tools.push(entry);
      continue;
    }
    // An empty message only gives its tool calls a parent.
    if (entry.type === "text" && entry.text === "" && !entry.streaming && entry.images.length === 0) continue;
    tools = null;
    blocks.push({ type: "entry", key: entry.key, entry });
  }
  return blocks;
}

/** Follows the end while one is there; keeps the place while older blocks come in above. */
function useFollowing(store: SessionStore, total: number) {
  const frame = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  const unseen = useSignal(0);
  const heightBefore = useRef<number | null>(null);
  const known = useRef(0);
  useLayoutEffect(() => {
    const element = frame.current;
    if (element === null) return;
    if (heightBefore.current !== null) {
      element.scrollTop += element.scrollHeight - heightBefore.current;
      heightBefore.current = null;
    } else if (isAtEnd.current) element.scrollTop = element.scrollHeight;
    else if (total > known.current) unseen.value += total - known.current;
    known.current = total;
  });
  useEffect(() => {
    isAtEnd.current = true;
    unseen.value = 0;
  }, [store, unseen]);
  const toEnd = (): void => {
    isAtEnd.current = true;
    unseen.value = 0;
    frame.current?.scrollTo({ top: frame.current.scrollHeight });
  };
  return { frame, isAtEnd, unseen, heightBefore, toEnd };
}

function Flow({ store, conversation }: FlowProps) {
  const shown = useSignal(FIRST_BLOCKS);
  const blocks = blocksOf(conversation.entries);
  const { frame, isAtEnd, unseen, heightBefore, toEnd } = useFollowing(store, blocks.length);
  const visible = blocks.slice(-shown.value);
  const hasMore = blocks.length > visible.length || store.hasEarlier.value;
  const showMore = (): void => {
    heightBefore.current = frame.current?.scrollHeight ?? null;
    if (blocks.length > visible.length) shown.value += MORE_BLOCKS;
    else void loadEarlier(store, { all: false });
  };
  const onScroll = (): void => {
    const element = frame.current;
    if (element === null) return;
    isAtEnd.current = element.scrollHeight - element.scrollTop - element.clientHeight < END_PX;
    if (isAtEnd.current) unseen.value = 0;
    if (element.scrollTop < 200 && hasMore && heightBefore.current === null) showMore();
  };
  return (
    <div class="flow-frame">
      <div
        class="flow"
        ref={frame}
        onScroll={onScroll}
        role="log"
        aria-live="off"
        aria-label="What was said"
        tabIndex={0}
      >
        <div class="col">
          {hasMore && (
            <button type="button" class="btn ghost" onClick={showMore}>
              Show earlier
            </button>
          )}
          {conversation.entries.length === 0 && <p class="dim first">No prompt yet. What shall the agent do?</p>}
          {visible.map((block) => (
            <BlockView key={block.key} block={block} store={store} conversation={conversation} />
          ))}
          {conversation.ended !== null && <p class="note">{conversation.ended}</p>}
        </div>
      </div>
      {unseen.value > 0 && (
        <button type="button" class="btn to-end" onClick={toEnd}>
          {plural(unseen.value, "new block")} ↓
        </button>
      )}
    </div>
  );
}

function BlockView({ block, store, conversation }: FlowProps & { readonly block: FlowBlock }) {
  if (block.type === "tools") return <ToolGroup tools={block.tools} conversation={conversation} />;
  const { entry } = block;
  const isWaiting = isRequest(entry) && isOpen(entry);
  return (
    <ErrorBoundary
      name={isRequest(entry) ? "request" : "message"}
      raw={() => rawText(entry)}
      actions={isWaiting && store.kind === "session" && <Refusal session={store.id} entry={entry} />}
    >
      <EntryView entry={entry} rev={entry.rev} store={store} conversation={conversation} waiting={isWaiting} />
    </ErrorBoundary>
  );
}

/** A request that cannot be shown cannot be allowed, only refused. */
function Refusal({ session, entry }: { readonly session: string; readonly entry: RequestEntry }) {
  const refuse = (): void => {
    const { request } = entry;
    if ("permission_id" in request) {
      void replyPermission({ session, id: request.permission_id, reply: "reject", message: "" });
    } else void replyQuestion({ session, id: request.question_id, answers: null });
  };
  return (
    <button type="button" class="btn danger" disabled={link.value.state !== "live"} onClick={refuse}>
      Reject
    </button>
  );
}
