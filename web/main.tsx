/** The inspector's entry: logs in, opens the stream, and draws. A page with a recording inside needs neither. */
import { render } from "preact";
import { startKeys } from "./state/keys.ts";
import { daemon, link, open } from "./state/link.ts";
import { answerOtherTabs, findCredential } from "./state/login.ts";
import { isDropping, openEmbedded, openFile } from "./state/recording.ts";
import { startSession } from "./state/session.ts";
import { startList } from "./state/sessions.ts";
import "./state/theme.ts";
import { App } from "./view/app.tsx";

function acceptDrops(): void {
  const hasFiles = (event: DragEvent): boolean => event.dataTransfer?.types.includes("Files") === true;
  addEventListener("dragover", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    isDropping.value = true;
  });
  addEventListener("dragleave", (event) => {
    if (event.relatedTarget === null) isDropping.value = false;
  });
  addEventListener("drop", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    isDropping.value = false;
    const [file] = event.dataTransfer?.files ?? [];
    if (file !== undefined) void openFile(file);
  });
}

const makeCode = async (): Promise<string> => (await daemon().makeLoginCode()).code;

async function connectToDaemon(): Promise<void> {
  try {
    open(await findCredential());
    answerOtherTabs({ isLive: () => link.value.state === "live", makeCode });
  } catch (error) {
    link.value = { state: "logged-out", message: error instanceof Error ? error.message : String(error) };
  }
}

const isEmbedded = document.getElementById("recording") !== null;
if (isEmbedded) link.value = { state: "none" };
startKeys();
startList();
startSession();
acceptDrops();
const root = document.getElementById("app");
if (root !== null) render(<App />, root);
if (isEmbedded) void openEmbedded();
else void connectToDaemon();
