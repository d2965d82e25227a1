/** Lanes as a page that needs nothing but itself: the inspector with the recording inside. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { packageFolder } from "../runtime/package-folder.ts";
import { CommandError } from "./usage.ts";

interface Recording {
  readonly name: string;
  readonly text: string;
  /** Which agent it is of; `auto` where the page shall find out. */
  readonly from: string;
}

/** As base64: nothing in a recording can end the element that holds it. */
export function pageWith({ name, text, from }: Recording): string {
  const file = join(packageFolder(), "dist", "web", "recording.html");
  if (!existsSync(file)) throw new CommandError("The inspector is not built: run npm run build.");
  const data = Buffer.from(text).toString("base64");
  const element = `<script type="application/octet-stream" id="recording" data-name="${escaped(name)}" data-from="${escaped(from)}">${data}</script>`;
  return readFileSync(file, "utf8").replace("<!-- recording -->", () => element);
}

const entities: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
const escaped = (text: string): string => text.replaceAll(/[&<>"]/g, (character) => entities[character] ?? character);
