/** What a lint rule is: a sentence that a stream must keep, and a fold that finds where it does not. */

export interface Rule<Event> {
  /** `<dialect>.<name>`; also the anchor in docs/rules.md. */
  readonly id: string;
  readonly says: string;
  readonly check: () => Checker<Event>;
}

/** Its outputs are sentences about what is wrong, without the place. */
export interface Checker<Event> {
  readonly step: (event: Event) => readonly string[];
  /** The stream is over. */
  readonly end?: () => readonly string[];
}

export interface Violation {
  readonly rule: string;
  readonly message: string;
  /** The line of the stream, counted from 1; null when it is about the end. */
  readonly line: number | null;
  /** Where the rule is explained. */
  readonly docs: string;
}

/** A whole stream under all rules of its dialect. Values may be anything: what is no event breaks the first rule. */
export interface Linter {
  readonly step: (value: unknown, line: number) => readonly Violation[];
  readonly end: () => readonly Violation[];
}

/** The rules of one dialect. */
export interface RuleSet {
  readonly dialect: string;
  readonly rules: readonly { readonly id: string; readonly says: string }[];
  readonly open: () => Linter;
}

export interface RuleSetOptions<Event> {
  readonly dialect: string;
  readonly rules: readonly Rule<Event>[];
  readonly isEvent: (value: unknown) => value is Event;
  /** Why a value is no event, for the message. */
  readonly explain?: (value: unknown) => string;
}

const EXCERPT = 160;

export function defineRules<Event>({ dialect, rules, isEvent, explain }: RuleSetOptions<Event>): RuleSet {
  const shape = { id: `${dialect}.shape`, says: `Every line is one event of the ${dialect} dialect.` };
  return { dialect, rules: [shape, ...rules], open: () => openLinter({ shape: shape.id, rules, isEvent, explain }) };
}

interface Opening<Event> {
  readonly shape: string;
  readonly rules: readonly Rule<Event>[];
  readonly isEvent: (value: unknown) => value is Event;
  readonly explain: ((value: unknown) => string) | undefined;
}

function openLinter<Event>({ shape, rules, isEvent, explain }: Opening<Event>): Linter {
  const checkers = rules.map((rule) => ({ id: rule.id, checker: rule.check() }));
  return {
    step(value, line) {
      if (!isEvent(value)) {
        const why = explain?.(value) ?? (JSON.stringify(value) ?? "undefined").slice(0, EXCERPT);
        return [violation({ rule: shape, message: `not an event: ${why}`, line })];
      }
      const out: Violation[] = [];
      for (const { id, checker } of checkers) {
        for (const message of checker.step(value)) out.push(violation({ rule: id, message, line }));
      }
      return out;
    },
    end: () =>
      checkers.flatMap(({ id, checker }) =>
        (checker.end?.() ?? []).map((message) => violation({ rule: id, message, line: null })),
      ),
  };
}

/** All that is wrong with a stream. */
export function lint(set: RuleSet, values: Iterable<unknown>): Violation[] {
  const linter = set.open();
  const out: Violation[] = [];
  let line = 0;
  for (const value of values) {
    line += 1;
    out.push(...linter.step(value, line));
  }
  out.push(...linter.end());
  return out;
}

const violation = (found: Omit<Violation, "docs">): Violation => ({ ...found, docs: `docs/rules.md#${found.rule}` });
