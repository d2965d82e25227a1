/** Questions of an agent, in the same frame as a permission: choices by number, or an answer in one's own words. */
import { type Signal, useSignal } from "@preact/signals";
import type { Question } from "../../src/protocol/events.ts";
import type { QuestionEntry } from "../model/entries.ts";
import { exactText, visibleText } from "../model/plain.ts";
import { timeOfDay } from "../model/words.ts";
import { answering, replyQuestion } from "../state/actions.ts";
import { link } from "../state/link.ts";
import type { SessionStore } from "../state/store.ts";
import { Icon, Status } from "./icons.tsx";
import { Waiting } from "./session-list.tsx";

interface Answer {
  readonly chosen: readonly string[];
  readonly own: string;
}

const noAnswer: Answer = { chosen: [], own: "" };

interface CardProps {
  readonly entry: QuestionEntry;
  /** The entry changes in place; this says when. */
  readonly rev: number;
  readonly store: SessionStore;
}

export function QuestionCard({ entry, store }: CardProps) {
  const answers = useSignal<readonly Answer[]>([]);
  const { request } = entry;
  if (entry.resolvedAt !== null) return <Answered entry={entry} />;
  const id = request.question_id;
  const isOff = store.kind === "recording" || link.value.state !== "live" || answering.value.has(id);
  const isComplete = request.questions.every((_, index) => wordsOf(answers.value[index]).length > 0);
  const send = (): void => {
    if (!isComplete || isOff) return;
    const given = request.questions.map((_, index) => wordsOf(answers.value[index]));
    void replyQuestion({ session: store.id, id, answers: given });
  };
  const title = request.questions.length === 1 ? (request.questions[0]?.question ?? request.prompt) : "The agent asks";
  return (
    <section class="card" data-card data-entry={entry.key} tabIndex={-1} aria-label={exactText(title)}>
      <header>
        <Status shape="needs" named />
        <h2 class="grow">{exactText(title)}</h2>
        <span class="right">
          <Waiting since={entry.askedAt} />
        </span>
      </header>
      <div class="questions">
        {request.questions.map((question, index) => (
          <Choices
            key={question.id}
            question={question}
            index={index}
            answers={answers}
            isAlone={request.questions.length === 1}
            onEnter={send}
          />
        ))}
      </div>
      <footer data-answers>
        <button type="button" class="btn primary" data-reply="answer" disabled={isOff || !isComplete} onClick={send}>
          Answer <kbd>↵</kbd>
        </button>
        <span class="grow" />
        <button
          type="button"
          class="btn ghost"
          data-reply="decline"
          disabled={isOff}
          onClick={() => void replyQuestion({ session: store.id, id, answers: null })}
        >
          Decline to answer
        </button>
      </footer>
    </section>
  );
}

function wordsOf(answer: Answer | undefined): string[] {
  const { chosen, own } = answer ?? noAnswer;
  return own.trim() === "" ? [...chosen] : [...chosen, own.trim()];
}

interface ChoicesProps {
  readonly question: Question;
  readonly index: number;
  readonly answers: Signal<readonly Answer[]>;
  readonly isAlone: boolean;
  readonly onEnter: () => void;
}

function Choices({ question, index, answers, isAlone, onEnter }: ChoicesProps) {
  const { chosen, own } = answers.value[index] ?? noAnswer;
  const set = (answer: Answer): void => {
    const next = [...answers.value];
    next[index] = answer;
    answers.value = Array.from(next, (one) => one ?? noAnswer);
  };
  const toggle = (label: string): void => {
    if (!question.multiple) return set({ chosen: [label], own: "" });
    const without = chosen.filter((one) => one !== label);
    set({ chosen: without.length === chosen.length ? [...chosen, label] : without, own });
  };
  return (
    <fieldset>
      <legend class={isAlone ? "hidden" : ""}>{exactText(question.question)}</legend>
      {question.options.map(({ label, description }, place) => {
        const isChosen = chosen.includes(label);
        const sign = question.multiple ? (isChosen ? "checked" : "box") : isChosen ? "radio" : "ring";
        return (
          <button
            key={label}
            type="button"
            class="choice"
            aria-pressed={isChosen}
            data-choice={place + 1}
            onClick={() => toggle(label)}
          >
            <Icon sign={sign} />
            <b>{exactText(label)}</b>
            <span class="mut grow">{exactText(description ?? "")}</span>
            <kbd>{place + 1}</kbd>
          </button>
        );
      })}
      {(question.custom || question.options.length === 0) && (
        <label class="field">
          <input
            aria-label={`In your own words: ${exactText(question.question)}`}
            placeholder={question.options.length === 0 ? "Your answer" : "Something else…"}
            value={own}
            onInput={(event) => set({ chosen: question.multiple ? chosen : [], own: event.currentTarget.value })}
            onKeyDown={(event) => {
              if (event.key === "Enter") onEnter();
              event.stopPropagation();
            }}
          />
        </label>
      )}
    </fieldset>
  );
}

function Answered({ entry }: { readonly entry: QuestionEntry }) {
  const { request, resolvedAt, askedAt } = entry;
  const words = (request.response ?? []).map((labels) => labels.join(", ")).join("; ");
  return (
    <p class="answered num" data-entry={entry.key}>
      <Status shape={request.status === "answered" ? "completed" : "stopped"} named />
      <span>
        {visibleText(request.questions.map(({ header, question }) => header ?? question).join(", "))}:{" "}
        <b>{request.status === "answered" ? visibleText(words === "" ? "answered" : words) : "not answered"}</b>
      </span>
      <span class="line" />
      <span class="dim">{timeOfDay(resolvedAt ?? askedAt)}</span>
    </p>
  );
}
