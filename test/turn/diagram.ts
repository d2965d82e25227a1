/** The state diagram of docs/turn.md, drawn from the machine itself: what it shows is what the machine does. */
import { alphabet, type Driver, type Letter, play, shapeOf, startDriver } from "./driver.ts";

const DEPTH = 6;

/** What a reader of the diagram calls a state. */
function nameOf({ state }: Driver): string {
  const { turn } = state;
  if (turn === null) return "idle";
  if (turn.stop !== null) return "aborting";
  if (turn.end !== null) return "ending";
  return turn.shown;
}

const words: Readonly<Record<Letter, string>> = {
  prompt: "prompt",
  text: "agent speaks",
  call: "tool call",
  result: "tool result",
  end: "natural end",
  "error-end": "error end",
  abort: "abort",
  exit: "exit",
  ask: "request",
  answer: "answer",
  begin: "agent begins",
  tick: "time",
  connected: "connected",
  restart: "restart",
  background: "work goes to the background",
  retry: "retry",
  "late-text": "late line",
  "answered-natively": "native answer",
  inspected: "inspected",
};

/** Mermaid, with the letters that lead from one named state to another; those that change nothing are left out. */
export function drawDiagram(): string {
  const edges = new Map<string, Set<string>>();
  const seen = new Set<string>();
  let frontier: (readonly Letter[])[] = [[]];
  for (let depth = 0; depth < DEPTH; depth += 1) {
    const next: (readonly Letter[])[] = [];
    for (const history of frontier) {
      for (const letter of alphabet) {
        const driver = walk(history);
        const from = nameOf(driver);
        if (play(driver, letter) === null) continue;
        const to = nameOf(driver);
        if (from !== to) note(edges, `${from} --> ${to}`, words[letter]);
        const shape = shapeOf(driver);
        if (seen.has(shape)) continue;
        seen.add(shape);
        next.push([...history, letter]);
      }
    }
    frontier = next;
  }
  const lines = [...edges].map(([edge, letters]) => `  ${edge}: ${[...letters].sort().join(", ")}`).sort();
  return ["```mermaid", "stateDiagram-v2", "  [*] --> idle", ...lines, "```"].join("\n");
}

function walk(history: readonly Letter[]): Driver {
  const driver = startDriver({ autoConnect: true, running: false });
  for (const letter of history) play(driver, letter);
  return driver;
}

function note(edges: Map<string, Set<string>>, edge: string, letter: string): void {
  const letters = edges.get(edge) ?? new Set();
  letters.add(letter);
  edges.set(edge, letters);
}
