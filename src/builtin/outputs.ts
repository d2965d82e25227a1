/** Where outputs too long for the model are kept, a folder for each session; it goes when the session is deleted. */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { hashHex } from "../core/hash.ts";

const NAME_LENGTH = 60;

export interface OutputPlace {
  readonly outputs: string;
  readonly session: string;
}

/** A name to recognise the session by, and one that no other session has. */
export function outputFolder({ outputs, session }: OutputPlace): string {
  const name = session.replaceAll(/[^\w-]/g, "_").slice(0, NAME_LENGTH);
  return join(outputs, `${name}-${hashHex(session)}`);
}

export const removeOutputs = (place: OutputPlace): Promise<void> =>
  rm(outputFolder(place), { recursive: true, force: true });
