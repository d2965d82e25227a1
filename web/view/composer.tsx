/** Where one writes to the agent: send, or while a turn runs queue, steer and stop. Files go along. */
import { type Signal, signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { ModelList } from "../../src/protocol/resources.ts";
import type { Conversation } from "../model/conversation-state.ts";
import { agentName, bytes } from "../model/words.ts";
import { abort, attempt } from "../state/actions.ts";
import { type Attached, readFiles } from "../state/attach.ts";
import { daemon, link } from "../state/link.ts";
import type { SessionStore } from "../state/store.ts";
import { Icon } from "./icons.tsx";
import { Select } from "./select.tsx";

/** Texts that were begun, by session: they are kept while one looks elsewhere. */
const drafts = new Map<string, Signal<string>>();
const focusWanted = signal(0);
let textWanted: string | null = null;

const draftOf = (id: string): Signal<string> => {
  const known = drafts.get(id) ?? signal("");
  drafts.set(id, known);
  return known;
};

/** Puts the cursor there, with a text to begin from. */
export function focusComposer(text?: string): void {
  textWanted = text ?? null;
  focusWanted.value += 1;
}

interface ComposerProps {
  readonly store: SessionStore;
  readonly conversation: Conversation;
}

export function Composer({ store, conversation }: ComposerProps) {
  const text = draftOf(store.id);
  const files = useSignal<readonly Attached[]>([]);
  const isSending = useSignal(false);
  useFocus(text);
  if (conversation.ended !== null) {
    return (
      <div class="composer">
        <p class="closed">This session has ended. Fork it to continue from here.</p>
      </div>
    );
  }
  const isRunning = conversation.turn !== null;
  const isLive = link.value.state === "live";
  const isEmpty = text.value.trim() === "" && files.value.length === 0;
  const send = async (delivery: "queue" | "steer"): Promise<void> => {
    if (isEmpty || !isLive || isSending.value) return;
    isSending.value = true;
    const isSent = await sendPrompt({ id: store.id, text: text.value, files: files.value, delivery });
    isSending.value = false;
    if (!isSent) return;
    text.value = "";
    files.value = [];
  };
  const add = async (list: FileList | null | undefined): Promise<void> => {
    const read = await attempt(() => readFiles([...(list ?? [])]));
    if (read !== null) files.value = [...files.value, ...read];
  };
  return (
    <div class="composer">
      <div class={isLive ? "box" : "box off"}>
        <textarea
          id="prompt"
          rows={1}
          aria-label="Prompt"
          placeholder={placeholder({ isLive, isRunning })}
          value={text.value}
          onInput={(event) => {
            text.value = event.currentTarget.value;
          }}
          onKeyDown={(event) => {
            if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
            event.preventDefault();
            void send(event.altKey && isRunning ? "steer" : "queue");
          }}
          onPaste={(event) => void add(event.clipboardData?.files)}
        />
        <Attachments files={files} />
        <div class="bar">
          <AttachButton onFiles={(list) => void add(list)} />
          <Choices store={store} conversation={conversation} />
          <span class="grow" />
          <Sends isOff={isEmpty || !isLive || isSending.value} isRunning={isRunning} store={store} send={send} />
        </div>
      </div>
    </div>
  );
}

/** Takes the focus, and a text to begin from, when somebody asked for it. */
function useFocus(text: Signal<string>): void {
  const wanted = focusWanted.value;
  useEffect(() => {
    if (wanted === 0) return;
    if (textWanted !== null) text.value = textWanted;
    textWanted = null;
    document.getElementById("prompt")?.focus();
  }, [wanted, text]);
}

interface Sending {
  readonly id: string;
  readonly text: string;
  readonly files: readonly Attached[];
  readonly delivery: "queue" | "steer";
}

async function sendPrompt({ id, text, files, delivery }: Sending): Promise<boolean> {
  const attachments = files.map(({ data, mime, filename }) => ({ data, mime, filename }));
  const options = { delivery, ...(attachments.length === 0 ? {} : { attachments }) };
  return (await attempt(() => daemon().session(id).prompt(text, options))) !== null;
}

interface SendsProps {
  readonly isOff: boolean;
  readonly isRunning: boolean;
  readonly store: SessionStore;
  readonly send: (delivery: "queue" | "steer") => Promise<void>;
}

function Sends({ isOff, isRunning, store, send }: SendsProps) {
  return (
    <>
      {isRunning && (
        <button type="button" class="btn danger phone-only" onClick={() => void abort(store.id)}>
          Stop
        </button>
      )}
      {isRunning && (
        <button type="button" class="btn ghost wide-only" disabled={isOff} onClick={() => void send("steer")}>
          Steer <kbd>⌥↵</kbd>
        </button>
      )}
      <button type="button" class="btn primary" disabled={isOff} onClick={() => void send("queue")}>
        {isRunning ? "Queue" : "Send"} <kbd>↵</kbd>
      </button>
    </>
  );
}

function placeholder({ isLive, isRunning }: { readonly isLive: boolean; readonly isRunning: boolean }): string {
  if (!isLive) return "Prompts are kept here and not sent while disconnected";
  return isRunning ? "Steer this turn, or queue the next prompt…" : "Prompt…";
}

function Attachments({ files }: { readonly files: Signal<readonly Attached[]> }) {
  if (files.value.length === 0) return null;
  return (
    <ul class="attachments">
      {files.value.map((file) => (
        <li key={file.key} class="chip">
          <Icon sign="clip" />
          {file.filename} <span class="dim num">{bytes(file.size)}</span>
          <button
            type="button"
            aria-label={`Remove ${file.filename}`}
            onClick={() => {
              files.value = files.value.filter((one) => one !== file);
            }}
          >
            <Icon sign="close" />
          </button>
        </li>
      ))}
    </ul>
  );
}

function AttachButton({ onFiles }: { readonly onFiles: (list: FileList | null) => void }) {
  return (
    <label class="btn ghost icon attach" title="Attach files">
      <Icon sign="clip" />
      <span class="hidden">Attach files</span>
      <input
        type="file"
        multiple
        class="hidden"
        onChange={(event) => {
          onFiles(event.currentTarget.files);
          event.currentTarget.value = "";
        }}
      />
    </label>
  );
}

const modes = [
  ["default", "default: asks"],
  ["plan", "plan"],
  ["acceptEdits", "accepts edits"],
  ["bypass", "bypass: never asks"],
] as const;

/** The agent, its model and what needs approval; what the agent cannot change in mid-session it refuses in words. */
function Choices({ store, conversation }: ComposerProps) {
  const models = useSignal<ModelList | null>(null);
  const name = conversation.agent;
  useEffect(() => {
    if (link.value.state !== "live" || name === "") return;
    void daemon()
      .models(name)
      .then((list) => {
        models.value = list;
      })
      .catch(() => {});
  }, [name, models]);
  const update = (change: object): void => void attempt(() => daemon().session(store.id).update(change));
  const list = models.value?.models ?? [];
  const model = conversation.model;
  const options = [
    ...(model === null ? [["", "default model"] as const] : []),
    ...(model !== null && !list.some(({ id }) => id === model) ? [[model, model] as const] : []),
    ...list.map(({ id, name: title }) => [id, title ?? id] as const),
  ];
  return (
    <>
      <span class="agent-name cut">{agentName(name)}</span>
      {options.length > 0 && (
        <Select label="Model" value={model ?? ""} options={options} onChange={(value) => update({ model: value })} />
      )}
      <Select
        label="Permissions"
        value={conversation.permissionMode ?? "default"}
        options={modes}
        onChange={(value) => update({ permissionMode: value })}
      />
    </>
  );
}
