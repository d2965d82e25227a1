/** A new session: the agent, its folder with trust shown before the first prompt, and what may be changed later. */
import { type Signal, useSignal, useSignalEffect } from "@preact/signals";
import type { ComponentChildren } from "preact";
import type { AgentSummary, ModelList, ModeSummary } from "../../src/protocol/resources.ts";
import { attempt, create } from "../state/actions.ts";
import { daemon, link } from "../state/link.ts";
import { go } from "../state/route.ts";
import { allRows } from "../state/sessions.ts";
import { Status } from "./icons.tsx";
import { PageHead } from "./page-head.tsx";
import { Select } from "./select.tsx";

const permissionModes = [
  ["default", "default: asks"],
  ["plan", "plan"],
  ["acceptEdits", "accepts edits"],
  ["bypass", "bypass: never asks"],
] as const;

type PermissionMode = (typeof permissionModes)[number][0];

/** What is chosen, and what there is to choose from. */
function useForm() {
  const form = {
    agents: useSignal<readonly AgentSummary[]>([]),
    models: useSignal<ModelList>({ models: [] }),
    modes: useSignal<readonly ModeSummary[]>([]),
    agent: useSignal(""),
    model: useSignal(""),
    mode: useSignal(""),
    permissions: useSignal<PermissionMode>("default"),
    folder: useSignal(allRows.value[0]?.directory ?? ""),
    prompt: useSignal(""),
    isStarting: useSignal(false),
  };
  useSignalEffect(() => {
    if (link.value.state !== "live") return;
    void attempt(() => daemon().agents()).then((found) => {
      form.agents.value = found ?? [];
      const ready = found?.find(({ installed, credentialsAvailable }) => installed && credentialsAvailable);
      if (form.agent.peek() === "") form.agent.value = ready?.id ?? "";
    });
  });
  useSignalEffect(() => {
    const chosen = form.agent.value;
    if (chosen === "" || link.value.state !== "live") return;
    form.model.value = "";
    form.mode.value = "";
    void attempt(() => daemon().models(chosen)).then((list) => {
      form.models.value = list ?? { models: [] };
    });
    void attempt(() => daemon().modes(chosen)).then((list) => {
      form.modes.value = list ?? [];
    });
  });
  return form;
}

type Form = ReturnType<typeof useForm>;

async function start({ agent, model, mode, permissions, folder, prompt, isStarting }: Form): Promise<void> {
  if (agent.value === "" || isStarting.value) return;
  isStarting.value = true;
  const options = {
    agent: agent.value,
    permissionMode: permissions.value,
    ...(folder.value.trim() === "" ? {} : { directory: folder.value.trim() }),
    ...(model.value === "" ? {} : { model: model.value }),
    ...(mode.value === "" ? {} : { agentMode: mode.value }),
  };
  await create(options, prompt.value);
  isStarting.value = false;
}

export function NewSession() {
  const form = useForm();
  const isOff = form.agent.value === "" || form.isStarting.value || link.value.state !== "live";
  return (
    <main class="main" aria-label="New session">
      <PageHead title="New session" note="" />
      <form
        class="page form"
        onSubmit={(event) => {
          event.preventDefault();
          void start(form);
        }}
      >
        <Line label="Agent">
          <Agents form={form} />
        </Line>
        <Line label="Folder">
          <Folder folder={form.folder} />
        </Line>
        <Choices form={form} />
        <Line label="Prompt">
          <textarea
            rows={3}
            aria-label="Prompt"
            placeholder="Read README.md and add a line"
            value={form.prompt.value}
            onInput={(event) => {
              form.prompt.value = event.currentTarget.value;
            }}
            onKeyDown={(event) => {
              if (event.key === "Enter" && (event.metaKey || event.ctrlKey)) void start(form);
            }}
          />
        </Line>
        <Line label="">
          <div class="row">
            <button type="submit" class="btn primary" disabled={isOff}>
              Start <kbd>⌘↵</kbd>
            </button>
            <button type="button" class="btn ghost" onClick={() => go({ page: "home" })}>
              Cancel
            </button>
          </div>
        </Line>
      </form>
    </main>
  );
}

