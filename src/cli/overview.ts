/** `franca` alone: what is going on here, and what to type next. */
import { MOCK } from "../core/default-agent.ts";
import { oneLine, paintFor } from "../projections/text/index.ts";
import { version } from "../server/version.ts";
import { loadSettings } from "./config.ts";
import { type Door, daemonAddress, openDoor } from "./door.ts";
import { shortId } from "./session-id.ts";
import { firstPrompt } from "./session-text.ts";
import { table } from "./table.ts";
import { ago } from "./time.ts";

const SESSIONS = 3;
const TITLE_WIDTH = 60;

export async function overview(): Promise<void> {
  const options = { flags: {}, env: process.env };
  const { defaultAgent } = await loadSettings(options);
  const url = await daemonAddress(options);
  const door = await openDoor(options);
  try {
    const agent = defaultAgent ?? (await door.defaultAgent());
    const paint = paintFor({ color: process.stdout.isTTY && process.env.NO_COLOR === undefined });
    const facts = [
      ["daemon", url === null ? "not running (franca run works without one)" : url],
      ["agent", agent ?? `none chosen: franca run asks, or uses the ${MOCK}; franca agents shows them`],
    ];
    const next = [
      ['franca run "…"', "ask an agent"],
      ['franca run -c "…"', "continue this folder's last session"],
      ["franca sessions", "list sessions"],
      ["franca open", "open the inspector in a browser"],
      ["franca help", "all commands"],
    ];
    process.stdout.write(
      [
        `${paint.bold("Franca")} ${version}\n`,
        table(facts),
        await lastSessions(door),
        "\nNext:\n",
        table(next.map(([command = "", about = ""]) => [`  ${command}`, about])),
      ].join(""),
    );
  } finally {
    await door.close();
  }
}

async function lastSessions(door: Door): Promise<string> {
  const all = [...(await door.list())]
    .sort((one, other) => (one.updatedAt < other.updatedAt ? 1 : -1))
    .slice(0, SESSIONS);
  if (all.length === 0) return "";
  const rows = all.map(async (session) => [
    `  ${shortId(session.sessionId)}`,
    session.agent,
    session.ended ? "ended" : session.status,
    ago(session.updatedAt),
    oneLine(session.title ?? (await firstPrompt(door, session)), { width: TITLE_WIDTH }),
  ]);
  return `\nLast sessions:\n${table(await Promise.all(rows))}`;
}
