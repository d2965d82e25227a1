/** Where outputs too long for the model are kept, a folder for each session; it goes when the session is deleted. */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { folderName } from "../runtime/folder-name.ts";

export interface OutputPlace {
  readonly outputs: string;
  readonly session: string;
}

export const outputFolder = ({ outputs, session }: OutputPlace): string => join(outputs, folderName(session));

export const removeOutputs = (place: OutputPlace): Promise<void> =>
  rm(outputFolder(place), { recursive: true, force: true });
