/** What a session says about the trust in its folder: once when its agent is restricted, and when that changes. */
import { closeItem } from "./items.ts";
import type { FolderFacts } from "./launch.ts";
import { emit, type MachineOutput, type MachineState, ours } from "./machine-state.ts";
import type { ItemHead } from "./report.ts";

export function sayTrust(state: MachineState, out: MachineOutput[], { trusted, path }: FolderFacts): void {
  const before = state.known.get("trusted") ?? true;
  if (before === trusted) return;
  state.known.set("trusted", trusted);
  emit(state, out, { type: "session.updated", data: { trusted } }, ours());
  if (trusted) return;
  const content = [
    {
      type: "status" as const,
      label: "Restricted: this folder is not trusted",
      detail: `Its settings, hooks, plugins and MCP servers are not used. To use them: franca trust add ${path}`,
    },
  ];
  const key = `folder-trust-${state.ledger.count}`;
  const item: ItemHead = { key, native_item_id: null, kind: "status", role: "system", content };
  closeItem(state, out, { report: { type: "close", key, status: "completed", item }, options: ours() });
}