function Line({ label, children }: { readonly label: string; readonly children: ComponentChildren }) {
  return (
    <div class="line">
      <span class="mut">{label}</span>
      <div>{children}</div>
    </div>
  );
}

/** Version and login of each; those that are not installed cannot be chosen. */
function Agents({ form }: { readonly form: Form }) {
  const { agents, agent } = form;
  const chosen = agents.value.find(({ id }) => id === agent.value);
  return (
    <>
      <div class="chips">
        {agents.value.map(({ id, name, installed }) => (
          <button
            key={id}
            type="button"
            class="chip"
            disabled={!installed}
            title={installed ? undefined : "Not installed: franca agents install"}
            aria-pressed={agent.value === id}
            onClick={() => {
              agent.value = id;
            }}
          >
            {name}
          </button>
        ))}
      </div>
      {chosen !== undefined && (
        <p class="hint">
          <Status shape={chosen.credentialsAvailable ? "completed" : "idle"} named />
          {chosen.name} {chosen.version ?? ""} ·{" "}
          {chosen.credentialsAvailable ? "logged in" : "no credentials were found"}
        </p>
      )}
    </>
  );
}

function Folder({ folder }: { readonly folder: Signal<string> }) {
  const trusted = useSignal<boolean | null>(null);
  const check = async (directory: string): Promise<void> => {
    trusted.value = null;
    if (directory.trim() === "") return;
    // A folder that is not there is said when the session is started.
    const answer = await daemon()
      .trust(directory.trim())
      .catch(() => null);
    if (folder.peek() === directory) trusted.value = answer?.trusted ?? null;
  };
  useSignalEffect(() => {
    if (link.value.state === "live") void check(folder.value);
  });
  const known = [...new Set(allRows.value.map(({ directory }) => directory))].slice(0, 20);
  return (
    <>
      <label class="field">
        <input
          class="mono"
          aria-label="Folder"
          placeholder="the daemon’s own folder"
          list="folders"
          value={folder.value}
          onInput={(event) => {
            folder.value = event.currentTarget.value;
          }}
        />
        <datalist id="folders">
          {known.map((directory) => (
            <option key={directory} value={directory} />
          ))}
        </datalist>
      </label>
      {trusted.value !== null && (
        <p class="hint">
          <Status shape={trusted.value ? "completed" : "stopped"} named />
          <span class="grow">
            {trusted.value
              ? "Trusted: its settings and hooks are used."
              : "Not trusted: its hooks and MCP servers stay off."}
          </span>
          {!trusted.value && <code>franca trust add {folder.value.trim()}</code>}
        </p>
      )}
    </>
  );
}

const OWN = ["", "the agent’s own default"] as const;

function Choices({ form }: { readonly form: Form }) {
  const { models, model, modes, mode, permissions } = form;
  const modelOptions = models.value.models.map(({ id, name }) => [id, name ?? id] as const);
  const modeOptions = modes.value.map(({ id, name }) => [id, name] as const);
  return (
    <>
      <Line label="Model">
        <Select
          label="Model"
          boxed
          value={model.value}
          options={[OWN, ...modelOptions]}
          onChange={(value) => {
            model.value = value;
          }}
        />
      </Line>
      {modeOptions.length > 0 && (
        <Line label="Mode">
          <Select
            label="Mode"
            boxed
            value={mode.value}
            options={[OWN, ...modeOptions]}
            onChange={(value) => {
              mode.value = value;
            }}
          />
        </Line>
      )}
      <Line label="Permissions">
        <div class="chips">
          {permissionModes.map(([name, label]) => (
            <button
              key={name}
              type="button"
              class="chip"
              aria-pressed={permissions.value === name}
              onClick={() => {
                permissions.value = name;
              }}
            >
              {label}
            </button>
          ))}
        </div>
      </Line>
    </>
  );
}
