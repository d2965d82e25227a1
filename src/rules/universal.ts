/** What a stream of universal events must keep. Sessions may be mixed in one stream: each is judged by itself. */

import { type Checker, defineRules, type Rule } from "../core/lint.ts";
import { UniversalEvent } from "../protocol/events.ts";
import { envelopeRules } from "./envelope.ts";
import { itemRules } from "./items.ts";
import { requestRules } from "./requests.ts";
import { turnRules } from "./turns.ts";
import { usageRules } from "./usage.ts";

const unparsed: Rule<UniversalEvent> = {
  id: "universal.unparsed",
  says: "Every native line was understood: there is no `agent.unparsed`.",
  check: () => ({ step: (event) => (event.type === "agent.unparsed" ? [event.data.error] : []) }),
};

/** Each rule with one state per session. */
export const universalRules: readonly Rule<UniversalEvent>[] = [
  ...envelopeRules,
  ...turnRules,
  ...itemRules,
  ...requestRules,
  ...usageRules,
  unparsed,
].map((rule) => ({ ...rule, check: () => perSession(rule.check) }));

function perSession(check: () => Checker<UniversalEvent>): Checker<UniversalEvent> {
  const sessions = new Map<string, Checker<UniversalEvent>>();
  return {
    step(event) {
      let checker = sessions.get(event.session_id);
      if (checker === undefined) {
        checker = check();
        sessions.set(event.session_id, checker);
      }
      return checker.step(event);
    },
    end: () =>
      [...sessions].flatMap(([session, checker]) => (checker.end?.() ?? []).map((message) => `${session}: ${message}`)),
  };
}

// `raw` is any value, null too, but never absent.
const isUniversalEvent = (value: unknown): value is UniversalEvent =>
  UniversalEvent.safeParse(value).success && typeof value === "object" && value !== null && "raw" in value;

function explain(value: unknown): string {
  const [issue] = UniversalEvent.safeParse(value).error?.issues ?? [];
  return issue === undefined ? "`raw` is absent" : `${issue.path.join(".") || "the line"}: ${issue.message}`;
}

export const universal = defineRules({
  dialect: "universal",
  rules: universalRules,
  isEvent: isUniversalEvent,
  explain,
});
