/** An adapter whose native lines are reports: tests of the session fold say what they mean, without a dialect. */
import { type Adapter, defineAdapter } from "../../src/core/adapter.ts";
import type { Report } from "../../src/core/report.ts";
import { testCapabilities } from "../turn/driver.ts";

interface TransparentLine {
  readonly reports: readonly Report[];
}

export const transparent: Adapter = defineAdapter<TransparentLine, null>({
  agent: "transparent",
  name: "Transparent",
  isNative: (value): value is TransparentLine => typeof value === "object" && value !== null && "reports" in value,
  recognises: () => false,
  adapter: {
    start: () => null,
    step: (_state, input) => {
      if (input.type === "line") return input.line.reports;
      if (input.type === "command") return [{ type: "send.line", line: { told: input.command } }];
      return [];
    },
  },
  launch: () => ({ kind: "in-process", agent: "transparent" }),
  capabilities: testCapabilities,
});
