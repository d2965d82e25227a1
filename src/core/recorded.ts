/** One entry of a recording, wherever it was recorded. */
import type { Exit } from "./agent-io.ts";
import type { InspectedRequest } from "./input.ts";

/** One entry of a recording; `at` is null where the time is not recorded. `place` is its line number, for messages. */
export type Recorded = { readonly at: number | null; readonly place?: number } & (
  | { readonly type: "line"; readonly from: "agent" | "host"; readonly line: unknown }
  | { readonly type: "unreadable"; readonly text: string; readonly error: string }
  | { readonly type: "exit"; readonly exit: Exit }
  /** Result of the inspection of a permission request by the edge. */
  | (InspectedRequest & { readonly type: "inspected" })
);
