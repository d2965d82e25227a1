/**
 * A permission: the whole of what is asked, where, what "always" would mean and what happens without an answer. Enter
 * and Space allow nothing unless a button has the focus; a new card does not take the focus.
 */
import { useSignal } from "@preact/signals";
import { canRemember } from "../../src/core/approval-words.ts";
import { type Approval, approvalOf } from "../../src/projections/text/approval.ts";
import { commandLines } from "../model/command.ts";
import type { Conversation } from "../model/conversation-state.ts";
import { diffCount } from "../model/diff.ts";
import type { PermissionEntry } from "../model/entries.ts";
import { exactText, nameText } from "../model/plain.ts";
import { isFields, pathOf } from "../model/tools.ts";
import { duration, folderName, timeOfDay } from "../model/words.ts";
import { answeredHere, answering, replyPermission } from "../state/actions.ts";
import { now } from "../state/clock.ts";
import { link } from "../state/link.ts";
import type { SessionStore } from "../state/store.ts";
import { CopyButton } from "./copy.tsx";
import { Diff } from "./diff.tsx";
import { Icon, Status } from "./icons.tsx";
import { Waiting } from "./session-list.tsx";

interface CardProps {
  readonly entry: PermissionEntry;
  /** The entry changes in place; this says when. */
  readonly rev: number;
  readonly store: SessionStore;
  readonly conversation: Conversation;
}

export function PermissionCard({ entry, store, conversation }: CardProps) {
  if (entry.resolvedAt !== null) return <Answered entry={entry} />;
  const { request } = entry;
  const approval = approvalOf({ permission: request, directory: conversation.directory ?? "" });
  const changed = approval.diffs.length === 0 ? null : diffCount(approval.diffs.join(""));
  return (
    <section class="card" data-card data-entry={entry.key} tabIndex={-1} aria-label={titleOf(entry, approval)}>
      <header>
        <Status shape="needs" named />
        <h2 class="grow">{titleOf(entry, approval)}</h2>
        <span class="right num">
          {changed !== null && `+${changed.added} −${changed.removed} · `}
          <Waiting since={entry.askedAt} />
        </span>
      </header>
      <Asked approval={approval} />
      <Facts entry={entry} approval={approval} conversation={conversation} />
      <Answers entry={entry} store={store} approval={approval} />
    </section>
  );
}

function titleOf({ request }: PermissionEntry, { command, diffs }: Approval): string {
  if (command !== null) return "Run this command?";
  const path = isFields(request.metadata.input) ? pathOf(request.metadata.input) : null;
  const tool = exactText(request.metadata.tool ?? request.action);
  if (diffs.length > 0) return `Edit ${nameText(folderName(path ?? request.metadata.patterns[0] ?? "files"))}?`;
  return `Allow ${tool}?`;
}

/** Never shortened: what is long scrolls inside the card, and the buttons stay in sight. */
function Asked({ approval }: { readonly approval: Approval }) {
  const { command, diffs, fields, patterns } = approval;
  return (
    <div class="asked" tabIndex={0} role="group" aria-label="What is asked">
      {command !== null && <CommandText command={command} />}
      {diffs.map((diff, index) => (
        <Diff key={index} diff={diff} whole />
      ))}
      {(fields.length > 0 || patterns.length > 0) && (
        <dl class="fields">
          {fields.map(({ name, text }) => (
            <div key={name}>
              <dt>{exactText(name)}</dt>
              <dd>{exactText(text)}</dd>
            </div>
          ))}
          {patterns.map((pattern) => (
            <div key={pattern}>
              <dt>for</dt>
              <dd>{exactText(pattern)}</dd>
            </div>
          ))}
        </dl>
      )}
    </div>
  );
}

/** Broken at operators and spaces; copying gives the exact text. */
function CommandText({ command }: { readonly command: string }) {
  const lines = commandLines(command);
  return (
    <div class="cmd" data-command>
      {lines.map(({ operator, text }, index) => (
        <span key={index} class={lines.length > 1 ? "cl" : "cl one"}>
          <span class="op">{operator}</span>
          {exactText(text)}
        </span>
      ))}
      <CopyButton text={command} what="command" />
    </div>
  );
}

function Facts({ entry, approval, conversation }: Omit<CardProps, "store" | "rev"> & { readonly approval: Approval }) {
  const { directory, trusted } = conversation;
  const { deadline } = entry.request.metadata;
  const left = deadline === null ? null : Date.parse(String(deadline)) - now.value;
  return (
    <dl class="facts">
      {approval.words.map((words) => (
        <div key={words}>
          <dt>Agent says</dt>
          <dd>{exactText(words)}</dd>
        </div>
      ))}
      <div>
        <dt>In</dt>
        <dd>
          <code>{nameText(directory ?? "")}</code>{" "}
          {trusted === null ? "" : trusted ? "trusted folder" : "folder not trusted"}
        </dd>
      </div>
      <div>
        <dt>“Always”</dt>
        <dd>
          <Quoted
            text={approval.always.replace(`exactly the command \`${approval.command}\``, "exactly this command")}
          />
        </dd>
      </div>
      {approval.scopes.map(({ scope, always }, index) => (
        <div key={scope}>
          <dt>“Always” {index + 1}</dt>
          <dd>
            <Quoted text={always} />
          </dd>
        </div>
      ))}
      <div>
        <dt>No answer</dt>
        <dd class="num">
          {left === null ? "it waits" : left <= 0 ? "rejected now" : `rejected in ${roughly(left)}`}; nothing is ever
          allowed by default
        </dd>
      </div>
    </dl>
  );
}

