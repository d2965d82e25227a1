/** Wrong use of the client, found before anything is sent: each error says what was given and what to write instead. */

export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** How a value is shown in a message: short, and recognisable. */
export function shown(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value);
  if (value === null || typeof value !== "object") return String(value);
  return Array.isArray(value) ? "a list" : "an object";
}

interface Options {
  /** The function, as its caller wrote it. */
  readonly of: string;
  /** Absent: the daemon checks the names. */
  readonly known?: readonly string[];
}

/** Options are one object, and no name in it is unknown. */
export function checkOptions(options: unknown, { of, known }: Options): void {
  if (typeof options !== "object" || options === null || Array.isArray(options)) {
    throw new UsageError(`${of} takes an object of options, not ${shown(options)}.`);
  }
  const unknown = Object.keys(options).filter((name) => known?.includes(name) === false);
  if (known === undefined || unknown.length === 0) return;
  const names = unknown.map((name) => `\`${name}\``).join(", ");
  throw new UsageError(`${of} has no option ${names}. It takes ${known.join(", ")}.`);
}

export function checkUrl(url: unknown): string {
  const address = typeof url === "string" && URL.canParse(url) ? new URL(url) : null;
  if (address === null || !["http:", "https:"].includes(address.protocol)) {
    throw new UsageError(`${shown(url)} is not the address of a daemon. Write it like http://127.0.0.1:7717.`);
  }
  if (address.username !== "" || address.password !== "") {
    throw new UsageError("The address contains a user name or a password. Pass the token with the option `token`.");
  }
  return `${address.origin}${address.pathname.replace(/\/+$/, "")}`;
}

export function checkText(text: unknown, { of, attachments = 0 }: { of: string; attachments?: number }): void {
  if (typeof text !== "string") throw new UsageError(`${of} takes the prompt as text, not ${shown(text)}.`);
  if (text.trim() === "" && attachments === 0) {
    throw new UsageError(`${of}: the prompt is empty. Write what the agent should do.`);
  }
}

export function checkId(id: unknown, { what }: { what: string }): void {
  if (typeof id === "string" && id !== "") return;
  throw new UsageError(`${what} must be text that is not empty, not ${shown(id)}.`);
}

export function checkCount(value: unknown, { what }: { what: string }): void {
  if (value === undefined || (Number.isSafeInteger(value) && Number(value) >= 0)) return;
  throw new UsageError(`${what} must be a whole number, 0 or more, not ${shown(value)}.`);
}
