/** What a Takopi stream must keep, so that a chat bridge neither hangs nor refuses it. A run ends with `completed`. */
import { type Checker as AnyChecker, defineRules, type Rule } from "../../core/lint.ts";
import { isTakopiEvent, type TakopiEvent, type TakopiEventOf } from "../../dialects/takopi.ts";

type Checker = AnyChecker<TakopiEvent>;

const rules: readonly Rule<TakopiEvent>[] = [
  { id: "takopi.started-once", says: "A run has one `started`; without a token there is none.", check: startedOnce },
  {
    id: "takopi.started-first",
    says: "Nothing of a run comes before its `started`, but a `completed` that is not ok.",
    check: startedFirst,
  },
  { id: "takopi.completed-last", says: "Every run ends with one `completed`.", check: completedLast },
  {
    id: "takopi.same-token",
    says: "`completed` repeats the token of `started`, and a successful run has one.",
    check: sameToken,
  },
  {
    id: "takopi.action-phases",
    says: "An action begins at most once, completes once, and nothing follows its completion.",
    check: actionPhases,
  },
  { id: "takopi.action-stable", says: "An action keeps its kind and title.", check: actionStable },
  { id: "takopi.actions-close", says: "Every action that began is completed before its run is.", check: actionsClose },
  {
    id: "takopi.answer",
    says: "`completed` has an answer; it has an error exactly when it is not ok.",
    check: answer,
  },
  { id: "takopi.engine", says: "All lines of a stream name one engine.", check: engine },
];

export const takopiRules = defineRules({
  dialect: "takopi",
  rules,
  isEvent: isTakopiEvent,
});

/** State that begins anew with every run. */
function perRun<State>(start: () => State, step: (state: State, event: TakopiEvent) => readonly string[]): Checker {
  let state = start();
  return {
    step(event) {
      const out = step(state, event);
      if (event.type === "completed") state = start();
      return out;
    },
  };
}

function startedOnce(): Checker {
  return perRun(
    () => ({ started: false }),
    (state, event) => {
      if (event.type !== "started") return [];
      const again = state.started;
      state.started = true;
      return again ? ["started is said twice in one run"] : [];
    },
  );
}

function startedFirst(): Checker {
  return perRun(
    () => ({ started: false }),
    (state, event) => {
      if (event.type === "started") state.started = true;
      return event.type === "action" && !state.started ? [`action ${event.action.id} comes before started`] : [];
    },
  );
}

function completedLast(): Checker {
  let open = false;
  return {
    step(event) {
      open = event.type !== "completed";
      return [];
    },
    end: () => (open ? ["the last run has no completed"] : []),
  };
}

function sameToken(): Checker {
  return perRun(
    (): { started: TakopiEventOf<"started"> | null } => ({ started: null }),
    (state, event) => {
      if (event.type === "started") state.started = event;
      if (event.type !== "completed") return [];
      const before = state.started?.resume ?? null;
      if (before === null) {
        return event.ok || event.resume !== null ? ["completed without started is neither ok nor has a token"] : [];
      }
      const same = event.resume?.engine === before.engine && event.resume.value === before.value;
      return same ? [] : ["completed.resume differs from started.resume"];
    },
  );
}

function actionPhases(): Checker {
  return perRun(
    () => new Map<string, "open" | "over">(),
    (actions, event) => {
      if (event.type !== "action") return [];
      const { id } = event.action;
      const before = actions.get(id);
      actions.set(id, event.phase === "completed" ? "over" : "open");
      if (before === "over") return [`${event.phase} of action ${id} after its completion`];
      if (event.phase === "started" && before === "open") return [`action ${id} begins twice`];
      return event.phase === "updated" && before === undefined ? [`action ${id} is updated before it begins`] : [];
    },
  );
}

function actionStable(): Checker {
  return perRun(
    () => new Map<string, string>(),
    (actions, event) => {
      if (event.type !== "action") return [];
      const { id, kind, title } = event.action;
      const now = `${kind}: ${title}`;
      const before = actions.get(id) ?? now;
      actions.set(id, now);
      return before === now ? [] : [`action ${id} changed from ${before} to ${now}`];
    },
  );
}

function actionsClose(): Checker {
  return perRun(
    () => new Set<string>(),
    (open, event) => {
      if (event.type === "action") {
        if (event.phase === "completed") open.delete(event.action.id);
        else open.add(event.action.id);
      }
      return event.type === "completed" ? [...open].map((id) => `action ${id} is open at completed`) : [];
    },
  );
}

function answer(): Checker {
  return {
    step(event) {
      if (event.type !== "completed") return [];
      const out: string[] = [];
      if (event.answer.trim() === "") out.push("completed has no answer");
      if (event.ok !== (event.error === null)) out.push("completed must have an error exactly when it is not ok");
      return out;
    },
  };
}

function engine(): Checker {
  let name: string | null = null;
  return {
    step(event) {
      const before = name ?? event.engine;
      name = event.engine;
      return before === name ? [] : [`the engine changed from ${before} to ${name}`];
    },
  };
}