const MINUTE = 60_000;
const roughly = (ms: number): string => (ms > 2 * MINUTE ? `${Math.round(ms / MINUTE)} min` : duration(ms));

/** What stands between backticks is a pattern. */
function Quoted({ text }: { readonly text: string }) {
  return (
    <>
      {text
        .split("`")
        .map((part, index) => (index % 2 === 1 ? <code key={index}>{exactText(part)}</code> : exactText(part)))}
    </>
  );
}

function Answers({
  entry,
  store,
  approval,
}: Omit<CardProps, "conversation" | "rev"> & { readonly approval: Approval }) {
  const withMessage = useSignal(false);
  const id = entry.request.permission_id;
  const isSending = answering.value.has(id);
  const isOff = link.value.state !== "live" || isSending;
  const reply: Reply = (answer, more = {}) => void replyPermission({ session: store.id, id, reply: answer, ...more });
  if (store.kind === "recording") return <p class="offline">This is a recording: the answer comes later in it.</p>;
  return (
    <footer data-answers>
      {withMessage.value ? (
        <Rejection reply={reply} isOff={isOff} onCancel={() => (withMessage.value = false)} />
      ) : (
        <>
          <button type="button" class="btn primary" data-reply="once" disabled={isOff} onClick={() => reply("once")}>
            Allow once <kbd>A</kbd>
          </button>
          {canRemember(entry.request.metadata) && (
            <button type="button" class="btn" data-reply="always" disabled={isOff} onClick={() => reply("always")}>
              Always <kbd>⇧A</kbd>
            </button>
          )}
          <ScopeButtons approval={approval} isOff={isOff} reply={reply} />
          <span class="grow" />
          <button
            type="button"
            class="btn ghost"
            data-reply="message"
            disabled={isOff}
            onClick={() => {
              withMessage.value = true;
            }}
          >
            Reject with a message <kbd>⇧R</kbd>
          </button>
          <button type="button" class="btn danger" data-reply="reject" disabled={isOff} onClick={() => reply("reject")}>
            Reject <kbd>R</kbd>
          </button>
        </>
      )}
      <p class="why-off" role="status">
        {whyOff({ isOff, isSending })}
      </p>
    </footer>
  );
}

interface ScopeProps {
  readonly approval: Approval;
  readonly isOff: boolean;
  readonly reply: Reply;
}

/** One button for each broader scope; the card's facts show them in full under the same numbers. */
function ScopeButtons({ approval, isOff, reply }: ScopeProps) {
  return (
    <>
      {approval.scopes.map(({ scope, always }, index) => (
        <button
          key={scope}
          type="button"
          class="btn"
          data-reply="scope"
          title={exactText(`Always: ${always}`)}
          disabled={isOff}
          onClick={() => reply("always", { scope })}
        >
          Always {index + 1}
        </button>
      ))}
    </>
  );
}

type Reply = (
  answer: "once" | "always" | "reject",
  more?: { readonly scope?: string; readonly message?: string },
) => void;

interface RejectionProps {
  readonly reply: Reply;
  readonly isOff: boolean;
  readonly onCancel: () => void;
}

function Rejection({ reply, isOff, onCancel }: RejectionProps) {
  const message = useSignal("");
  return (
    <>
      <label class="field grow">
        <input
          aria-label="Why it is rejected"
          placeholder="What shall the agent do instead?"
          value={message.value}
          ref={(input) => input?.focus()}
          onInput={(event) => {
            message.value = event.currentTarget.value;
          }}
          onKeyDown={(event) => {
            if (event.key === "Enter") reply("reject", { message: message.value });
            if (event.key === "Escape") onCancel();
            event.stopPropagation();
          }}
        />
      </label>
      <button
        type="button"
        class="btn danger"
        disabled={isOff}
        onClick={() => reply("reject", { message: message.value })}
      >
        Reject
      </button>
    </>
  );
}

function whyOff({ isOff, isSending }: { readonly isOff: boolean; readonly isSending: boolean }): string {
  if (isSending) return "Sending…";
  return isOff ? "Not connected: answers can be given again when the daemon is back." : "";
}

const outcomes = {
  accept: "allowed once",
  accept_for_session: "allowed for this session",
  reject: "rejected",
  requested: "",
} as const;

function Answered({ entry }: { readonly entry: PermissionEntry }) {
  const { request, askedAt, resolvedAt, rule } = entry;
  const after = duration((resolvedAt ?? askedAt) - askedAt);
  const isHere = answeredHere.has(request.permission_id);
  const who =
    rule === "request.deadline"
      ? "No answer in time"
      : rule === "turn.ended" || rule === "turn.abort"
        ? "The turn ended"
        : isHere
          ? "You"
          : "Answered";
  return (
    <p class="answered num" data-entry={entry.key}>
      <Status shape={request.status === "reject" ? "stopped" : "completed"} named />
      <span>
        {who}: <b>{outcomes[request.status]}</b>, {exactText(request.metadata.tool ?? request.action)}, after {after}
      </span>
      <span class="line" />
      <span class="dim">{timeOfDay(resolvedAt ?? askedAt)}</span>
      <span class="hidden">
        <Icon sign="right" />
      </span>
    </p>
  );
}
