/** What a session of a comparison changed: each file with its lines, and its diff when it is opened. */
import { useSignal } from "@preact/signals";
import type { DiffFile, SessionDiff } from "../../src/protocol/workspaces.ts";
import { diffByFile } from "../model/compared.ts";
import { nameText } from "../model/plain.ts";
import { plural } from "../model/words.ts";
import { lineCount } from "../state/compare.ts";
import { Diff } from "./diff.tsx";
import { Icon } from "./icons.tsx";

export function Changes({ diff }: { readonly diff: SessionDiff | null }) {
  if (diff === null) return <div class="changes dim">Changes: not read yet</div>;
  const parts = diffByFile(diff.diff);
  return (
    <div class="changes">
      <h3>
        {diff.files.length === 0 ? "No file changed" : `${plural(diff.files.length, "file")} changed`}
        <Lines {...lineCount(diff.files)} />
      </h3>
      {diff.files.length > 0 && (
        <ul>
          {diff.files.map((file) => (
            <ChangedFile key={file.path} file={file} part={parts.get(file.path) ?? null} />
          ))}
        </ul>
      )}
      {diff.truncated && <p class="dim">The diff is longer than what is shown here.</p>}
    </div>
  );
}

function Lines({ added, removed }: { readonly added: number; readonly removed: number }) {
  if (added + removed === 0) return null;
  return (
    <span class="num">
      <span class="added">+{added}</span> <span class="removed">−{removed}</span>
    </span>
  );
}

function ChangedFile({ file, part }: { readonly file: DiffFile; readonly part: string | null }) {
  const open = useSignal(false);
  const { path, status, added, removed } = file;
  const name = (
    <>
      <span class="mono cut" title={nameText(path)}>
        {nameText(path)}
      </span>
      {status !== "modified" && <span class="dim">{status}</span>}
      <Lines added={added ?? 0} removed={removed ?? 0} />
    </>
  );
  if (part === null) return <li class="file">{name}</li>;
  return (
    <li>
      <button
        type="button"
        class="file"
        aria-expanded={open.value}
        onClick={() => {
          open.value = !open.value;
        }}
      >
        <Icon sign={open.value ? "down" : "right"} />
        {name}
      </button>
      {open.value && <Diff diff={part} />}
    </li>
  );
}
