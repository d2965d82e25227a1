/** Sessions as people name them: by the whole id, by its beginning, by the agent's own id or by OpenCode's. */
import { ApiError } from "../protocol/errors.ts";
import type { SessionSummary } from "../protocol/resources.ts";
import type { Door } from "./door.ts";
import { CommandError } from "./usage.ts";

/** As many characters of an id are shown; more where two sessions begin alike. */
export const SHORT_ID = 8;
const SHOWN = 4;

export const shortId = (id: string): string => (/^[0-9a-f]{8}-[0-9a-f]{4}-/.test(id) ? id.slice(0, SHORT_ID) : id);

const idsOf = ({ sessionId, nativeSessionId, opencodeId }: SessionSummary): readonly (string | null | undefined)[] => [
  sessionId,
  nativeSessionId,
  opencodeId,
];

/** Null when there is none; throws when several sessions begin like that. */
export async function findSession(door: Pick<Door, "list">, named: string): Promise<SessionSummary | null> {
  if (named === "") return null;
  const listed = await door.list({ q: named });
  // OpenCode's ids are not searched for: they are made from ours.
  const all = listed.length === 0 && named.startsWith("ses_") ? await door.list() : listed;
  const exact = all.find((session) => idsOf(session).includes(named));
  if (exact !== undefined) return exact;
  const beginning = all.filter((session) => idsOf(session).some((id) => id?.startsWith(named) === true));
  if (beginning.length <= 1) return beginning[0] ?? null;
  const shown = beginning.slice(0, SHOWN).map(({ sessionId }) => sessionId);
  const more = beginning.length > SHOWN ? ", …" : "";
  throw new CommandError(`${beginning.length} sessions begin with ${named}: ${shown.join(", ")}${more}`);
}

/** The id of a session that must exist. */
export async function sessionNamed(door: Pick<Door, "list">, named: string): Promise<string> {
  const found = await findSession(door, named);
  if (found === null) throw new ApiError("session_not_found", `There is no session ${named}.`);
  return found.sessionId;
}
