/** Tools: one line each with name, target, outcome and duration; opened, the whole of what went in and came out. */
import { useSignal } from "@preact/signals";
import { memo } from "preact/compat";
import type { Conversation } from "../model/conversation-state.ts";
import type { Entry, ToolEntry, ToolState } from "../model/entries.ts";
import { exactText, outputText, visibleText } from "../model/plain.ts";
import { rawText } from "../model/raw-text.ts";
import { outcomeOf, parsedInput, targetOf, wantedDiff } from "../model/tools.ts";
import { clock, duration, plural, type Shape } from "../model/words.ts";
import { now } from "../state/clock.ts";
import { CopyButton } from "./copy.tsx";
import { Diff, DiffCount } from "./diff.tsx";
import { ErrorBoundary } from "./error-boundary.tsx";
import { Status } from "./icons.tsx";
import { Json } from "./json.tsx";
import { Markdown } from "./markdown.tsx";
import { Pictures } from "./pictures.tsx";

export function ToolGroup({
  tools,
  conversation,
}: {
  readonly tools: readonly ToolEntry[];
  readonly conversation: Conversation;
}) {
  return (
    <div class="tools">
      {tools.map((tool) => (
        <ErrorBoundary key={tool.key} name="tool call" raw={() => rawText(tool)}>
          <Tool tool={tool} rev={tool.rev} child={childRev(tool)} directory={conversation.directory} />
        </ErrorBoundary>
      ))}
    </div>
  );
}

/** Children change in place too. */
const childRev = ({ children }: ToolEntry): number => children.reduce((sum, child) => sum + child.rev + 1, 0);

const shapes: Readonly<Record<ToolState, Shape>> = {
  pending: "idle",
  running: "running",
  completed: "completed",
  failed: "failed",
  needs: "needs",
  denied: "stopped",
};

/** Tools change in place; `rev` says when. */
interface Revised {
  readonly tool: ToolEntry;
  readonly rev: number;
}

interface ToolProps extends Revised {
  readonly child: number;
  readonly directory: string | null;
}

const Tool = memo(
  ({ tool, rev, child, directory }: ToolProps) => {
    const open = useSignal<boolean | null>(null);
    const input = parsedInput(tool.input);
    const isEdit = tool.files.some(({ diff }) => diff !== undefined);
    const isShown = open.value ?? false;
    const target = targetOf({ ...tool, input, directory });
    return (
      <>
        <button
          type="button"
          class="tool"
          data-entry={tool.key}
          aria-expanded={isShown}
          onClick={() => {
            open.value = !isShown;
          }}
        >
          <Status shape={shapes[tool.state]} />
          <span class="nm cut">{visibleText(tool.name)}</span>
          <span class="tg cut">{visibleText(target)}</span>
          <Outcome tool={tool} rev={rev + child} isEdit={isEdit} />
          <Took tool={tool} rev={rev} />
        </button>
        {isShown && <ToolBody tool={tool} rev={rev} directory={directory} />}
        {tool.children.length > 0 && <Children entries={tool.children} rev={child} directory={directory} />}
      </>
    );
  },
  (before, after) => before.tool === after.tool && before.rev === after.rev && before.child === after.child,
);

function Outcome({ tool, isEdit }: Revised & { readonly isEdit: boolean }) {
  switch (tool.state) {
    case "pending":
      return <span class="st">writing its input</span>;
    case "running": {
      const tools = tool.children.filter(({ type }) => type === "tool").length;
      return <span class="st c-running">{tools === 0 ? "running" : `running · ${plural(tools, "tool")}`}</span>;
    }
    case "needs":
      return <span class="st c-needs">needs you</span>;
    case "denied":
      return <span class="st">denied</span>;
    case "failed":
      return <span class="st c-failed">{tool.exitCode === null ? "failed" : `exit ${tool.exitCode}`}</span>;
    case "completed": {
      if (isEdit) {
        return (
          <span class="st">
            <DiffCount diff={tool.files.map(({ diff }) => diff ?? "").join("")} />
          </span>
        );
      }
      const note = tool.background ? "goes on in the background" : outcomeOf(tool.output);
      return <span class="st num">{note}</span>;
    }
  }
}

function Took({ tool }: Revised) {
  const from = tool.ranAt ?? tool.startedAt;
  if (tool.endedAt !== null) return <span class="du">{duration(tool.endedAt - from)}</span>;
  return <span class="du">{clock(now.value - from)}</span>;
}

const MOST_OUTPUT = 20_000;

function ToolBody({ tool, directory }: Revised & { readonly directory: string | null }) {
  const input = parsedInput(tool.input);
  const command = typeof input.command === "string" ? input.command : null;
  const diffs = tool.files.flatMap(({ diff }) => (diff === undefined ? [] : [diff]));
  const wanted = diffs.length === 0 && tool.kind === "file_change" ? wantedDiff(input, directory) : null;
  const others = Object.fromEntries(Object.entries(input).filter(([name]) => name !== "command" || command === null));
  return (
    <div class="tool-body">
      {command !== null && <Labelled label="Command" copy={command} text={exactText(command)} />}
      {diffs.map((diff, index) => (
        <Diff key={index} diff={diff} />
      ))}
      {wanted !== null && <Diff diff={wanted} />}
      {diffs.length === 0 && wanted === null && Object.keys(others).length > 0 && (
        <figure class="part">
          <figcaption>Input</figcaption>
          <Json value={others} />
        </figure>
      )}
      {tool.output !== "" && <Output text={tool.output} />}
      <Pictures images={tool.images} />
    </div>
  );
}

function Output({ text }: { readonly text: string }) {
  const all = useSignal(false);
  const shown = outputText(all.value ? text : text.slice(0, MOST_OUTPUT));
  return (
    <>
      <Labelled label="Output" copy={text} text={shown} />
      {text.length > MOST_OUTPUT && !all.value && (
        <button
          type="button"
          class="btn ghost"
          onClick={() => {
            all.value = true;
          }}
        >
          Show all of it
        </button>
      )}
    </>
  );
}

function Labelled({ label, copy, text }: { readonly label: string; readonly copy: string; readonly text: string }) {
  return (
    <figure class="part">
      <figcaption>
        {label} <CopyButton text={copy} what={label.toLowerCase()} />
      </figcaption>
      <pre tabIndex={0}>{text}</pre>
    </figure>
  );
}

interface ChildrenProps {
  readonly entries: readonly Entry[];
  readonly rev: number;
  readonly directory: string | null;
}

/** A subagent's own words and tools, under one guide line. */
function Children({ entries, directory }: ChildrenProps) {
  return (
    <div class="sub">
      <div>
        {entries.map((entry) => {
          if (entry.type === "tool") {
            return <Tool key={entry.key} tool={entry} rev={entry.rev} child={childRev(entry)} directory={directory} />;
          }
          if (entry.type !== "text" && entry.type !== "reasoning") return null;
          if (entry.text === "" && !entry.streaming) return null;
          return (
            <div key={entry.key} class="say" data-entry={entry.key}>
              <Markdown text={entry.text} streaming={entry.streaming} />
            </div>
          );
        })}
      </div>
    </div>
  );
}
